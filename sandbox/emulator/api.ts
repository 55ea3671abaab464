import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'
import type { Accounts, Holder, Tokens } from './accounts.ts'
import type { ContractChecker, SchemaName } from './contract.ts'
import { contentMd5 } from './platform-client.ts'

/** A request as it came. */
export interface ApiRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Headers
  readonly body: string
}

/** A request and its answer as the page shows them, without bodies and credentials. */
export interface ApiExchange {
  /** ms since the epoch. */
  readonly at: number
  readonly method: string
  /** The method that it was handled as, because of XR-Method. */
  readonly handledAs: string
  readonly path: string
  readonly status: number
  readonly code: number
}

/** Faults of the gateway that can be switched on, each with the answer that the contract prints for it. */
export const API_FAULTS = {
  timeout: '408, code 4081001',
  gateway: '502, code 5021001',
  degraded: '503, code 5031002',
  access: '504, code 5041001',
} as const satisfies Partial<Record<Code, string>>
export type ApiFault = keyof typeof API_FAULTS

export interface ApiOptions extends Pick<GatewayAuthOptions, 'verifySignature'> {
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly contract: ContractChecker
  readonly now: () => number
  readonly onExchange?: (exchange: ApiExchange) => void
}

export interface PlatformApi {
  answer(request: ApiRequest): ApiAnswer
  /** Makes every gateway call fail with this fault; null: none fails. */
  setFault(fault: ApiFault | null): void
  fault(): ApiFault | null
}

interface Route {
  readonly methods: readonly string[]
  readonly authenticated: boolean
  /** Schema of the request's body. */
  readonly requestSchema?: SchemaName
  readonly run: (body: JsonObject, request: ApiRequest, method: string) => ApiAnswer
}

/**
 * The platform's HTTP API, without its sockets: every endpoint of the contract, and two of the emulator's own to try
 * clients with: `/v2/api-gateway/echo`, which takes every method, and `/v1/demo`, the example call as version 1 would
 * answer it (its result bare, its errors in version 1's form).
 */
export function createPlatformApi(options: ApiOptions): PlatformApi {
  const { accounts, tokens, contract, now, onExchange } = options
  const answers = createApiAnswers(contract)
  const authenticate = createGatewayAuth({ ...options, appId: accounts.app.appId })
  const routes = createRoutes(accounts, tokens, answers)
  let fault: ApiFault | null = null

  function handle(request: ApiRequest, method: string): ApiAnswer {
    const path = request.path.split('?')[0] ?? ''
    const version = path.startsWith('/v1/') ? 1 : 2
    const route = routes.get(path)
    if (route === undefined) return answers.error(version, 'noInterface')
    if (!route.methods.includes(method)) return answers.error(version, 'method')
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '') && request.method !== 'GET')
      return answers.error(version, 'empty', 'Content-Type')
    if (route.authenticated) {
      if (fault !== null) return answers.error(version, fault)
      const refusal = authenticate(request.method, request.path, request.headers, request.body)
      if (refusal !== null) return answers.error(version, refusal.code, refusal.detail)
    }
    return runRoute(route, request, method, version)
  }

  function runRoute(route: Route, request: ApiRequest, method: string, version: 1 | 2): ApiAnswer {
    if (route.requestSchema === undefined) return route.run({}, request, method)
    let body: unknown
    try {
      body = JSON.parse(request.body)
    } catch {
      return answers.error(version, 'unparsable')
    }
    const violation = contract.validate('client', route.requestSchema, body)
    if (violation === null) return route.run(body as JsonObject, request, method)
    const empty = violation.keyword === 'required' || violation.keyword === 'minLength'
    return answers.error(version, empty ? 'empty' : 'invalid', violation.fault)
  }

  return {
    answer(request) {
      const method = effectiveMethod(request)
      const answer = handle(request, method)
      onExchange?.({
        at: now(),
        method: request.method,
        handledAs: method,
        path: request.path.split('?')[0] ?? '',
        status: answer.status,
        code: answer.code,
      })
      return answer
    },
    setFault(next) {
      fault = next
    },
    fault: () => fault,
  }
}

/** The method that a request is handled as. Only a POST may name another one by XR-Method. */
function effectiveMethod({ method, headers }: ApiRequest): string {
  const named = headers['xr-method']?.trim().toUpperCase()
  return method === 'POST' && (named === 'PUT' || named === 'DELETE') ? named : method
}

function createRoutes(accounts: Accounts, tokens: Tokens, answers: ApiAnswers): ReadonlyMap<string, Route> {
  return new Map([...loginRoutes(accounts, tokens, answers), ...gatewayRoutes(answers)])
}

