import { createRequire } from 'node:module'

type ZhCN = typeof import('./zh-CN.json', { with: { type: 'json' }})

/** Languages of the console and of `check`. Logs, metrics and answers to callbacks are English. */
export type ReaderLanguage = 'en' | 'zh-CN'

/** An English sentence of the word file; `{name}` stands for a value. */
export type SentenceKey = keyof ZhCN['said']

/** The names of places in a text; what is in JSON's braces is none. */
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name extends `${string}${'"' | '{'}${string}` | ''
    ? NamesIn<Rest>
    : Name | NamesIn<Rest>
  : never
type Value = string | number | Sentence
/** What stands in places, by name. */
export type Places = Readonly<Record<string, Value>>
/** A sentence, or the key of one whose places are filled when it is told. */
export type Said = SentenceKey | Sentence
/** A sentence without places, which is English as it is. */
export type WholeSentence = { [K in SentenceKey]: [NamesIn<K>] extends [never] ? K : never }[SentenceKey]
/** Words for people: a sentence of ours, by {@link quote} what others said, or nothing. */
export type Words = WholeSentence | Sentence | ''

let loaded: ZhCN | undefined

/** The Chinese of a sentence, or of a code. */
function chineseOf(part: keyof ZhCN, english: string): string | undefined {
  // It is loaded for its first reader: a service whose operators read English never needs it.
  loaded ??= createRequire(import.meta.url)('./zh-CN.json') as ZhCN
  const words: Readonly<Record<string, string>> = loaded[part]
  return Object.hasOwn(words, english) ? words[english] : undefined
}

/**
 * A sentence as a value: its English text with places, and what stands in them. It is put into a language when somebody reads it.
 * As a string, in JSON and in comparisons it is English, which is what logs show.
 */
export class Sentence {
  readonly text: string
  readonly values: Places

  constructor(text: string, values: Places = {}) {
    this.text = text
    this.values = values
  }

  in(language: ReaderLanguage): string {
    const text = language === 'en' ? this.text : (chineseOf('said', this.text) ?? inChineseRow(this.text))
    return fillPlaces(text, this.values, language)
  }

  toString(): string {
    return this.in('en')
  }

  toJSON(): string {
    return this.in('en')
  }
}

function fillPlaces(text: string, values: Places, language: ReaderLanguage): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : place
    return value instanceof Sentence ? value.in(language) : String(value)
  })
}

/** What stands in the places of a sentence; nothing where it has none. A key stays English there, so {@link Words} are told first. */
export type InPlaces<K extends SentenceKey, V = Record<NamesIn<K>, Value>> = [NamesIn<K>] extends [never]
  ? []
  : [values: Readonly<V> & { readonly [N in keyof V]: V[N] extends SentenceKey ? never : V[N] }]

/** A sentence of the word file. A key that it lacks is a fault of types. @param values of its places; text is put in as it is. */
export function say<K extends SentenceKey, V extends Readonly<Record<NamesIn<K>, Value>>>(
  key: K,
  ...[values]: InPlaces<K, V>
): Sentence {
  return new Sentence(key, values)
}

/** Words as a sentence, such as for the place of another one. */
export function tell(words: Words): Sentence {
  return typeof words === 'string' ? new Sentence(words) : words
}

/** Tells sentences one after the other; Chinese has no space between them. @param values of the places of those that are keys. */
export function tellAll(said: readonly (Said | null)[], values?: Places): Sentence {
  const told = said.map(each => (typeof each === 'string' ? new Sentence(each, values) : each))
  return inARow(
    told.filter(each => each !== null),
    ' ',
  )
}

/** Words, and behind a colon what to do. */
export function withRemedy(what: Words, remedy: Words | undefined): Sentence {
  return remedy === undefined ? tell(what) : say('{about}: {what}', { about: tell(what), what: tell(remedy) })
}

/** Words in a row. */
export function listWords(items: readonly Words[], between: ', ' | '; ' = ', '): Sentence {
  return inARow(items.map(tell), between)
}

function inARow(items: readonly Sentence[], between: string): Sentence {
  const places = items.map((item, at) => [String(at), item] as const)
  return new Sentence(places.map(([at]) => `{${at}}`).join(between), Object.fromEntries(places))
}

function inChineseRow(text: string): string {
  return text.replaceAll('} {', '}{').replaceAll('}, {', '}、{').replaceAll('}; {', '}；{')
}

/**
 * What a server or a library said, which stays as it is.
 * @param code of its fault, which has a meaning in Chinese. @param values of the places of that meaning; the store does not keep them.
 */
export function quote(text: string, code = '', values: Places = {}): Sentence {
  return new Quote(text, code, values)
}

/** The name of a kind, an outcome or a state, which is English as it is. */
export function term(name: string): Sentence {
  return new Quote(name, name)
}

class Quote extends Sentence {
  readonly code: string

  constructor(text: string, code: string, values: Places = {}) {
    super(text, values)
    this.code = code
  }

  override in(language: ReaderLanguage): string {
    const meaning = language === 'en' ? undefined : chineseOf('codes', this.code)
    return meaning === undefined
      ? this.text
      : fillPlaces(meaning, { ...this.values, text: this.text }, language)
  }
}

/** An error that people are told of: its message is the English of its words. */
export class ToldError extends Error {
  readonly words: Words

  constructor(words: Words, options?: ErrorOptions) {
    super(String(words), options)
    this.words = words
  }
}

/** What an error says to people: our words, or a library's message with the meaning of its code. */
export function wordsOf(error: unknown): Sentence {
  if (error instanceof ToldError) return tell(error.words)
  if (!(error instanceof Error)) return quote(String(error))
  const { code = error.name, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  return quote(error.message, typeof errcode === 'number' ? `sqlite-${errcode & 255}` : String(code))
}

/** What no text of others has in the store: it parts a sentence of ours from its values, or others' words from their code. */
const MARK = '\u001f'

/** Words as the store has them: those of others as they are, a sentence of ours as its key and its values. */
export function packWords(words: Words): string {
  const sentence = tell(words)
  const text = sentence.text.replaceAll(MARK, ' ')
  if (sentence instanceof Quote) return sentence.code === '' ? text : `${text}${MARK}${sentence.code}`
  const values = Object.entries(sentence.values).map(([name, value]) => [
    name,
    value instanceof Sentence ? packWords(value) : value,
  ])
  return `${text}${MARK}${JSON.stringify(Object.fromEntries(values))}`
}

/** Reads what {@link packWords} made. Text without its mark is of others, or of a version that stored finished English. */
export function unpackWords(packed: string): Sentence {
  const at = packed.indexOf(MARK)
  const [text, behind] = at < 0 ? [packed, ''] : [packed.slice(0, at), packed.slice(at + 1)]
  if (!behind.startsWith('{')) return quote(text, behind)
  const values = Object.entries(JSON.parse(behind) as Record<string, string | number>).map(
    ([name, value]) => [name, typeof value === 'string' && value.includes(MARK) ? unpackWords(value) : value],
  )
  return new Sentence(text, Object.fromEntries(values) as Places)
}
