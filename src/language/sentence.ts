import { recognize, type ZhCN } from './recognize.ts'

/** Languages of the console and of `check`. Logs, metrics and answers to callbacks are English. */
export type ReaderLanguage = 'en' | 'zh-CN'

/** An English sentence of the word files; `{name}` stands for a value. */
export type SentenceKey = keyof ZhCN['said']

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type Value = string | number | Sentence
/** What stands in places, by name. */
export type Places = Readonly<Record<string, Value>>
/** A sentence, or the key of one whose places are filled when it is told. */
export type Said = SentenceKey | Sentence

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
    const text = language === 'en' ? this.text : recognize(this.text)
    return text.replace(/\{(\w+)\}/g, (place, name: string) => {
      const value = Object.hasOwn(this.values, name) ? this.values[name] : place
      return value instanceof Sentence ? value.in(language) : String(value)
    })
  }

  toString(): string {
    return this.in('en')
  }

  toJSON(): string {
    return this.in('en')
  }
}

/** What stands in the places of a sentence; nothing where it has none. */
export type InPlaces<K extends SentenceKey> = [NamesIn<K>] extends [never]
  ? []
  : [values: Readonly<Record<NamesIn<K>, Value>>]

/** A sentence of the word files. A key that they lack is a fault of types. @param values of its places; text is put in as it is. */
export function say<K extends SentenceKey>(key: K, ...[values]: InPlaces<K>): Sentence {
  return new Sentence(key, values)
}

/** Text that came as plain English, such as from the store: put into the reader's language where the word files know it. */
export function translateText(english: string): Sentence {
  return new Sentence(english)
}

/** Tells sentences one after the other. @param values of the places of those that are keys. */
export function tellAll(said: readonly (Said | null)[], values?: Places): Sentence {
  return joinSentences(...said.map(each => (typeof each === 'string' ? new Sentence(each, values) : each)))
}

/** Sentences one after the other. Chinese has no space between them. */
export function joinSentences(...parts: readonly (Sentence | null)[]): Sentence {
  return new SentenceList(parts.filter(part => part !== null))
}

class SentenceList extends Sentence {
  readonly #parts: readonly Sentence[]

  constructor(parts: readonly Sentence[]) {
    super('')
    this.#parts = parts
  }

  override in(language: ReaderLanguage): string {
    return this.#parts.map(part => part.in(language)).join(language === 'en' ? ' ' : '')
  }
}
