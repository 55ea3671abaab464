import { type Accounts, type Holder, type Tokens } from './accounts.ts'
import { type ApiAnswer, type ApiAnswers, type Code, createApiAnswers } from './api-answers.ts'
import type { Body, Contract } from './contract/contract.ts'
import { createGate, type GateOptions, type Headers } from './gate.ts'

/** A request as it came. */
export interface ApiRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Headers
  readonly body: string
}

/** A request and its answer, for whoever watches. No body, no credential. */
export interface Exchange {
  /** ms since the epoch. */
  readonly at: number
  readonly method: string
  /** What it is handled as, by XR-Method. */
  readonly as: string
  readonly path: string
  readonly status: number
  readonly code: number
}

/** Faults of the gateway that can be switched on: each as the contract prints it. */
export const API_FAULTS = {
  timeout: '408, code 4081001',
  gateway: '502, code 5021001',
  degraded: '503, code 5031002',
  access: '504, code 5041001',
} as const satisfies Partial<Record<Code, string>>
export type ApiFault = keyof typeof API_FAULTS

export interface ApiOptions extends Pick<GateOptions, 'signed'> {
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly contract: Contract
  readonly now: () => number
  readonly onExchange?: (exchange: Exchange) => void
}

export interface Api {
  answer(request: ApiRequest): ApiAnswer
  /** From now on every gateway call fails so; null: none does. */
  setFault(fault: ApiFault | null): void
  fault(): ApiFault | null
}

interface Route {
  readonly methods: readonly string[]
  readonly gated: boolean
  /** What the body must be. */
  readonly takes?: Body
  readonly run: (body: Given, request: ApiRequest, as: string) => ApiAnswer
}

/**
 * The platform's HTTP API, without its sockets: every endpoint of the contract, and two of the emulator's own to try
 * clients with: `/v2/api-gateway/echo`, which takes every method, and `/v1/demo`, the example call as version 1 would
 * answer it (its result bare, its errors in version 1's form).
 */
export function createApi(options: ApiOptions): Api {
  const { accounts, tokens, contract, now, onExchange } = options
  const answers = createApiAnswers(contract)
  const gate = createGate({ ...options, appId: accounts.app.appId })
  const routes = routesOf(accounts, tokens, answers)
  let fault: ApiFault | null = null

  function handle(request: ApiRequest, as: string): ApiAnswer {
    const path = request.path.split('?')[0] ?? ''
    const version = path.startsWith('/v1/') ? 1 : 2
    const route = routes.get(path)
    if (route === undefined) return answers.error(version, 'noInterface')
    if (!route.methods.includes(as)) return answers.error(version, 'method')
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '') && request.method !== 'GET')
      return answers.error(version, 'empty', 'Content-Type')
    if (route.gated) {
      if (fault !== null) return answers.error(version, fault)
      const refusal = gate(request.method, request.path, request.headers, request.body)
      if (refusal !== null) return answers.error(version, refusal.code, refusal.detail)
    }
    return taken(route, request, as, version)
  }

  function taken(route: Route, request: ApiRequest, as: string, version: 1 | 2): ApiAnswer {
    if (route.takes === undefined) return route.run({}, request, as)
    let body: unknown
    try {
      body = JSON.parse(request.body)
    } catch {
      return answers.error(version, 'unparsable')
    }
    const finding = contract.judge('client', route.takes, body)
    if (finding === null) return route.run(body as Given, request, as)
    const empty = finding.keyword === 'required' || finding.keyword === 'minLength'
    return answers.error(version, empty ? 'empty' : 'invalid', finding.fault)
  }

  return {
    answer(request) {
      const as = proxied(request)
      const answer = handle(request, as)
      onExchange?.({
        at: now(),
        method: request.method,
        as,
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

/** The method that a request is handled as. Only a POST may name another one; elsewhere XR-Method means nothing. */
function proxied({ method, headers }: ApiRequest): string {
  const named = headers['xr-method']?.trim().toUpperCase()
  return method === 'POST' && (named === 'PUT' || named === 'DELETE') ? named : method
}

function routesOf(accounts: Accounts, tokens: Tokens, answers: ApiAnswers): ReadonlyMap<string, Route> {
  const { corp, user, app } = accounts
  const login = (
    takes: Body,
    holder: Holder,
    gives: Body,
    right: (body: Given) => boolean,
    own: object,
  ): Route => ({
    methods: ['POST'],
    gated: false,
    takes,
    run: body =>
      right(body)
        ? answers.topLevel({ ...own, ...tokens.issue(holder) }, gives)
        : answers.error(2, 'forbidden', 'no such account, or a wrong password'),
  })
  return new Map<string, Route>([
    [
      '/v2/corp-auth',
      login(
        'corp-auth request',
        'corp',
        'corp-auth answer',
        body => body['account'] === corp.account && body['password'] === corp.password,
        { corp_id: corp.corpId, member_id: corp.memberId, role_type: corp.roleType },
      ),
    ],
    [
      '/v2/user_auth',
      login(
        'user_auth request',
        'user',
        'user_auth answer',
        body =>
          body['corp_id'] === corp.corpId &&
          body['password'] === user.password &&
          (body['email'] === user.email ||
            (body['phone'] === user.phone && body['phone_zone'] === user.phoneZone)),
        { user_id: user.userId },
      ),
    ],
    [
      '/v2/plugin/app_auth',
      login(
        'app_auth request',
        'app',
        'app_auth answer',
        body => body['app_id'] === app.appId && body['app_secret'] === app.appSecret,
        {},
      ),
    ],
    [
      '/v2/api-gateway/demo',
      {
        methods: ['POST'],
        gated: true,
        takes: 'demo request',
        run: ({ name, age }) => answers.envelope({ name, age }, 'demo data'),
      },
    ],
    [
      '/v2/api-gateway/echo',
      {
        methods: ['GET', 'POST', 'PUT', 'DELETE'],
        gated: true,
        run: (_body, { method, path, headers, body }, as) =>
          answers.envelope({ method, as, path, headers: shown(headers), body }),
      },
    ],
    [
      '/v1/demo',
      {
        methods: ['POST'],
        gated: true,
        takes: 'demo request',
        run: ({ name, age }) => answers.topLevel({ name, age }, 'demo data'),
      },
    ],
  ])
}

type Given = Readonly<Record<string, unknown>>

/** The headers of the contract, without the credentials. */
function shown(headers: Headers): Headers {
  const names = ['corp-id', 'api-version', 'group', 'stage', 'xr-method', 'app-id', 'timestamp', 'request-id']
  return Object.fromEntries(
    names.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}
