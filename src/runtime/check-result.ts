import type { Sentence, Words } from '../language/sentence.ts'

export interface CheckResult {
  /** The thing: a setting, a server, a file, or the name of a check. */
  readonly about: string | Sentence
  /** `warn`: it works, but should not stay so. `fail`: callbacks or messages would fail. */
  readonly is: 'ok' | 'warn' | 'fail'
  /** The finding; never a secret. */
  readonly what: Words
  /** The next step for the operator. */
  readonly next?: Words
}

export function checkOk(about: CheckResult['about'], what: Words, next?: Words): CheckResult {
  return { about, is: 'ok', what, ...(next === undefined ? {} : { next }) }
}

export function checkWarning(about: CheckResult['about'], what: Words, next: Words): CheckResult {
  return { about, is: 'warn', what, next }
}

export function checkFailure(about: CheckResult['about'], what: Words, next: Words): CheckResult {
  return { about, is: 'fail', what, next }
}
