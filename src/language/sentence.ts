import { loadZhCN } from './load-zh-CN.ts'
import { recognize } from './recognize.ts'
import type { zhCN } from './zh-CN.ts'

/** Languages of the console and of `check`. Logs, metrics and answers to callbacks are English. */
export type ReaderLanguage = 'en' | 'zh-CN'

/** An English sentence of the word files; `{name}` stands for a value. */
export type SentenceKey = keyof typeof zhCN

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type Value = string | number | Sentence

/** A sentence in whatever language its reader reads. As a string it is English. */
export class Sentence {
  readonly #write: (language: ReaderLanguage) => string

  constructor(write: (language: ReaderLanguage) => string) {
    this.#write = write
  }

  in(language: ReaderLanguage): string {
    return this.#write(language)
  }

  toString(): string {
    return this.#write('en')
  }

  toJSON(): string {
    return this.#write('en')
  }
}

/** A sentence of the word files. A key that they lack is a fault of types. @param values of its places; text is put in as it is. */
export function say<K extends SentenceKey>(
  key: K,
  ...[values]: [NamesIn<K>] extends [never] ? [] : [values: Readonly<Record<NamesIn<K>, Value>>]
): Sentence {
  const given: Readonly<Record<string, Value>> = values ?? {}
  return new Sentence(language => {
    const text = language === 'en' ? key : loadZhCN().zhCN[key]
    return text.replace(/\{(\w+)\}/g, (place, name: string) => inLanguage(given[name] ?? place, language))
  })
}

/** Text that another room wrote in English, put into the reader's language where the word files know it. */
export function translateText(english: string): Sentence {
  return new Sentence(language => (language === 'en' ? english : recognize(english)))
}

/** Sentences one after the other. Chinese has no space between them. */
export function joinSentences(...parts: readonly (Sentence | null)[]): Sentence {
  return new Sentence(language =>
    parts
      .filter(part => part !== null)
      .map(part => part.in(language))
      .join(language === 'en' ? ' ' : ''),
  )
}

function inLanguage(value: Value, language: ReaderLanguage): string {
  return value instanceof Sentence ? value.in(language) : String(value)
}
