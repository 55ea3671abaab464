import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { quote, say, tell } from '../../language/sentence.ts'
import { type JsonObject, objectOf, parseJson } from '../../runtime/json-object.ts'
import { type AccessToken, createTokenCache, type TokenCache } from '../../runtime/token-cache.ts'
import { type Diagnosis, diagnoseExchange, isCertificateError } from '../diagnosis.ts'
import type { FailedExchange, HttpAnswer, HttpApiSettings } from '../http-client.ts'
import { createHttpApi, outcomeWithoutAnswer, readRetryAfter } from '../http-client.ts'
import { textOf } from '../json-answer.ts'
import { createRedactor, NO_MESSAGE } from '../redact.ts'
import { LoginError, type LoginFailure } from './login.ts'

/** Where access tokens are asked for, and who asks. */
export interface TokenEndpoint {
  readonly url: string
  readonly clientId: string
  /** Undefined: a public client, which has a refresh token alone. */
  readonly clientSecret?: string | undefined
  /** Undefined: the client asks for itself (client credentials, RFC 6749 4.4); else for a user (6). */
  readonly refreshToken?: string | undefined
  readonly scope?: string | undefined
}

interface TokenAnswer {
  readonly token: string
  readonly livesMs: number
  /** The refresh token that takes the place of ours, when there is one. */
  readonly refreshToken: string | undefined
}

/** The latest tokens that are kept out of servers' replies: a connection may last longer than its token. */
const REMEMBERED = 20

/** The tokens of one endpoint; all connections share the newest. */
export interface AccessTokens extends TokenCache<LoginFailure> {
  /** Texts that no reply may repeat: client secret, refresh and access tokens. */
  secrets(): readonly string[]
  close(): Promise<void>
}

