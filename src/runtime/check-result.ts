export interface CheckResult {
  /** The thing: a setting, a server, a file. */
  readonly about: string
  /** `warn`: it works, but should not stay so. `fail`: callbacks or messages would fail. */
  readonly is: 'ok' | 'warn' | 'fail'
  /** The finding; never a secret. */
  readonly what: string
  /** The next step for the operator. */
  readonly next?: string
}

export function checkOk(about: string, what: string, next?: string): CheckResult {
  return { about, is: 'ok', what, ...(next === undefined ? {} : { next }) }
}

export function checkWarning(about: string, what: string, next: string): CheckResult {
  return { about, is: 'warn', what, next }
}

export function checkFailure(about: string, what: string, next: string): CheckResult {
  return { about, is: 'fail', what, next }
}
