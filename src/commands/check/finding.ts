/** What was found out about one thing. */
export interface CheckResult {
  /** The thing: a setting, a server, a file. */
  readonly about: string
  /** `warn`: it works, but should not stay so. `fail`: callbacks or messages would fail. */
  readonly is: 'ok' | 'warn' | 'fail'
  /** What was seen; never a secret. */
  readonly what: string
  /** What to do, or to consider. */
  readonly next?: string
}

export function ok(about: string, what: string, next?: string): CheckResult {
  return { about, is: 'ok', what, ...(next === undefined ? {} : { next }) }
}

export function warn(about: string, what: string, next: string): CheckResult {
  return { about, is: 'warn', what, next }
}

export function fail(about: string, what: string, next: string): CheckResult {
  return { about, is: 'fail', what, next }
}

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