function loginRoutes(
  { corp, user, app }: Accounts,
  tokens: Tokens,
  answers: ApiAnswers,
): readonly (readonly [string, Route])[] {
  const login = (
    requestSchema: SchemaName,
    holder: Holder,
    answerSchema: SchemaName,
    isCorrect: (body: JsonObject) => boolean,
    identity: object,
  ): Route => ({
    methods: ['POST'],
    authenticated: false,
    requestSchema,
    run: body =>
      isCorrect(body)
        ? answers.topLevel({ ...identity, ...tokens.issue(holder) }, answerSchema)
        : answers.error(2, 'forbidden', 'no such account, or a wrong password'),
  })
  const forCorp = login(
    'corp-auth request',
    'corp',
    'corp-auth answer',
    body => body['account'] === corp.account && body['password'] === corp.password,
    { corp_id: corp.corpId, member_id: corp.memberId, role_type: corp.roleType },
  )
  const forUser = login(
    'user_auth request',
    'user',
    'user_auth answer',
    body =>
      body['corp_id'] === corp.corpId &&
      body['password'] === user.password &&
      (body['email'] === user.email ||
        (body['phone'] === user.phone && body['phone_zone'] === user.phoneZone)),
    { user_id: user.userId },
  )
  const forApp = login(
    'app_auth request',
    'app',
    'app_auth answer',
    body => body['app_id'] === app.appId && body['app_secret'] === app.appSecret,
    {},
  )
  return [
    ['/v2/corp-auth', forCorp],
    ['/v2/user_auth', forUser],
    ['/v2/plugin/app_auth', forApp],
  ]
}

function gatewayRoutes(answers: ApiAnswers): readonly (readonly [string, Route])[] {
  const demo = { methods: ['POST'], authenticated: true, requestSchema: 'demo request' } as const
  return [
    [
      '/v2/api-gateway/demo',
      { ...demo, run: ({ name, age }) => answers.envelope({ name, age }, 'demo data') },
    ],
    [
      '/v2/api-gateway/echo',
      {
        methods: ['GET', 'POST', 'PUT', 'DELETE'],
        authenticated: true,
        run: (_body, { method, path, headers, body }, as) =>
          answers.envelope({ method, as, path, headers: withoutCredentials(headers), body }),
      },
    ],
    ['/v1/demo', { ...demo, run: ({ name, age }) => answers.topLevel({ name, age }, 'demo data') }],
  ]
}

type JsonObject = Readonly<Record<string, unknown>>

/** Picks the headers of the contract that are no credentials. */
function withoutCredentials(headers: Headers): Headers {
  const names = ['corp-id', 'api-version', 'group', 'stage', 'xr-method', 'app-id', 'timestamp', 'request-id']
  return Object.fromEntries(
    names.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}

export type Headers = Readonly<Record<string, string | undefined>>

/** Why a request is refused, and the header that it is about. */
export interface AuthRefusal {
  readonly code: Code
  readonly detail: string
}

export interface GatewayAuthOptions {
  readonly tokens: Tokens
  readonly appId: string
  /** Verifies a signature. The platform does not publish how it is computed: without this, any signature is accepted. */
  readonly verifySignature?: (request: {
    readonly method: string
    readonly path: string
    readonly headers: Headers
    readonly body: string
  }) => boolean
}

const STAGES = new Set(['RELEASE', 'TEST', 'PRE_RELEASE'])

/**
 * Authenticates requests by the gateway's rules for headers. A Signature counts only when there is no Access-Token.
 *
 * With a signature, every header that the contract requires for it must be there, and Content-MD5 must be that of the
 * body, in base64 or hex. With a token, Group and Stage may be missing, since the example call lists neither; an unknown
 * Stage is refused all the same.
 *
 * @returns a function that gives null when the request is accepted.
 */
export function createGatewayAuth({ tokens, appId, verifySignature }: GatewayAuthOptions) {
  return (method: string, path: string, headers: Headers, body: string): AuthRefusal | null => {
    const given = (name: string) => (headers[name] ?? '').trim()
    const stage = given('stage')
    if (stage !== '' && !STAGES.has(stage)) return { code: 'invalid', detail: 'Stage' }
    const token = given('access-token')
    if (token !== '') {
      const holder = tokens.holderOf(token)
      // "A B-side or C-side access_token": an application's is for DDQ.
      return holder === 'corp' || holder === 'user' ? null : { code: 'forbidden', detail: 'Access-Token' }
    }
    if (given('signature') === '') return { code: 'noToken', detail: 'neither Access-Token nor Signature' }

    for (const name of ['Group', 'Stage', 'App-ID', 'Timestamp', 'Request-ID'])
      if (given(name.toLowerCase()) === '') return { code: 'empty', detail: name }
    if (method === 'POST' || method === 'PUT') {
      const md5 = given('content-md5')
      if (md5 === '') return { code: 'empty', detail: 'Content-MD5' }
      const right = md5 === contentMd5(body, 'base64') || md5.toLowerCase() === contentMd5(body, 'hex')
      if (!right) return { code: 'invalid', detail: 'Content-MD5' }
    }
    if (given('app-id') !== appId) return { code: 'forbidden', detail: 'App-ID' }
    if (verifySignature !== undefined && !verifySignature({ method, path, headers, body }))
      return { code: 'forbidden', detail: 'Signature' }
    return null
  }
}

const MOST_BYTES = 1024 * 1024

export interface PlatformServer {
  /** On 127.0.0.1; 0: any free port. Resolves with its address: the {base_url} of the contract. */
  listen(port: number): Promise<string>
  close(): Promise<void>
}

/** Serves the emulated API over HTTP/1.1, without TLS, since it is reached from this machine only. */
export function createPlatformServer(api: PlatformApi): PlatformServer {
  const server = createServer((request, response) => {
    respond(api, request, response).catch(() => response.destroy())
  })
  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, '127.0.0.1', resolve)
      })
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function respond(api: PlatformApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    parts.push(part as Buffer)
    bytes += (part as Buffer).length
    if (bytes > MOST_BYTES) {
      response.destroy()
      return
    }
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  )
  const { status, body } = api.answer({
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    body: Buffer.concat(parts).toString('utf8'),
  })
  response.writeHead(status, { 'content-type': 'application/json;charset=UTF-8' }).end(body)
}

