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

/** The results that a check may have about a thing. */
export function checksOf(about: CheckResult['about']) {
  return {
    ok: (what: Words, next?: Words): CheckResult => ({ about, is: 'ok', what, ...(next && { next }) }),
    warn: (what: Words, next: Words): CheckResult => ({ about, is: 'warn', what, next }),
    fail: (what: Words, next: Words): CheckResult => ({ about, is: 'fail', what, next }),
  }
}
