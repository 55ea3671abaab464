import type { ReaderLanguage } from '../src/language/sentence.ts'
import service from '../src/language/zh-CN.json' with { type: 'json' }
import chinese from './zh-CN.json' with { type: 'json' }

/** What the service says is of use here, too; what has places may be a part of a mail. */
const said = [
  ...Object.entries(service.said).filter(([english]) => !english.includes('{')),
  ...Object.entries(service.codes).map(([code, words]) => [code, words.replace('{text}', code)] as const),
]

/** What the pages and command lines of the sandbox say, by their English; places stand in braces. */
export const CHINESE: Readonly<Record<string, string>> = { ...Object.fromEntries(said), ...chinese }

/** A text of the sandbox in its reader's language. @param values of its places. */
export function speak(
  language: ReaderLanguage,
  text: string,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const words = language === 'en' ? text : (CHINESE[text] ?? text)
  return words.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place))
}
