import type { Words } from '../../language/sentence.ts'
import type { Diagnosis } from '../diagnosis.ts'
import type { Outcome } from '../provider.ts'
import type { DialogueProgress } from './outcome.ts'

/** The failure of a login that could not begin: nothing of the message was sent. */
export interface LoginFailure extends Diagnosis {
  readonly whose: 'ours' | 'later'
  readonly code: string
  /** Safe to log, store and show. */
  readonly reply: Words
  readonly retryAfterMs?: number
}

/** A login could not begin: there is no access token, or the server offers no way that we have. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
  /** nodemailer's code for a failed login, which hands it on as the failure of the connection. */
  readonly code = 'EAUTH'
  readonly failure: LoginFailure
  constructor(failure: LoginFailure) {
    super(String(failure.reply))
    this.failure = failure
  }

  /** The message waits. */
  toOutcome({ begun }: DialogueProgress): Outcome {
    const { whose, code, reply, retryAfterMs } = this.failure
    const untouched = begun ? {} : { untouched: true as const }
    return { is: 'retry', whose, scope: 'account', code, reply, retryAfterMs, ...untouched }
  }
}

/**
 * For a way that nodemailer does not have it would send the password as PLAIN, unasked.
 * @param offered those that nodemailer has. @throws LoginError when none of them takes a password
 */
export function requirePasswordLogin(offered: readonly string[]): void {
  if (offered.some(each => each !== 'XOAUTH2')) return
  const what = 'the mail server takes a password in no way that we have'
  throw new LoginError({
    whose: 'ours',
    code: 'no-password-login',
    reply: what,
    what,
    next: 'let it offer PLAIN or LOGIN to connections with TLS; where it offers XOAUTH2, write the user alone, with SMTP_OAUTH2_TOKEN_URL',
  })
}