/** An answer over HTTP. */
export interface ApiAnswer {
  readonly status: number
  readonly body: string
  /** The business code; 200 for a success. */
  readonly code: number
}

/** The business codes that the contract names, with the status that each carries in its first three digits. */
export const CODES = {
  /** Version 1's example. */
  invalid: 4_001_001,
  empty: 4_001_002,
  noToken: 4_011_001,
  forbidden: 4_031_003,
  noInterface: 4_041_001,
  method: 4_051_001,
  timeout: 4_081_001,
  gateway: 5_021_001,
  /** The contract names status 503 for a "parameter parsing error" but lists no code: this one follows its scheme. */
  unparsable: 5_031_001,
  degraded: 5_031_002,
  access: 5_041_001,
} as const

export type Code = keyof typeof CODES

const WORDS: Readonly<Record<Code, string>> = {
  invalid: 'a parameter is invalid',
  empty: 'a parameter must not be empty',
  noToken: 'the Access-Token header is missing',
  forbidden: 'the Access-Token is invalid',
  noInterface: 'interface not found',
  method: 'HTTP method not allowed',
  timeout: 'request timeout',
  gateway: 'gateway error',
  unparsable: 'the parameters cannot be parsed',
  degraded: 'the service is degraded',
  access: 'access timeout',
}

/** Makes answers and checks each against the contract: one that violates it is a fault of this program, and throws. */
export interface ApiAnswers {
  /** Version 2's envelope. `schema`: of `data`. */
  envelope(data: object, schema?: SchemaName): ApiAnswer
  /** The result itself, without an envelope: the logins, and version 1. */
  topLevel(result: object, schema?: SchemaName): ApiAnswer
  /** Version 1: `{error: {code, msg}}`; version 2: the envelope. */
  error(version: 1 | 2, code: Code, detail?: string): ApiAnswer
}

export function createApiAnswers(contract: ContractChecker): ApiAnswers {
  const checkedAnswer = (
    status: number,
    code: number,
    schema: SchemaName | undefined,
    body: object,
  ): ApiAnswer => {
    const violation = schema === undefined ? null : contract.validate('emulator', schema, body)
    if (violation !== null)
      throw new Error(`the emulator's ${violation.body} leaves the contract: ${violation.fault}`)
    return { status, code, body: stringifyExactly(body) }
  }
  return {
    envelope(data, schema) {
      if (schema !== undefined) checkedAnswer(200, 200, schema, data)
      return checkedAnswer(200, 200, 'envelope', { code: 200, status: 200, msg: '', data })
    },
    topLevel: (result, schema) => checkedAnswer(200, 200, schema, result),
    error(version, name, detail) {
      const code = CODES[name]
      const status = Math.floor(code / 10_000)
      const msg = detail === undefined ? WORDS[name] : `${WORDS[name]}: ${detail}`
      return version === 1
        ? checkedAnswer(status, code, 'error of version 1', { error: { code, msg } })
        : checkedAnswer(status, code, 'envelope', { code, status, msg, data: {} })
    },
  }
}
