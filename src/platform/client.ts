import { Agent, type Dispatcher, request } from 'undici'
import { type AnswerForm, readAnswer } from './answer.ts'
import { type Credential, createCredential } from './credential.ts'
import { stringifyExactly } from './exact-json.ts'
import {
  type HeaderOptions,
  type Method,
  methodToSend,
  plainHeaders,
  type Signing,
  signatureHeaders,
} from './headers.ts'
import {
  type AppAccount,
  type CorpAccount,
  type CorpLogin,
  type GrantedToken,
  readAppLogin,
  readCorpLogin,
  readUserLogin,
  type UserAccount,
  type UserLogin,
  userAuthBody,
} from './logins.ts'
import { type PlatformResult, refusesCredential } from './result.ts'

/** The credential of a call. Access-Token wins on the platform's side, so a call never carries both. */
export type CallAuthentication =
  | { readonly by: 'token'; readonly credential: Credential }
  | { readonly by: 'signature'; readonly signing: Signing }

export interface Call extends HeaderOptions {
  readonly method: Method
  /** The path from the version on: `/v2/api-gateway/demo`. */
  readonly path: string
  /** URL parameters, encoded here. */
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON; bigints keep their digits. */
  readonly body?: unknown
  readonly auth?: CallAuthentication
  /** Sends PUT and DELETE as they are, instead of as POST with XR-Method. */
  readonly direct?: boolean
  /** Default: `top-level` for version 1, else `envelope`. */
  readonly answers?: AnswerForm
}

export interface PlatformClientOptions {
  /** The platform API's address, such as `https://api.example.com`. */
  readonly baseUrl: string
  /** How long a call may take in all, ms. Default 10,000. */
  readonly timeoutMs?: number
  /** ms since any origin, never going back: for the life of credentials. */
  readonly now?: () => number
  /** undici's, for tests and proxies; not closed here. */
  readonly dispatcher?: Dispatcher
}

/** Longer answers are an error: file download and other streams are not part of the contract. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/**
 * The platform's API, as its contract describes it.
 * @throws TypeError for a base URL that is none.
 */
export function createPlatformClient(options: PlatformClientOptions) {
  const { timeoutMs = 10_000, now = () => performance.now() } = options
  const base = new URL(options.baseUrl).href.replace(/\/+$/, '')
  // HTTP/1.1, as the contract says.
  const own = options.dispatcher
    ? null
    : new Agent({ connect: { timeout: timeoutMs }, maxResponseSize: MAX_ANSWER_BYTES, allowH2: false })
  const send = createSender(base, timeoutMs, options.dispatcher ?? own ?? undefined)

  async function logIn<T>(
    path: string,
    body: object,
    read: (value: unknown, httpStatus: number) => PlatformResult<T>,
  ): Promise<PlatformResult<T>> {
    const headers = plainHeaders({})
    const { status, result } = await send(
      { method: 'POST', path, headers, body: stringifyExactly(body) },
      'top-level',
    )
    return result.ok ? read(result.value, status) : result
  }

  return {
    /** POST /v2/corp-auth */
    corpAuth: ({ account, password }: CorpAccount): Promise<PlatformResult<CorpLogin>> =>
      logIn('/v2/corp-auth', { account, password }, readCorpLogin),
    /** POST /v2/user_auth. @throws TypeError unless exactly one of phone and e-mail is given. */
    userAuth: (account: UserAccount): Promise<PlatformResult<UserLogin>> =>
      logIn('/v2/user_auth', userAuthBody(account), readUserLogin),
    /** POST /v2/plugin/app_auth */
    appAuth: ({ appId, appSecret }: AppAccount): Promise<PlatformResult<GrantedToken>> =>
      logIn('/v2/plugin/app_auth', { app_id: appId, app_secret: appSecret }, readAppLogin),
    /** Keeps the credential of one of these logins. */
    credential: (login: () => Promise<PlatformResult<GrantedToken>>): Credential =>
      createCredential({ login, now }),
    /** Any other call. One that is refused for its token logs in once more and is repeated once. */
    async call(call: Call): Promise<PlatformResult<unknown>> {
      if (!/^\/v\d+\//.test(call.path)) throw new TypeError('a path begins with its version, such as /v2/')
      if (call.auth?.by !== 'token') return callOnce(send, call, undefined)
      const { credential } = call.auth
      for (let tries = 1; ; tries += 1) {
        const token = await credential.token()
        if (!token.ok) return token
        const result = await callOnce(send, call, token.value)
        if (result.ok || !refusesCredential(result.failure)) return result
        credential.refused(token.value)
        if (tries === 2) return result
      }
    },
    close: async (): Promise<void> => own?.close(),
  }
}

interface HttpRequest {
  readonly method: Method
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

type Send = (
  sent: HttpRequest,
  form: AnswerForm,
) => Promise<{ readonly status: number; readonly result: PlatformResult<unknown> }>

/** Sends requests; one without an answer has status 0. */
function createSender(base: string, timeoutMs: number, dispatcher: Dispatcher | undefined): Send {
  return async ({ method, path, headers, body }, form) => {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await request(`${base}${path}`, { method, headers, signal, dispatcher, body })
      const text = await response.body.text()
      return { status: response.statusCode, result: readAnswer(response.statusCode, text, form) }
    } catch (error) {
      return {
        status: 0,
        result: { ok: false, failure: { is: 'unreachable', message: reasonOf(error, timeoutMs) } },
      }
    }
  }
}

async function callOnce(send: Send, call: Call, token: string | undefined): Promise<PlatformResult<unknown>> {
  const { method, proxied } = methodToSend(call.method, call.direct ?? false)
  const path = `${call.path}${queryOf(call.query)}`
  const body = call.body === undefined ? undefined : stringifyExactly(call.body)
  const plain = plainHeaders(call, proxied ? call.method : undefined)
  const proof =
    call.auth?.by === 'signature'
      ? await signatureHeaders(call.auth.signing, { method, path, body: body ?? '' }, plain)
      : token === undefined
        ? {}
        : { 'access-token': token }
  const form = call.answers ?? (call.path.startsWith('/v1/') ? 'top-level' : 'envelope')
  return (await send({ method, path, headers: { ...plain, ...proof }, body }, form)).result
}

function queryOf(query: Readonly<Record<string, string>> | undefined): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? '' : `?${text}`
}

/** Says why there was no answer: a code where there is one, since an error's words may quote the request. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return 'an unknown fault'
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`
  const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
  return code ?? error.name
}
