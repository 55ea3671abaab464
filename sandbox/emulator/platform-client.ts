import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  type Credential,
  createCredential,
  openPlatform,
  type PlatformBody,
  type PlatformOptions,
  type PlatformResult,
  readLogin,
  refused,
  refusesCredential,
  type GrantedToken as UsedToken,
} from '../../src/devices/platform-api.ts'
import { type Int, intOf, stringifyExactly } from '../../src/runtime/exact-json.ts'
import { filledTextOf } from '../../src/runtime/json-object.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * How an endpoint answers when it succeeds.
 *
 * - `envelope`  version 2: `{code, status, msg, data}`; `data` is the result
 * - `top-level` the body is the result: the logins, and version 1, whose successes have no fixed form
 */
export type AnswerForm = 'envelope' | 'top-level'

/** The result that an answer of that form has. */
export function resultIn(form: AnswerForm, answer: PlatformResult<PlatformBody>): PlatformResult<unknown> {
  if (!answer.ok || form === 'top-level') return answer
  const { value } = answer
  if (intOf(value['code']) === undefined || !('msg' in value || 'data' in value || 'status' in value))
    return refused(200, 'not an envelope of code, msg and data')
  return { ok: true, value: value['data'] ?? {} }
}

/** The credential of a call. Access-Token wins on the platform's side, so a call never carries both. */
export type CallAuthentication =
  | { readonly by: 'token'; readonly credential: Credential }
  | { readonly by: 'signature'; readonly signing: Signing }

export interface Call extends HeaderOptions {
  readonly method: Method
  /** The path from the version on: `/v2/api-gateway/demo`. */
  readonly path: string
  /** Sent as JSON; bigints keep their digits. */
  readonly body?: unknown
  readonly auth?: CallAuthentication
  /** Default: `top-level` for version 1, else `envelope`. */
  readonly answers?: AnswerForm
}

/**
 * The platform's API, as its contract describes it.
 * @throws TypeError for a base URL that is none.
 */
export function createPlatformClient(options: PlatformOptions) {
  const { send, close } = openPlatform(options)

  /** Posts a login. @param read reads the body of one that succeeded */
  async function logIn<T>(
    path: string,
    body: object,
    read: (body: PlatformBody) => PlatformResult<T>,
  ): Promise<PlatformResult<T>> {
    const headers = { 'content-type': 'application/json' }
    const result = await send({ method: 'POST', path, headers, body: stringifyExactly(body) })
    return result.ok ? read(result.value) : result
  }

  return {
    /** POST /v2/corp-auth */
    corpAuth: ({ account, password }: CorpAccount): Promise<PlatformResult<CorpLogin>> =>
      logIn('/v2/corp-auth', { account, password }, readCorpLogin),
    /** POST /v2/user_auth. @throws TypeError unless exactly one of phone and e-mail is given. */
    userAuth: (account: UserAccount): Promise<PlatformResult<UserLogin>> =>
      logIn('/v2/user_auth', userAuthBody(account), readUserLogin),
    /** POST /v2/plugin/app_auth */
    logInAsApp: ({ appId, appSecret }: AppAccount): Promise<PlatformResult<GrantedToken>> =>
      logIn('/v2/plugin/app_auth', { app_id: appId, app_secret: appSecret }, body =>
        readLoginOf(body, (_body, granted) => granted),
      ),
    /** Keeps the credential of a login. */
    credential: (login: () => Promise<PlatformResult<GrantedToken>>): Credential => createCredential(login),
    /** Any other call. One that is refused for its token logs in once more and is repeated once. */
    async call(call: Call): Promise<PlatformResult<unknown>> {
      if (!/^\/v\d+\//.test(call.path)) throw new TypeError('a path begins with its version, such as /v2/')
      if (call.auth?.by !== 'token') return callOnce(send, call, undefined)
      const { credential } = call.auth
      for (let tries = 1; ; tries += 1) {
        const login = await credential.getToken()
        if ('is' in login) return { ok: false, failure: login }
        const result = await callOnce(send, call, login.token)
        if (result.ok || !refusesCredential(result.failure)) return result
        credential.refused(login.token)
        if (tries === 2) return result
      }
    },
    close,
  }
}

async function callOnce(
  send: ReturnType<typeof openPlatform>['send'],
  call: Call,
  token: string | undefined,
): Promise<PlatformResult<unknown>> {
  const { path } = call
  // PUT and DELETE go out as POST.
  const proxied = call.method === 'PUT' || call.method === 'DELETE'
  const method = proxied ? 'POST' : call.method
  const body = call.body === undefined ? null : stringifyExactly(call.body)
  const plain = plainHeaders(call, proxied ? call.method : undefined)
  const proof =
    call.auth?.by === 'signature'
      ? await signatureHeaders(call.auth.signing, { method, path, body: body ?? '' }, plain)
      : token === undefined
        ? {}
        : { 'access-token': token }
  const form = call.answers ?? (call.path.startsWith('/v1/') ? 'top-level' : 'envelope')
  return resultIn(form, await send({ method, path, headers: { ...plain, ...proof }, body }))
}

/** Environment of a front-end API behind the gateway: production, test, pre-production. */
export type Stage = 'RELEASE' | 'TEST' | 'PRE_RELEASE'

/** The parts of a request, as it goes out, that a signature may be made from. */
export interface Signable {
  readonly method: Method
  /** With its query, as sent. */
  readonly path: string
  /** Every header that the signature mechanism names, but Signature itself. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty without a body. */
  readonly body: string
}

/**
 * The signature mechanism. How a signature is computed is not published, so that is a function of the caller's.
 */
export interface Signing {
  readonly appId: string
  readonly sign: (request: Signable) => string | Promise<string>
  /** For `Timestamp`, whose form the contract does not give. */
  readonly timestamp: () => string
  readonly requestId: () => string
}

export interface HeaderOptions {
  /** Front-end API identifier, for the gateway. */
  readonly group?: string
  readonly stage?: Stage
}

function plainHeaders({ group, stage }: HeaderOptions, proxiedAs?: Method): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(group !== undefined && { group }),
    ...(stage !== undefined && { stage }),
    ...(proxiedAs !== undefined && { 'xr-method': proxiedAs }),
  }
}

