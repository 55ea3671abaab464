import { Agent, request } from 'undici'
import { say, term, type Words } from '../language/sentence.ts'
import { type Int, intOf } from '../runtime/exact-json.ts'
import { filledTextOf, isObject, parseJson } from '../runtime/json-object.ts'
import { lookUpName } from '../runtime/name-lookup.ts'

/** The result of a call to the platform. An expected failure is a value; only misuse throws. */
export type PlatformResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: PlatformFailure }

export type PlatformFailure =
  /** The platform said no. */
  | {
      readonly is: 'refused'
      readonly httpStatus: number
      /** The envelope's own `status`, where it has one; else the HTTP status. */
      readonly status: number
      /** Business code, defined per endpoint; null when the answer has none. */
      readonly code: Int | null
      /** The platform's words, on one line, at most 200 characters. */
      readonly message: string
    }
  /** It answered something that the contract does not describe. */
  | { readonly is: 'unreadable'; readonly httpStatus: number; readonly message: string }
  /** No answer: refused, reset, timed out. */
  | { readonly is: 'unreachable'; readonly message: Words }

/**
 * Says whether the platform does not accept the credential: status 401 (missing) or 403 (failed authorization), in HTTP, in
 * the envelope, or in front of the business code, whose first three digits are the status (4011001, 4031003).
 */
export function refusesCredential(failure: PlatformFailure): boolean {
  if (failure.is !== 'refused') return false
  const { httpStatus, status, code } = failure
  const statusOfCode = code === null ? 0 : Math.floor(Number(code) / 10_000)
  return [httpStatus, status, statusOfCode].some(each => each === 401 || each === 403)
}

/** A failure as a log line may have it. */
export function describeFailure(failure: PlatformFailure): Words {
  switch (failure.is) {
    case 'refused': {
      const { httpStatus: status, message } = failure
      const code = failure.code === null ? say('none') : String(failure.code)
      return message === ''
        ? say('refused: HTTP {status}, code {code}', { status, code })
        : say('refused: HTTP {status}, code {code}, {message}', { status, code, message })
    }
    case 'unreadable':
      return say('answered HTTP {status}, {message}', {
        status: failure.httpStatus,
        message: failure.message,
      })
    case 'unreachable':
      return failure.message
  }
}

const MAX_MESSAGE_LENGTH = 200

/**
 * Reads an answer; the value is its whole body. Errors are recognized by their form, not by the endpoint's version: a gateway
 * in front may answer in the other one. `code` is the business code and `status` the HTTP status, as the envelope's definition says; the tables
 * of the gateway example have the two descriptions swapped.
 *
 * @param text the whole body.
 */
export function readAnswer(httpStatus: number, text: string): PlatformResult<PlatformBody> {
  const body = parseJson(text)
  const good = httpStatus >= 200 && httpStatus < 300
  if (body === undefined) return good ? unreadableFailure(httpStatus, 'not JSON') : refused(httpStatus)
  if (!isObject(body)) return good ? unreadableFailure(httpStatus, 'not a JSON object') : refused(httpStatus)

  const { error } = body
  if (isObject(error)) return refused(httpStatus, httpStatus, intOf(error['code']), error['msg'])
  const code = intOf(body['code'])
  const enveloped = code !== undefined && ('msg' in body || 'data' in body || 'status' in body)
  if (!good || (enveloped && Number(code) !== 200))
    return refused(httpStatus, Number(intOf(body['status']) ?? httpStatus), code, body['msg'])
  return { ok: true, value: body }
}

export type PlatformBody = Readonly<Record<string, unknown>>

type Failed = Extract<PlatformResult<unknown>, { readonly ok: false }>

export function unreadableFailure(httpStatus: number, message: string): Failed {
  return { ok: false, failure: { is: 'unreadable', httpStatus, message } }
}

function refused(
  httpStatus: number,
  status: number = httpStatus,
  code: Int | null = null,
  message: unknown = '',
): Failed {
  return { ok: false, failure: { is: 'refused', httpStatus, status, code, message: oneLine(message) } }
}

/** The platform's words go into logs: one line, no control characters, cut. */
function oneLine(value: unknown): string {
  if (typeof value !== 'string') return ''
  return value
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE_LENGTH)
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
/** Bounds of a sensible lifetime of a token. */
const SHORTEST_IN_SECONDS = MINUTE
const SHORTEST_IN_MS = 10 * MINUTE
const LONGEST = 90 * DAY
/** The part of its lifetime after which a token is replaced. */
const EARLY = 0.9
/** After an early login that failed, the old token is used on, and the next is tried so much later, ms. */
const RETRY_AFTER = 10 * SECOND

/**
 * The lifetime that `expire_in` states, in ms, or null when it is not known.
 *
 * The contract gives it no unit. A value that makes sense as milliseconds (10 minutes to 90 days) is taken for that,
 * else one that makes sense as seconds (a minute to 90 days). Where both do (600,000 to 7,776,000) milliseconds are
 * the shorter one: a login too early costs one request, one too late a refusal.
 */
