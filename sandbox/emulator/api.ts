import { type Accounts, type Holder, type Tokens } from './accounts.ts'
import { type ApiAnswer, type ApiAnswers, type Code, createApiAnswers } from './api-answers.ts'
import type { ContractChecker, SchemaName } from './contract/contract.ts'
import { createGatewayAuth, type GatewayAuthOptions, type Headers } from './gateway-auth.ts'

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