/** The headers of the signature mechanism, Signature included. Content-MD5 on POST and PUT, as the contract requires. */
async function signatureHeaders(
  signing: Signing,
  request: Omit<Signable, 'headers'>,
  headers: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const own = {
    'app-id': signing.appId,
    timestamp: signing.timestamp(),
    'request-id': signing.requestId(),
    ...(request.method === 'POST' || request.method === 'PUT'
      ? { 'content-md5': contentMd5(request.body, 'base64') }
      : {}),
  }
  const signature = await signing.sign({ ...request, headers: { ...headers, ...own } })
  return { ...own, signature }
}

/** MD5 of the request content (RFC 1321); the contract does not say how it is written. */
export function contentMd5(body: string, encoding: 'base64' | 'hex'): string {
  return createHash('md5').update(Buffer.from(body, 'utf8')).digest(encoding)
}

/** An application, for DDQ. */
export interface AppAccount {
  readonly appId: string
  readonly appSecret: string
}

/** The result of every login. */
export interface GrantedToken extends UsedToken {
  readonly refreshToken: string
}

function readLoginOf<T>(
  body: PlatformBody,
  more: (body: PlatformBody, granted: GrantedToken) => T | string,
): PlatformResult<T> {
  const read = readLogin(body)
  if (!read.ok) return read
  const login = more(body, { ...read.value, refreshToken: filledTextOf(body['refresh_token']) ?? '' })
  return typeof login === 'string' ? refused(200, `a login without ${login}`) : { ok: true, value: login }
}

/** POST /v2/corp-auth: an enterprise member. */
export interface CorpAccount {
  readonly account: string
  readonly password: string
}

/** POST /v2/user_auth: an end user, by phone or by e-mail, exactly one of them. */
export type UserAccount = {
  readonly corpId: string
  /** Phone area code; the contract requires it with an e-mail address, too. */
  readonly phoneZone: string
  readonly password: string
  /** Login source. */
  readonly resource?: string
} & (
  | { readonly phone: string; readonly email?: undefined }
  | { readonly email: string; readonly phone?: undefined }
)

export interface CorpLogin extends GrantedToken {
  readonly corpId: string
  readonly memberId: string
  readonly roleType: Int | null
}

export interface UserLogin extends GrantedToken {
  readonly userId: Int
}

/** The body of a user's login. @throws TypeError unless exactly one of phone and e-mail is given. */
function userAuthBody(account: UserAccount): object {
  const { corpId, phone, email, phoneZone, password, resource } = account
  if ((phone === undefined) === (email === undefined)) {
    throw new TypeError('a user logs in by phone or by email: give exactly one of them')
  }
  return {
    corp_id: corpId,
    phone_zone: phoneZone,
    password,
    phone,
    email,
    resource,
  }
}

function readCorpLogin(login: PlatformBody): PlatformResult<CorpLogin> {
  return readLoginOf(login, (body, granted) => {
    const [corpId, memberId] = [filledTextOf(body['corp_id']), filledTextOf(body['member_id'])]
    if (corpId === undefined) return 'corp_id'
    if (memberId === undefined) return 'member_id'
    return { ...granted, corpId, memberId, roleType: intOf(body['role_type']) ?? null }
  })
}

function readUserLogin(login: PlatformBody): PlatformResult<UserLogin> {
  return readLoginOf(login, (body, granted) => {
    const userId = intOf(body['user_id'])
    return userId === undefined ? 'user_id' : { ...granted, userId }
  })
}