/** Asks an OAuth 2.0 token endpoint for access tokens for a mail server. */
export function createAccessTokens(
  endpoint: TokenEndpoint,
  { clock, limits, proxy }: HttpApiSettings,
): AccessTokens {
  const { origin, pathname, search } = new URL(endpoint.url)
  const api = createHttpApi({ baseUrl: origin, connections: 1, clock, limits, proxy })
  // A server that replaces the refresh token may refuse the earlier one from then on (RFC 6749, 6).
  let refreshToken = endpoint.refreshToken
  const lasting = [endpoint.clientSecret, endpoint.refreshToken].filter(each => each !== undefined)
  let secrets: readonly string[] = lasting

  async function requestToken(): Promise<TokenAnswer | LoginFailure> {
    const request = {
      method: 'POST',
      path: `${pathname}${search}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: grantForm(endpoint, refreshToken),
    }
    const result = await api.request(request)
    if (!('value' in result)) return failureWithoutAnswer(result, endpoint.url)
    const answer = readTokenAnswer(result.value, { endpoint, secrets, now: clock.now() })
    if ('whose' in answer) return answer
    refreshToken = answer.refreshToken ?? refreshToken
    const issued = [answer.token, answer.refreshToken].filter(each => each !== undefined)
    secrets = [...lasting, ...[...secrets.slice(lasting.length), ...issued].slice(-REMEMBERED)]
    return answer
  }

  const cache = createTokenCache<LoginFailure>(requestToken, () => clock.now())
  return { ...cache, secrets: () => secrets, close: api.close }
}

/** Makes the form of the request. The client's secret is a field of it, as Microsoft's and Google's documentation have it. */
function grantForm(
  { clientId, clientSecret, scope }: TokenEndpoint,
  refreshToken: string | undefined,
): string {
  const grant =
    refreshToken === undefined
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken }
  const form = { ...grant, client_id: clientId, client_secret: clientSecret, scope }
  const given = Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined)
  return new URLSearchParams(given).toString()
}

const SETTING = 'SMTP_OAUTH2_TOKEN_URL'
/** The lifetime of a token whose answer does not state it (RFC 6749 5.1 only recommends that): most servers give this one. */
const USUAL_LIFE_SECONDS = 3600
/** A longer lifetime is not believed. */
const LONGEST_LIFE_SECONDS = 86_400

/** Makes the failure when the endpoint could not be reached, or did not answer in time. */
function failureWithoutAnswer(failed: FailedExchange, url: string): LoginFailure {
  const { code, reply } = outcomeWithoutAnswer(failed, 'a token endpoint')
  return {
    whose: isCertificateError(code) ? 'ours' : 'later',
    code,
    reply: say('no access token: {words}', { words: tell(reply) }),
    ...diagnoseExchange(failed, url, SETTING),
  }
}

/**
 * Reads what a token endpoint answered (RFC 6749, 5.1 and 5.2).
 * @param now ms since the epoch.
 */
function readTokenAnswer(
  { status, retryAfter, body }: HttpAnswer,
  { endpoint, secrets, now }: { endpoint: TokenEndpoint; secrets: readonly string[]; now: number },
): TokenAnswer | LoginFailure {
  const answer = objectOf(parseJson(body)) ?? {}
  const token = textOf(answer['access_token'])
  if (status === 200 && isToken(token)) {
    const refreshToken = textOf(answer['refresh_token'])
    return {
      token,
      livesMs: lifetimeSeconds(answer['expires_in']) * 1000,
      refreshToken: isToken(refreshToken) ? refreshToken : undefined,
    }
  }
  const error = /^[a-z_]{1,40}$/.exec(textOf(answer['error']))?.[0]
  const failure =
    error === undefined ? unreadableAnswerFailure(status) : refusalFailure(error, answer, endpoint, secrets)
  return failure.whose === 'later' ? { ...failure, retryAfterMs: readRetryAfter(retryAfter, now) } : failure
}

/** Octets of a token at most: a line of a login has 12,288, in base64 (RFC 4954, 4). */
const LONGEST_TOKEN = 8192

/** Says whether a text is a token by RFC 6749 (A.12, A.17): such a text cannot end the field of the login in which it stands. */
function isToken(text: string): boolean {
  return text.length <= LONGEST_TOKEN && /^[\x21-\x7e]+$/.test(text)
}

function lifetimeSeconds(expiresIn: unknown): number {
  const seconds = Number(textOf(expiresIn) || Number.NaN)
  return Number.isNaN(seconds) ? USUAL_LIFE_SECONDS : Math.min(Math.max(seconds, 0), LONGEST_LIFE_SECONDS)
}

/** Makes the failure for an answer that is neither a token nor an error of OAuth: another server's page, or a server out of order. */
function unreadableAnswerFailure(status: number): LoginFailure {
  return {
    whose: 'later',
    code: `http-${status}`,
    reply: say('no access token: HTTP {status} without one', { status }),
    what: say('the token endpoint answers HTTP {status}, and no token', { status }),
    next:
      status >= 500 || status === 429
        ? 'nothing is to be mended here: it is tried again'
        : say('look at {setting}', { setting: SETTING }),
  }
}

/** Errors that pass by themselves (RFC 6749, 4.1.2.1: servers give them here as well). */
const PASSING: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

function refusalFailure(
  error: string,
  answer: JsonObject,
  endpoint: TokenEndpoint,
  secrets: readonly string[],
): LoginFailure {
  const words = createRedactor(NO_MESSAGE, secrets).reply(textOf(answer['error_description']))
  // The code under which Microsoft documents it, such as AADSTS7000215.
  const [microsoft]: readonly unknown[] = [answer['error_codes']].flat()
  const code = Number.isInteger(microsoft) ? `${error} AADSTS${String(microsoft)}` : error
  const passes = PASSING.has(error)
  return {
    whose: passes ? 'later' : 'ours',
    code,
    reply: say('no access token: {words}', {
      words: quote([code, words].filter(each => each !== '').join(': ')),
    }),
    ...(passes
      ? { what: 'the token endpoint asks for time', next: 'nothing is to be mended here: it is tried again' }
      : diagnoseRefusal(error, endpoint)),
  }
}

function diagnoseRefusal(error: string, { refreshToken, clientSecret }: TokenEndpoint): Diagnosis {
  if (error === 'invalid_client') {
    const next =
      clientSecret === undefined
        ? 'look at SMTP_OAUTH2_CLIENT_ID and whether this client needs SMTP_OAUTH2_CLIENT_SECRET'
        : 'look at SMTP_OAUTH2_CLIENT_ID and SMTP_OAUTH2_CLIENT_SECRET: it may have expired, or be the identifier of the secret instead of its value'
    return { what: 'the token endpoint refuses the client', next }
  }
  if (error === 'invalid_grant' && refreshToken !== undefined)
    return {
      what: 'the token endpoint refuses the refresh token',
      next: 'it has expired, was revoked or belongs to another client: let the mailbox consent again, and set SMTP_OAUTH2_REFRESH_TOKEN',
    }
  return {
    what: 'the token endpoint refuses the request',
    next: 'its own words say why: often SMTP_OAUTH2_SCOPE is missing or wrong (Microsoft 365 with client credentials: https://outlook.office365.com/.default), SMTP_OAUTH2_TOKEN_URL names the wrong tenant, or the application is not registered for this',
  }
}

/** A login without a password: the user's name, and where its access tokens come from. */
export interface TokenLogin {
  readonly user: string
  readonly tokens: AccessTokens
}

/** The method's name for nodemailer: under the name XOAUTH2 it would run its own, or another method that the server offers first. */
const METHOD = 'ACCESS-TOKEN'

/** The command in nodemailer's error about this login: it names the method. */
export const TOKEN_COMMAND = `AUTH ${METHOD}`

const NOT_OFFERED: LoginFailure = {
  whose: 'ours',
  code: 'no-xoauth2',
  reply: 'the mail server offers no XOAUTH2, which a login with an access token needs',
  what: 'the mail server offers no XOAUTH2',
  next: 'look at the host in SMTP_URL; a server that takes a password needs it there, and no SMTP_OAUTH2_TOKEN_URL',
}

/** The login by a token, in the form that nodemailer takes. */
export function tokenAuth({ user }: TokenLogin): { readonly user: string; readonly method: string } {
  return { user, method: METHOD }
}

/**
 * Lets a session log in by a token (https://developers.google.com/workspace/gmail/imap/xoauth2-protocol). nodemailer's own XOAUTH2 asks
 * for a new token only after a challenge (334), as Google has it; Microsoft refuses an old one with 535 at once. Here a token that should
 * be good and is refused is replaced once, however it is refused.
 */
export function addTokenLogin({ customAuth }: SMTPConnection, { user, tokens }: TokenLogin): void {
  customAuth.set(METHOD, async ({ authMethods, sendCommand }) => {
    if (!authMethods.includes('XOAUTH2')) throw new LoginError(NOT_OFFERED)
    const logIn = async (token: string): Promise<string> => {
      const fields = Buffer.from(`user=${user}\x01auth=Bearer ${token}\x01\x01`).toString('base64')
      const { response } = await sendCommand(`AUTH XOAUTH2 ${fields}`)
      // The server says why the token is wrong, and refuses it when that is answered.
      return response.startsWith('334') ? (await sendCommand('')).response : response
    }
    const first = await requireToken(tokens.getToken())
    let response = await logIn(first.token)
    if (response.startsWith('535')) {
      tokens.refused(first.token)
      response = await logIn((await requireToken(tokens.getToken())).token)
    }
    // nodemailer adds the server's words.
    if (!response.startsWith('2')) throw new Error('Invalid login')
  })
}

/** Waits for a token. @throws LoginError when there is none. */
export async function requireToken(asked: Promise<AccessToken | LoginFailure>): Promise<AccessToken> {
  const got = await asked
  if ('whose' in got) throw new LoginError(got)
  return got
}
