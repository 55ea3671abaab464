const SPACE = 0x20
const TAB = 0x09

/**
 * A text without the spaces and tabs around it, and nothing else: a line end stays, for the parsers to refuse.
 * No regular expression: `[ \t]+$` takes the square of the time on a long run of blanks with something after it.
 */
export function trimBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB
}
