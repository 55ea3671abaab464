import { say, tell, type Words } from '../../language/sentence.ts'
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

/** Reads the ways to log in that a server offers by its reply to EHLO (RFC 4954, 3; some write `AUTH=`). */
export function readOfferedLogins(reply: string): readonly string[] {
  return [...reply.matchAll(/^250[ -]AUTH[ =](.*)$/gim)]
    .flatMap(([, list = '']) => list.toUpperCase().split(/[\s=]+/))
    .filter(name => /^[A-Z0-9_-]{1,20}$/.test(name))
}

/** The ways with a password that nodemailer has. For any other it would send the password as PLAIN, unasked. */
const WITH_PASSWORD: ReadonlySet<string> = new Set(['PLAIN', 'LOGIN', 'CRAM-MD5'])

/** @param offered none: the server did not say. @throws LoginError when it takes a password in no way that we have */
export function requirePasswordLogin(offered: readonly string[]): void {
  if (offered.length === 0 || offered.some(each => WITH_PASSWORD.has(each))) return
  const what = 'the mail server takes a password in no way that we have'
  throw new LoginError({
    whose: 'ours',
    code: 'no-password-login',
    reply: say('{what}; it offers {logins}', { what: tell(what), logins: offered.slice(0, 5).join(', ') }),
    what,
    next: 'let it offer PLAIN or LOGIN to connections with TLS; where it offers XOAUTH2, write the user alone, with SMTP_OAUTH2_TOKEN_URL',
  })
}
