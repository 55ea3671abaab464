import type { SMTPConnectionCustomAuthHandlers } from 'nodemailer/lib/smtp-connection'
import type { AccessToken, AccessTokens } from './access-tokens.ts'
import type { TokenFailure } from './token-answer.ts'

/** A login without a password: the user's name, and where its access tokens come from. */
export interface TokenLogin {
  readonly user: string
  readonly tokens: AccessTokens
}

/** The method's name for nodemailer: under the name XOAUTH2 it would run its own, or another method that the server offers first. */
const METHOD = 'ACCESS-TOKEN'

/** The command in nodemailer's error about this login: it names the method. */
export const TOKEN_COMMAND = `AUTH ${METHOD}`

/** An access token could not be had, or be used; nodemailer hands it on as the failure of the connection. */
export class TokenLoginError extends Error {
  override readonly name = 'TokenLoginError'
  /** nodemailer's code for a failed login. */
  readonly code = 'EAUTH'
  readonly failure: TokenFailure
  constructor(failure: TokenFailure) {
    super(failure.reply)
    this.failure = failure
  }
}

const NOT_OFFERED: TokenFailure = {
  whose: 'ours',
  code: 'no-xoauth2',
  reply: 'the mail server does not offer XOAUTH2, which a login with an access token needs',
  what: 'the mail server does not offer XOAUTH2',
  next: 'look at the host in SMTP_URL; a server that takes a password needs it there, and no SMTP_OAUTH2_TOKEN_URL',
}

/** The login, in the form that nodemailer takes. */
export interface SmtpAuth {
  readonly user: string
  readonly pass?: string
  readonly method?: string
}

export function tokenAuth({ user }: TokenLogin): SmtpAuth {
  return { user, method: METHOD }
}

/**
 * Logs in by XOAUTH2 (https://developers.google.com/workspace/gmail/imap/xoauth2-protocol). nodemailer's own asks for a
 * new token only after a challenge (334), as Google has it; Microsoft refuses an old one with 535 at once. Here a token
 * that should be good and is refused is replaced once, however it is refused.
 */
export function tokenAuthHandlers({ user, tokens }: TokenLogin): SMTPConnectionCustomAuthHandlers {
  return {
    async [METHOD]({ authMethods, sendCommand }) {
      if (!authMethods.includes('XOAUTH2')) throw new TokenLoginError(NOT_OFFERED)
      const logIn = async (token: string): Promise<string> => {
        const fields = Buffer.from(`user=${user}\x01auth=Bearer ${token}\x01\x01`).toString('base64')
        const { response } = await sendCommand(`AUTH XOAUTH2 ${fields}`)
        // With 334 the server says as JSON why the token is wrong, and refuses after our empty answer.
        return response.startsWith('334') ? (await sendCommand('')).response : response
      }
      const first = await requireToken(tokens.getToken())
      let response = await logIn(first.token)
      if (response.startsWith('535'))
        response = await logIn((await requireToken(tokens.renewToken(first))).token)
      // nodemailer adds the server's words.
      if (!response.startsWith('2')) throw new Error('Invalid login')
    },
  }
}

/** Waits for a token. @throws TokenLoginError when there is none. */
export async function requireToken(asked: ReturnType<AccessTokens['getToken']>): Promise<AccessToken> {
  const got = await asked
  if ('whose' in got) throw new TokenLoginError(got)
  return got
}
