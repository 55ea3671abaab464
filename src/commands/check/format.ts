import type { CheckResult } from '../../runtime/check-result.ts'

const WIDTH = 14

/** Formats results as lines for a terminal, with a count at the end. */
export function formatAsText(results: readonly CheckResult[]): string {
  const lines = results.map(({ about, is, what, next }) => {
    const first = `${is.padEnd(4)}  ${about.padEnd(WIDTH)}  ${what}\n`
    return next === undefined ? first : `${first}${' '.repeat(WIDTH + 8)}→ ${next}\n`
  })
  const count = (is: CheckResult['is']) => results.filter(result => result.is === is).length
  return `${lines.join('')}\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`
}

/** Formats results for a program. */
export function formatAsJson(results: readonly CheckResult[]): string {
  return `${JSON.stringify({ ok: results.every(({ is }) => is !== 'fail'), findings: results }, null, 2)}\n`
}
