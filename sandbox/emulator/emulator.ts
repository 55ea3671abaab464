import { randomBytes, randomInt } from 'node:crypto'
import { type Accounts, createTokens, type Tokens } from './accounts.ts'
import { type ApiExchange, createPlatformApi, createPlatformServer, type PlatformApi } from './api.ts'
import { type CallbackCalls, createCallbackCalls } from './callback-calls.ts'
import { type ContractChecker, createContractChecker } from './contract.ts'
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

/** The emulated platform: its API, its data subscription, its devices and its callbacks. */
export interface Emulator {
  /** {base_url} */
  readonly baseUrl: string
  /** Port of {ddq_host} on 127.0.0.1. */
  readonly ddqPort: number
  readonly accounts: Accounts
  /** The settings that point a service at it. */
  readonly settings: Readonly<Record<string, string>>
  readonly api: PlatformApi
  readonly tokens: Tokens
  readonly ddq: DdqServer
  readonly devices: DeviceSimulator
  readonly contract: ContractChecker
  /** Newest last, at most 100. */
  exchanges(): readonly ApiExchange[]
  readonly callbackCalls: CallbackCalls['list']
  readonly validateUrl: CallbackCalls['validateUrl']
  readonly sendCallback: CallbackCalls['send']
  clear(): void
  close(): Promise<void>
}

const DEFAULT_PATHS = { authenticate: '/auth', subscribe: '/subscribe' }
const ANY_PRODUCT = '-any-'

/** Starts the emulator. Only the callbacks leave this machine, to the URL that is given for them. */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { ports = {}, corpId = '100fa4b2c3d4e5f6', paths = DEFAULT_PATHS, now = Date.now } = options
  const changed = options.changed ?? (() => {})
  const random = (bytes: number) => randomBytes(bytes).toString('hex')
  const accounts = createAccounts(corpId, random)
  const contract = createContractChecker(now, changed)
  const { lifeMs, unit } = options.credentials ?? { lifeMs: 7_200_000, unit: 'seconds' }
  const tokens = createTokens({ lifeMs, unit, now, random })
  let exchanges: readonly ApiExchange[] = []

  const api = createPlatformApi({
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
  const apiServer = createPlatformServer(api)
  const baseUrl = await apiServer.listen(ports.api ?? 0)
  const ddqPort = await ddq.listen(ports.ddq ?? 0)
  const callbacks = createCallbackCalls(contract, now, changed)

  return {
    baseUrl,
    ddqPort,
    accounts,
    settings: settingsOf(accounts, baseUrl, ddqPort, paths),
    api,
    tokens,
    ddq,
    devices,
    contract,
    exchanges: () => exchanges,
    callbackCalls: callbacks.list,
    validateUrl: callbacks.validateUrl,
    sendCallback: callbacks.send,
    clear() {
      exchanges = []
      callbacks.clear()
      devices.clear()
      contract.clear()
      changed()
    },
    async close() {
      await Promise.all([ddq.close(), apiServer.close(), callbacks.close()])
    },
  }
}

function settingsOf(
  { app }: Accounts,
  baseUrl: string,
  ddqPort: number,
  paths: typeof DEFAULT_PATHS,
): Emulator['settings'] {
  return {
    DDQ_URL: `http://127.0.0.1:${ddqPort}?auth=${paths.authenticate}&subscribe=${paths.subscribe}&any-product=${ANY_PRODUCT}`,
    DDQ_AUTH_URL: baseUrl,
    DDQ_APP_ID: app.appId,
    DDQ_APP_SECRET: app.appSecret,
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
