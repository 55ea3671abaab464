import { randomBytes, randomInt } from 'node:crypto'
import { type CallbackAnswer, createCallbackClient, sampleBody } from '../../src/platform/callback-client.ts'
import { findSampleKind } from '../../src/platform/sample-callbacks.ts'
import { type Accounts, createTokens, type Tokens } from './accounts.ts'
import { type Api, createApi, type Exchange } from './api.ts'
import { createApiServer } from './api-server.ts'
import { type Board, createBoard } from './board.ts'
import { type Contract, createContract } from './contract/contract.ts'
import { createDdqServer, type DdqServer } from './ddq-server.ts'

export interface EmulatorOptions {
  /** Of the platform's API and of DDQ; 0: any free one. */
  readonly ports?: { readonly api?: number; readonly ddq?: number }
  readonly corpId?: string
  /** Paths that the platform does not publish. */
  readonly paths?: { readonly authenticate: string; readonly subscribe: string }
  /** Life of a credential, and the unit in which it is stated. */
  readonly credentials?: { readonly lifeMs: number; readonly unit: 'seconds' | 'milliseconds' }
  /** ms since the epoch. */
  readonly now?: () => number
  /** Called whenever there is something new to see. */
  readonly changed?: () => void
}

/** A URL of the customer's, as it would be entered in the console. */
export interface CallbackTarget {
  readonly url: string
  readonly corpId: string
  readonly token: string
}

/** Something that was done to a callback URL. */
export interface Called {
  /** ms since the epoch. */
  readonly at: number
  readonly title: string
  readonly answer: CallbackAnswer
  /** What of the answer leaves the contract; null: nothing. */
  readonly fault: string | null
}

/** The whole platform on this machine: its API, its data subscription, its devices and its callbacks. */
export interface Emulator {
  /** {base_url} */
  readonly baseUrl: string
  /** Port of {ddq_host} on 127.0.0.1. */
  readonly ddqPort: number
  readonly accounts: Accounts
  /** The settings that point a service at it. */
  readonly settings: Readonly<Record<string, string>>
  readonly api: Api
  readonly tokens: Tokens
  readonly ddq: DdqServer
  readonly board: Board
  readonly contract: Contract
  /** Newest last, at most 100. */
  exchanges(): readonly Exchange[]
  called(): readonly Called[]
  /** Presses the console's "validate". */
  validate(target: CallbackTarget): Promise<Called>
  /** Sends an e-mail or an SMS of a kind; null: no such kind. */
  call(target: CallbackTarget, channel: 'email' | 'sms', kind: string): Promise<Called | null>
  clear(): void
  close(): Promise<void>
}

const DEFAULT_PATHS = { authenticate: '/auth', subscribe: '/subscribe' }
const ANY_PRODUCT = '+'

/** Starts it. Nothing leaves this machine but the callbacks, to the URL that they are given. */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { ports = {}, corpId = '100fa4b2c3d4e5f6', paths = DEFAULT_PATHS, now = Date.now } = options
  const changed = options.changed ?? (() => {})
  const random = (bytes: number) => randomBytes(bytes).toString('hex')
  const accounts = accountsOf(corpId, random)
  const contract = createContract(now, changed)
  const { lifeMs, unit } = options.credentials ?? { lifeMs: 7_200_000, unit: 'seconds' }
  const tokens = createTokens({ lifeMs, unit, now, random })
  let exchanges: readonly Exchange[] = []
  let called: readonly Called[] = []

  const api = createApi({
    accounts,
    tokens,
    contract,
    now,
    onExchange(exchange) {
      exchanges = [...exchanges, exchange].slice(-100)
      changed()
    },
  })
  const ddq = createDdqServer({
    contract,
    authenticatePath: paths.authenticate,
    subscribePath: paths.subscribe,
    accepts: (appId, token) => appId === accounts.app.appId && tokens.holderOf(token) === 'app',
    randomInt,
    anyProduct: ANY_PRODUCT,
    onChange: changed,
  })
  const board = createBoard({
    corpId,
    now,
    randomInt,
    messageId: () => random(12),
    publish(publication) {
      const receivers = ddq.publish(publication)
      changed()
      return receivers
    },
  })
  const apiServer = createApiServer(api)
  const baseUrl = await apiServer.listen(ports.api ?? 0)
  const ddqPort = await ddq.listen(ports.ddq ?? 0)
  // Whatever certificate is there: it is tried here, not judged. `check` of the service does that.
  const platform = createCallbackClient({ insecure: true, now })

  function note(title: string, answer: CallbackAnswer): Called {
    const fault = answer.is === 'answered' && answer.body !== '' ? faultOf(answer.body) : null
    const call = { at: now(), title, answer, fault }
    called = [...called, call].slice(-100)
    changed()
    return call
  }

  function faultOf(body: string): string | null {
    let value: unknown
    try {
      value = JSON.parse(body)
    } catch {
      value = undefined
    }
    return contract.judge('client', 'callback answer', value ?? null)?.fault ?? null
  }

  return {
    baseUrl,
    ddqPort,
    accounts,
    settings: {
      DDQ_HOST: '127.0.0.1',
      DDQ_PORT: String(ddqPort),
      DDQ_AUTH_URL: baseUrl,
      DDQ_APP_ID: accounts.app.appId,
      DDQ_APP_SECRET: accounts.app.appSecret,
      DDQ_AUTH_PATH: paths.authenticate,
      DDQ_SUBSCRIBE_PATH: paths.subscribe,
      DDQ_ANY_PRODUCT: ANY_PRODUCT,
    },
    api,
    tokens,
    ddq,
    board,
    contract,
    exchanges: () => exchanges,
    called: () => called,
    validate: async ({ url, corpId, token }) =>
      note('Validate URL', await platform.validate(url, { corpId, token })),
    async call({ url }, channel, kind) {
      const found = findSampleKind(channel, kind)
      const body = sampleBody(channel, kind, { mark: String(randomInt(100_000, 1_000_000)) })
      if (found === undefined || body === undefined) return null
      contract.judge('emulator', channel === 'email' ? 'e-mail callback' : 'SMS callback', body)
      return note(found.title, await platform.post(url, body))
    },
    clear() {
      exchanges = []
      called = []
      board.clear()
      contract.clear()
      changed()
    },
    async close() {
      await Promise.all([ddq.close(), apiServer.close(), platform.close()])
    },
  }
}

function accountsOf(corpId: string, random: (bytes: number) => string): Accounts {
  return {
    corp: {
      corpId,
      memberId: random(8),
      account: 'member@example.com',
      password: random(6),
      roleType: 1,
    },
    user: {
      userId: 1_144_000_001,
      phone: '13800138000',
      phoneZone: '+86',
      email: 'lin.wei@example.com',
      password: random(6),
    },
    app: { appId: random(12), appSecret: random(16) },
  }
}
