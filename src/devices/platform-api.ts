import { say, type Words } from '../language/sentence.ts'
import { createHttpApi, type HttpRequest, outcomeWithoutAnswer } from '../providers/http-client.ts'
import { createRedactor, NO_MESSAGE } from '../providers/redact.ts'
import { type Int, intOf } from '../runtime/exact-json.ts'
import { filledTextOf, isObject, parseJson } from '../runtime/json-object.ts'
import { createTokenCache, type TokenCache } from '../runtime/token-cache.ts'

/** The result of a call to the platform. An expected failure is a value; only misuse throws. */
export type PlatformResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: PlatformFailure }

export type PlatformFailure =
  /** The platform said no, or something that the contract does not describe. */
  | {
      readonly is: 'refused'
      readonly httpStatus: number
      /** The envelope's own `status`, where it has one; else the HTTP status. */
      readonly status: number
      /** Business code, defined per endpoint; null when the answer has none. */
      readonly code: Int | null
      /** The platform's words, as they may be logged. */
      readonly message: string
    }
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
  if (failure.is === 'unreachable') return failure.message
  const { httpStatus: status, message } = failure
  const code = failure.code === null ? say('none') : String(failure.code)
  return message === ''
    ? say('refused: HTTP {status}, code {code}', { status, code })
    : say('refused: HTTP {status}, code {code}, {message}', { status, code, message })
}

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
  if (!isObject(body)) return refused(httpStatus, good ? 'the answer is no JSON object' : '')
  const { error } = body
  if (isObject(error)) return refused(httpStatus, error['msg'], intOf(error['code']))
  const code = intOf(body['code'])
  const enveloped = code !== undefined && ('msg' in body || 'data' in body || 'status' in body)
  if (!good || (enveloped && Number(code) !== 200))
    return refused(httpStatus, body['msg'], code, Number(intOf(body['status']) ?? httpStatus))
  return { ok: true, value: body }
}

export type PlatformBody = Readonly<Record<string, unknown>>

/** Makes a refusal. @param message the platform's words, or ours. */
export function refused(
  httpStatus: number,
  message: unknown,
  code: Int | null = null,
  status: number = httpStatus,
): { readonly ok: false; readonly failure: PlatformFailure } {
  const words = typeof message === 'string' ? createRedactor(NO_MESSAGE).reply(message) : ''
  return { ok: false, failure: { is: 'refused', httpStatus, status, code, message: words } }
}

/** The access token of an application. */
export type Credential = TokenCache<PlatformFailure>

/** Keeps one credential, by logging in. It is used until it is refused: the contract gives `expire_in` no unit. */
export function createCredential(
  login: () => Promise<PlatformResult<GrantedToken>>,
  now: () => number = Date.now,
): Credential {
  return createTokenCache<PlatformFailure>(async () => {
    const result = await login()
    if (!result.ok) return result.failure
    return { token: result.value.accessToken, livesMs: Number.POSITIVE_INFINITY }
  }, now)
}

/** The result of every login. */
export interface GrantedToken {
  readonly accessToken: string
}

export interface PlatformOptions {
  /** The platform API's address, such as `https://api.example.com`. */
  readonly baseUrl: string
  /** How long an answer may take, ms. */
  readonly timeoutMs?: number
}

/**
 * Opens the platform's API, for an application that logs in there.
 * @throws TypeError for a base URL that is none.
 */
export function openPlatform({ baseUrl, timeoutMs = 10_000 }: PlatformOptions) {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const limits = { connectMs: timeoutMs, answerMs: timeoutMs, bodyMs: timeoutMs }
  const api = createHttpApi({ baseUrl, connections: 10, limits, clock: { now: Date.now } })

  async function send({ path, ...sent }: HttpRequest): Promise<PlatformResult<PlatformBody>> {
    const result = await api.request({ ...sent, path: `${base}${path}` })
    if ('value' in result) return readAnswer(result.value.status, result.value.body)
    const { reply } = outcomeWithoutAnswer(result, 'the platform')
    return { ok: false, failure: { is: 'unreachable', message: reply } }
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
    close: api.close,
  }
}

/** Reads the answer to a login. Only fields that are used are required: a login without refresh_token is a login all the same. */
export function readLogin(body: PlatformBody): PlatformResult<GrantedToken> {
  const accessToken = filledTextOf(body['access_token'])
  if (accessToken === undefined) return refused(200, 'a login without access_token')
  return { ok: true, value: { accessToken } }
}
