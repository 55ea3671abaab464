import { Sentence } from '../../src/language/sentence.ts'
import zhCN from '../../src/language/zh-CN.json' with { type: 'json' }

/** What stays as it is in Chinese: names of settings and of ours, commands, codes, formats. */
const NAMES =
  /https?:\/\/\S+|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=\S+)?|\b[\w.+*-]+@[\w.-]+|\b[\w.-]*\/[\w./-]+|\b[a-z]+(?:-[a-z]+)+\b|\.env\S*|`[^`]*`|\b\w*\d\w*\b/g
/** Words that the Chinese sentences have on purpose: names, codes, formats. */
const WORDS = new Set(
  [
    ...Object.values(zhCN.said),
    ...Object.values(zhCN.codes),
    'twilio aliyun tencent localhost en ar es zh TW CN file plain observe MiB Aliyun Tencent EACCES',
  ].flatMap(text => text.replaceAll(/\{\w+\}/g, ' ').match(/[A-Za-z]{2,}/g) ?? []),
)

/** English words in a text for a Chinese reader, beside names. @param also names that the test made up. */
export function englishIn(text: string, also: readonly string[] = []): readonly string[] {
  const known = also.reduce((rest, each) => rest.replaceAll(each, ' '), text).replaceAll(NAMES, ' ')
  return (known.match(/[A-Za-z]{2,}/g) ?? []).filter(word => !WORDS.has(word))
}

/** What a reader of a page reads or hears of the console's own: not the messages that it shows, each in its language. */
export function readableText(whole: string): string {
  const page = whole.replaceAll(/<(pre|h2|p)\b[^>]* lang="[^>]*>[\s\S]*?<\/\1>/g, '')
  const attributes = [
    ...page.matchAll(/ (?:aria-label|title|placeholder|data-l|data-lost|data-copied)="([^"]*)"/g),
  ].map(([, value = '']) => value)
  const text = page
    .replace(/<head>[\s\S]*?<\/head>/, page.match(/<title>[^<]*/)?.[0] ?? '')
    .replaceAll(/<[^>]*>/g, '\n')
  return `${text}\n${attributes.join('\n')}`.replaceAll(/&#?\w+;/g, ' ')
}

/** A value with its sentences in English, as a log or an answer has them. */
export function inEnglish(value: unknown): unknown {
  if (value instanceof Sentence) return String(value)
  if (Array.isArray(value)) return value.map(inEnglish)
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inEnglish(each)]))
}