export function lifetimeMs(expireIn: number | null): number | null {
  if (expireIn === null) return null
  if (expireIn >= SHORTEST_IN_MS && expireIn <= LONGEST) return expireIn
  const seconds = expireIn * SECOND
  return seconds >= SHORTEST_IN_SECONDS && seconds <= LONGEST ? seconds : null
}

/** An access token that is obtained by logging in when it is needed. */
export interface Credential {
  /** The access token; logs in first when there is none, or when it is about to end. One login at a time. */
  token(): Promise<PlatformResult<string>>
  /** The platform refused this token: the next one that asks logs in. A token that was replaced already is ignored. */
  refused(token: string): void
}

/**
 * Keeps one credential: logs in when first asked, again when it was refused, and early when its lifetime is known.
 * However many ask at once, there is one login, and all of them get what it gave.
 *
 * @param now ms since any origin, never going back.
 */
export function createCredential(
  login: () => Promise<PlatformResult<GrantedToken>>,
  now: () => number,
): Credential {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let running: Promise<PlatformResult<string>> | undefined

  async function logIn(): Promise<PlatformResult<string>> {
    const result = await login()
    if (result.ok) {
      const lifetime = lifetimeMs(result.value.expireIn)
      current = {
        token: result.value.accessToken,
        renewAt: lifetime === null ? Number.POSITIVE_INFINITY : now() + lifetime * EARLY,
      }
      return { ok: true, value: current.token }
    }
    if (current === undefined) return result
    // The login was early: the current token may well be good still, and is refused when it is not.
    current = { token: current.token, renewAt: now() + RETRY_AFTER }
    return { ok: true, value: current.token }
  }

  return {
    token() {
      if (running !== undefined) return running
      if (current !== undefined && now() < current.renewAt)
        return Promise.resolve({ ok: true, value: current.token })
      running = logIn().finally(() => {
        running = undefined
      })
      return running
    },
    refused(token) {
      if (current?.token === token) current = undefined
    },
  }
}

/** The result of every login. */
export interface GrantedToken {
  readonly accessToken: string
  /** Validity as the platform states it, in a unit that it does not name (`lifetimeMs` reads it); null: none. */
  readonly expireIn: number | null
}

export interface PlatformOptions {
  /** The platform API's address, such as `https://api.example.com`. */
  readonly baseUrl: string
  /** How long a call may take in all, ms. Default 10,000. */
  readonly timeoutMs?: number
}

/** Longer answers are an error: file download and other streams are not part of the contract. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/**
 * Opens the platform's API, for an application that logs in there.
 * @throws TypeError for a base URL that is none.
 */
export function openPlatform({ baseUrl, timeoutMs = 10_000 }: PlatformOptions) {
  const base = new URL(baseUrl).href.replace(/\/+$/, '')
  const connect = { timeout: timeoutMs, lookup: lookUpName }
  // HTTP/1.1, as the contract says.
  const dispatcher = new Agent({ connect, maxResponseSize: MAX_ANSWER_BYTES, allowH2: false })

  async function send({ path, ...sent }: PlatformRequest): Promise<PlatformResult<PlatformBody>> {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const options = { ...sent, signal, dispatcher }
      const response = await request(`${base}${path}`, options)
      return readAnswer(response.statusCode, await response.body.text())
    } catch (error) {
      return { ok: false, failure: { is: 'unreachable', message: reasonOf(error, timeoutMs) } }
    }
  }

  return {
    send,
    /** POST /v2/plugin/app_auth: an application logs in, for DDQ. */
    async logInAsApp(account: {
      readonly appId: string
      readonly appSecret: string
    }): Promise<PlatformResult<GrantedToken>> {
      const body = JSON.stringify({ app_id: account.appId, app_secret: account.appSecret })
      const headers = { 'content-type': 'application/json' }
      const result = await send({ method: 'POST', path: '/v2/plugin/app_auth', headers, body })
      return result.ok ? readLogin(result.value) : result
    },
    /** Ends all connections: an answer that does not come would be waited for. */
    close: (): Promise<void> => dispatcher.destroy(),
  }
}

export interface PlatformRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Says why there was no answer: a code where there is one, since an error's words may quote the request. */
function reasonOf(error: unknown, timeoutMs: number): Words {
  if (!(error instanceof Error)) return 'an unknown fault'
  if (error.name === 'TimeoutError') return say('no answer within {ms} ms', { ms: timeoutMs })
  const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
  return term(code ?? error.name)
}

/** Reads the answer to a login. Only fields that are used are required: a login without refresh_token is a login all the same. */
export function readLogin(body: PlatformBody): PlatformResult<GrantedToken> {
  const accessToken = filledTextOf(body['access_token'])
  if (accessToken === undefined) return unreadableFailure(200, 'a login without access_token')
  const expireIn = intOf(body['expire_in'])
  return { ok: true, value: { accessToken, expireIn: expireIn === undefined ? null : Number(expireIn) } }
}
