import { type ReaderLanguage, say, translateText } from '../../language/sentence.ts'
import type { CheckResult } from '../../runtime/check-result.ts'

const WIDTH = 14
const LEVELS = { ok: say('ok'), warn: say('warn'), fail: say('fail') } as const

/** Formats results as lines for a terminal in its reader's language, with a count at the end. */
export function formatAsText(results: readonly CheckResult[], language: ReaderLanguage): string {
  const write = (english: string) => translateText(english).in(language)
  const lines = results.map(({ about, is, what, next }) => {
    const first = `${pad(LEVELS[is].in(language), 4)}  ${pad(write(about), WIDTH)}  ${write(what)}\n`
    return next === undefined ? first : `${first}${' '.repeat(WIDTH + 8)}→ ${write(next)}\n`
  })
  const count = (is: CheckResult['is']) => results.filter(result => result.is === is).length
  const counts = { ok: count('ok'), warn: count('warn'), fail: count('fail') }
  return `${lines.join('')}\n${say('{ok} ok, {warn} to look at, {fail} failed', counts).in(language)}\n`
}

/** Fills a column; a terminal gives each Chinese character two places. */
function pad(text: string, width: number): string {
  const places = text.length + (text.match(/\p{Script=Han}|[，。：、（）“”]/gu) ?? []).length
  return text + ' '.repeat(Math.max(0, width - places))
}

/** Formats results for a program, always in English. */
export function formatAsJson(results: readonly CheckResult[]): string {
  return `${JSON.stringify({ ok: results.every(({ is }) => is !== 'fail'), findings: results }, null, 2)}\n`
}
