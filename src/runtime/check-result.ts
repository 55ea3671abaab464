import type { Sentence } from '../language/sentence.ts'

/** What a check says: a sentence, or plain English that came from elsewhere, such as a store's error. */
type Words = Sentence | string

export interface CheckResult {
  /** The thing: a setting, a server, a file. */
  readonly about: string
  /** `warn`: it works, but should not stay so. `fail`: callbacks or messages would fail. */
  readonly is: 'ok' | 'warn' | 'fail'
  /** The finding; never a secret. */
  readonly what: Words
  /** The next step for the operator. */
  readonly next?: Words
}

export function checkOk(about: string, what: Words, next?: Words): CheckResult {
  return { about, is: 'ok', what, ...(next === undefined ? {} : { next }) }
}

export function checkWarning(about: string, what: Words, next: Words): CheckResult {
  return { about, is: 'warn', what, next }
}

export function checkFailure(about: string, what: Words, next: Words): CheckResult {
  return { about, is: 'fail', what, next }
}
