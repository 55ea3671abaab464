import { type Diagnosis, diagnoseExchange, isCertificateError } from '../diagnosis.ts'
import type { HttpAnswer } from '../http-client.ts'
import { type FailedExchange, readRetryAfter } from '../http-exchange.ts'
import { type JsonObject, parseJsonObject, textOf } from '../json-answer.ts'
import { presentableReply } from '../reply.ts'

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

/** The failure when no access token could be had: nothing of the message was sent. */
export interface TokenFailure extends Diagnosis {
  readonly whose: 'ours' | 'later'
  readonly code: string
  /** Safe to log, store and show. */
  readonly reply: string
  readonly retryAfterMs?: number
}

export interface TokenAnswer {
  readonly token: string
  readonly livesMs: number
  /** The refresh token that takes the place of ours, when there is one. */
  readonly refreshToken: string | undefined
}

const SETTING = 'SMTP_OAUTH2_TOKEN_URL'
/** The lifetime of a token whose answer does not state it (RFC 6749 5.1 only recommends that): most servers give this one. */
const USUAL_LIFE_SECONDS = 3600
/** A longer lifetime is not believed. */
const LONGEST_LIFE_SECONDS = 86_400

/** Makes the failure when the endpoint could not be reached, or did not answer in time. */
export function failureWithoutAnswer(failed: FailedExchange, url: string): TokenFailure {
  const { code, message } = (failed.error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const cause = failed.stopped ?? (typeof code === 'string' ? code : undefined)
  if (cause === undefined)
    throw new Error('asking for an access token failed in an unexpected way', { cause: failed.error })
  const words = failed.stopped === undefined && typeof message === 'string' ? message : cause
  return {
    whose: isCertificateError(cause) ? 'ours' : 'later',
    code: cause,
    reply: `no access token: ${words}`.slice(0, 200),
    ...diagnoseExchange(failed, url, SETTING),
  }
}

/**
 * Reads what a token endpoint answered (RFC 6749, 5.1 and 5.2).
 * @param now ms since the epoch.
 */
export function readTokenAnswer(
  { statusCode, retryAfter, body }: HttpAnswer,
  { endpoint, secrets, now }: { endpoint: TokenEndpoint; secrets: readonly string[]; now: number },
): TokenAnswer | TokenFailure {
  const answer = parseJsonObject(body)
  const token = textOf(answer?.['access_token'])
  if (statusCode === 200 && isToken(token)) {
    const refreshToken = textOf(answer?.['refresh_token'])
    return {
      token,
      livesMs: lifetimeSeconds(answer?.['expires_in']) * 1000,
      refreshToken: isToken(refreshToken) ? refreshToken : undefined,
    }
  }
  const error = /^[a-z_]{1,40}$/.exec(textOf(answer?.['error']))?.[0]
  const retryAfterMs = readRetryAfter(retryAfter, now)
  const failure =
    error === undefined
      ? unreadableAnswerFailure(statusCode)
      : refusalFailure(error, answer ?? {}, endpoint, secrets)
  return { ...failure, ...(retryAfterMs !== undefined && failure.whose === 'later' && { retryAfterMs }) }
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
function unreadableAnswerFailure(status: number): TokenFailure {
  return {
    whose: 'later',
    code: `http-${status}`,
    reply: `no access token: HTTP ${status} without one`,
    what: `the token endpoint answers HTTP ${status}, and no token`,
    next:
      status >= 500 || status === 429
        ? 'nothing is to be mended here: it is tried again'
        : `look at ${SETTING}`,
  }
}

/** Errors that pass by themselves (RFC 6749, 4.1.2.1: servers give them here as well). */
const PASSING: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down'])

function refusalFailure(
  error: string,
  answer: JsonObject,
  endpoint: TokenEndpoint,
  secrets: readonly string[],
): TokenFailure {
  const words = presentableReply(textOf(answer['error_description']), '', secrets)
  const microsoftCode = microsoftErrorCode(answer)
  const code = microsoftCode === undefined ? error : `${error} ${microsoftCode}`
  const passes = PASSING.has(error)
  return {
    whose: passes ? 'later' : 'ours',
    code,
    reply: `no access token: ${[code, words].filter(Boolean).join(': ')}`.slice(0, 200),
    ...(passes
      ? { what: 'the token endpoint asks for time', next: 'nothing is to be mended here: it is tried again' }
      : diagnoseRefusal(error, endpoint)),
  }
}

/** Reads the code under which Microsoft documents an error, such as AADSTS7000215. */
function microsoftErrorCode(answer: JsonObject): string | undefined {
  const codes = answer['error_codes']
  const first: unknown = Array.isArray(codes) ? codes[0] : undefined
  return Number.isInteger(first) ? `AADSTS${String(first)}` : undefined
}

function diagnoseRefusal(error: string, { refreshToken, clientSecret }: TokenEndpoint): Diagnosis {
  if (error === 'invalid_client')
    return {
      what: 'the token endpoint refuses the client',
      next: `look at SMTP_OAUTH2_CLIENT_ID and ${clientSecret === undefined ? 'whether this client needs SMTP_OAUTH2_CLIENT_SECRET' : 'SMTP_OAUTH2_CLIENT_SECRET: it may have expired, or be the identifier of the secret instead of its value'}`,
    }
  if (error === 'invalid_grant' && refreshToken !== undefined)
    return {
      what: 'the token endpoint refuses the refresh token',
      next: 'it has expired, was revoked or belongs to another client: let the mailbox consent again, and set SMTP_OAUTH2_REFRESH_TOKEN',
    }
  if (error === 'invalid_scope' || error === 'invalid_resource')
    return {
      what: 'the token endpoint refuses the scope',
      next: 'look at SMTP_OAUTH2_SCOPE; for Microsoft 365 with client credentials it is https://outlook.office365.com/.default',
    }
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type')
    return {
      what: `the token endpoint does not let this client ask ${refreshToken === undefined ? 'for itself (client credentials)' : 'with a refresh token'}`,
      next: 'look at SMTP_OAUTH2_CLIENT_ID and at the tenant in SMTP_OAUTH2_TOKEN_URL, and at what the application is registered for',
    }
  return {
    what: 'the token endpoint refuses the request',
    next: 'its own words say why: often SMTP_OAUTH2_SCOPE is missing, or SMTP_OAUTH2_TOKEN_URL names the wrong tenant',
  }
}
