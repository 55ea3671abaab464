import type { CheckResult } from '../../runtime/check-result.ts'

const WIDTH = 14

/** Findings as lines for a terminal, with a count at the end. */
export function asText(findings: readonly CheckResult[]): string {
  const lines = findings.map(({ about, is, what, next }) => {
    const first = `${is.padEnd(4)}  ${about.padEnd(WIDTH)}  ${what}\n`
    return next === undefined ? first : `${first}${' '.repeat(WIDTH + 8)}→ ${next}\n`
  })
  const count = (is: CheckResult['is']) => findings.filter(finding => finding.is === is).length
  return `${lines.join('')}\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`
}

/** Findings for a program. */
export function asJson(findings: readonly CheckResult[]): string {
  return `${JSON.stringify({ ok: findings.every(({ is }) => is !== 'fail'), findings }, null, 2)}\n`
}
