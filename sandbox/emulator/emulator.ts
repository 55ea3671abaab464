import { randomBytes, randomInt } from 'node:crypto'
import { type CallbackAnswer, createCallbackClient } from '../../src/platform/callback-client.ts'
import { createSampleBody, findSampleKind } from '../../src/platform/sample-callbacks.ts'
import { type Accounts, createTokens, type Tokens } from './accounts.ts'
import { type Api, createApi, type Exchange } from './api.ts'
import { createApiServer } from './api-server.ts'
import { type Contract, createContract } from './contract/contract.ts'
import { createDdqServer, type DdqServer } from './ddq-server.ts'
import { createDeviceSimulator, type DeviceSimulator } from './device-simulator.ts'

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

/** A call of a callback URL, and its answer. */
export interface CallbackCall {
  /** ms since the epoch. */
  readonly at: number
  readonly title: string
  readonly answer: CallbackAnswer
  /** How the answer violates the contract; null: it does not. */
  readonly fault: string | null
}

/** The emulated platform: its API, its data subscription, its devices and its callbacks. */
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
  readonly devices: DeviceSimulator
  readonly contract: Contract
  /** Newest last, at most 100. */
  exchanges(): readonly Exchange[]
  callbackCalls(): readonly CallbackCall[]
  /** Validates the URL as the platform's console does. */
  validateUrl(target: CallbackTarget): Promise<CallbackCall>
  /** Sends an e-mail or an SMS of a kind; null: no such kind. */
  sendCallback(target: CallbackTarget, channel: 'email' | 'sms', kind: string): Promise<CallbackCall | null>
  clear(): void
  close(): Promise<void>
}

const DEFAULT_PATHS = { authenticate: '/auth', subscribe: '/subscribe' }
const ANY_PRODUCT = '+'

/** Starts the emulator. Only the callbacks leave this machine, to the URL that is given for them. */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { ports = {}, corpId = '100fa4b2c3d4e5f6', paths = DEFAULT_PATHS, now = Date.now } = options
  const changed = options.changed ?? (() => {})
  const random = (bytes: number) => randomBytes(bytes).toString('hex')
  const accounts = createAccounts(corpId, random)
  const contract = createContract(now, changed)
  const { lifeMs, unit } = options.credentials ?? { lifeMs: 7_200_000, unit: 'seconds' }
  const tokens = createTokens({ lifeMs, unit, now, random })
  let exchanges: readonly Exchange[] = []
  let callbackCalls: readonly CallbackCall[] = []

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
  const devices = createDeviceSimulator({
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
  // Any certificate is accepted here: the service's `check` looks at certificates.
  const platform = createCallbackClient({ insecure: true, now })

  function remember(title: string, answer: CallbackAnswer): CallbackCall {
    const fault = answer.is === 'answered' && answer.body !== '' ? findAnswerFault(answer.body) : null
    const call = { at: now(), title, answer, fault }
    callbackCalls = [...callbackCalls, call].slice(-100)
    changed()
    return call
  }

  function findAnswerFault(body: string): string | null {
    let value: unknown
    try {
      value = JSON.parse(body)
    } catch {
      value = undefined
    }
    return contract.validate('client', 'callback answer', value ?? null)?.fault ?? null
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
    devices,
    contract,
    exchanges: () => exchanges,
    callbackCalls: () => callbackCalls,
    validateUrl: async ({ url, corpId, token }) =>
      remember('Validate URL', await platform.validate(url, { corpId, token })),
    async sendCallback({ url }, channel, kind) {
      const found = findSampleKind(channel, kind)
      const body = createSampleBody(channel, kind, { mark: String(randomInt(100_000, 1_000_000)) })
      if (found === undefined || body === undefined) return null
      contract.validate('emulator', channel === 'email' ? 'e-mail callback' : 'SMS callback', body)
      return remember(found.title, await platform.post(url, body))
    },
    clear() {
      exchanges = []
      callbackCalls = []
      devices.clear()
      contract.clear()
      changed()
    },
    async close() {
      await Promise.all([ddq.close(), apiServer.close(), platform.close()])
    },
  }
}

function createAccounts(corpId: string, random: (bytes: number) => string): Accounts {
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
