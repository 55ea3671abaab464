import { createRequire } from 'node:module'

export type ZhCN = typeof import('./zh-CN.json', { with: { type: 'json' }})

let loaded: ZhCN | undefined

interface Pattern {
  readonly regexp: RegExp
  readonly names: readonly string[]
  readonly chinese: string
  /** Characters that stand in it as they are. */
  readonly literal: number
}

/** Nothing that we say is longer; what servers say may be. */
const LONGEST = 600

let patterns: readonly Pattern[] | undefined

/**
 * Puts English into Chinese: a sentence of the word file as it stands there, with its places; or text in which the places are
 * filled already, such as a reply that the store kept, and two of them with a colon between them. What stands in its places is looked at in the same way, and otherwise stays as it is, like the words of a server.
 */
export function recognize(english: string): string {
  // It is loaded for its first reader: a service whose operators read English never needs it.
  loaded ??= createRequire(import.meta.url)('./zh-CN.json') as ZhCN
  const { settings, said, recognized } = loaded
  for (const words of [settings, said, recognized] as readonly Readonly<Record<string, string>>[])
    if (Object.hasOwn(words, english)) return words[english] ?? english
  if (english.length > LONGEST) return english
  patterns ??= Object.entries(recognized).flatMap(([key, chinese]) =>
    key.includes('{') ? [patternOf(key, chinese)] : [],
  )
  let best: { readonly pattern: Pattern; readonly values: readonly string[] } | undefined
  for (const pattern of patterns) {
    if (pattern.literal <= (best?.pattern.literal ?? 0)) continue
    const found = pattern.regexp.exec(english)
    if (found !== null) best = { pattern, values: found.slice(1) }
  }
  if (best === undefined) return recognizeHalves(english)
  const { names, chinese } = best.pattern
  return chinese.replace(/\{(\w+)\}/g, (place, name: string) =>
    recognize(best.values[names.indexOf(name)] ?? place),
  )
}

/** Looks at both sides of the first colon, semicolon, stop or bracket: one division a call, so that no text takes long. */
function recognizeHalves(english: string): string {
  // A colon behind a quotation mark is one of JSON.
  const found = (english.endsWith(')') ? /(?<!"): |; |\. | \(/ : /(?<!"): |; |\. /).exec(english)
  if (found === null) return recognizeList(english)
  const [mark] = found
  const inBrackets = mark === ' ('
  const first = english.slice(0, found.index)
  const rest = english.slice(found.index + mark.length, inBrackets ? -1 : undefined)
  const halves = [recognize(first), recognize(rest)] as const
  if (halves[0] === first && halves[1] === rest) return english
  return `${halves.join(MARKS[mark])}${inBrackets ? '）' : ''}`
}

const MARKS: Readonly<Record<string, string>> = { ': ': '：', '; ': '；', '. ': '。', ' (': '（' }

/** A list of which each item is known; the words of a server may have commas, too. */
function recognizeList(english: string): string {
  const items = english.split(', ')
  if (items.length === 1) return english
  const chinese = items.map(recognize)
  return chinese.every((item, at) => item !== items[at]) ? chinese.join('、') : english
}

function patternOf(key: string, chinese: string): Pattern {
  const pieces = key.split(/\{\w+\}/)
  const source = pieces.map((piece, at) => {
    const literal = piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    if (at === pieces.length - 1) return literal
    // A place holds a name or a value; only behind a colon a sentence of several parts.
    return literal + (piece.endsWith(': ') ? '(.+?)' : '((?:(?!: | \\().)+?)')
  })
  return {
    regexp: new RegExp(`^${source.join('')}$`, 's'),
    names: [...key.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    chinese,
    literal: pieces.join('').trim().length,
  }
}
