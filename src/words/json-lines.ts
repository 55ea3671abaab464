/**
 * The line on which each value of a JSON text stands, by JSON pointer: JSON.parse forgets it, and a person who is told
 * what is wrong wants to know where.
 * @param text well-formed JSON
 * @returns lines from 1; for a member of an object the line of its value
 */
export function jsonLines(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s"{}[\],:]+/g
  /** For each open bracket: its pointer, the key or index that comes next, and whether a key is expected. */
  const open: { at: string; key: string; index: number; object: boolean; wantsKey: boolean }[] = []
  let line = 1
  const here = () => {
    const top = open.at(-1)
    return top ? `${top.at}/${top.object ? top.key : top.index}` : ''
  }
  for (const [found] of text.matchAll(token)) {
    const top = open.at(-1)
    if (found === '\n') line++
    else if (found === '{' || found === '[') {
      lines.set(here(), line)
      open.push({ at: here(), key: '', index: 0, object: found === '{', wantsKey: found === '{' })
    } else if (found === '}' || found === ']') open.pop()
    else if (found === ',') {
      if (top?.object) top.wantsKey = true
      else if (top) top.index++
    } else if (found === ':') {
      if (top) top.wantsKey = false
    } else if (top?.wantsKey) top.key = String(JSON.parse(found)).replaceAll('~', '~0').replaceAll('/', '~1')
    else lines.set(here(), line)
  }
  return lines
}

/**
 * The line on which a text stops being JSON, from 1. JSON.parse often does not say; but of every beginning of the text it
 * says whether it is wrong already or only unfinished.
 * @param text what JSON.parse refused
 */
export function lineOfSyntaxError(text: string): number {
  const lines = text.split('\n')
  for (let count = 1; count < lines.length; count++) {
    const beginning = lines.slice(0, count).join('\n')
    if (!unfinished(beginning)) return count
  }
  return lines.length
}

/** Whether more text could still make this JSON, or it is blank. */
function unfinished(beginning: string): boolean {
  const text = beginning.trimEnd()
  if (text === '') return true
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    const position = /position (\d+)/.exec(message)?.[1]
    // A string that is open at the end of its line is wrong: JSON's strings do not span lines.
    if (message.startsWith('Unterminated')) return false
    return message.includes('end of JSON') || (position !== undefined && Number(position) >= text.length)
  }
}
