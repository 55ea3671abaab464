import { describeFailure, type PlatformResult } from '../../src/devices/platform-api.ts'
import type { Channel } from '../../src/messages/message.ts'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'
import { SAMPLE_KINDS } from '../sample-callbacks.ts'
import { createPageServer, type Page, replyNotFound } from '../web/page-server.ts'
import type { Accounts } from './accounts.ts'
import { API_FAULTS, type ApiFault } from './api.ts'
import type { DdqVariant } from './ddq-broker.ts'
import { FEED_FAULTS, type FeedFault } from './ddq-feed.ts'
import { DEVICE_ACTIONS, type DeviceAction, RULES } from './device-simulator.ts'
import type { Emulator } from './emulator.ts'
import { createPlatformClient } from './platform-client.ts'

export interface EmulatorPageOptions {
  readonly emulator: Emulator
  /** The address of the sandbox's page, when the emulator is part of a sandbox. */
  readonly sandboxUrl?: () => string | undefined
}

interface CallbackBody {
  readonly url: string
  readonly corpId: string
  readonly token: string
  readonly channel: Channel
  readonly kind?: string
}

/** The page on which each thing that the platform can do, or get wrong, is a button. */
export function createEmulatorPage({ emulator, sandboxUrl }: EmulatorPageOptions): Page {
  const requests = createSampleRequests(emulator.baseUrl, emulator.accounts)
  const controls: Controls = { silent: false, down: false, redelivers: false, lastResult: '' }
  const { app, ...page } = createPageServer({
    folder: new URL('page/', import.meta.url),
    state: () => describeEmulator(emulator, controls, sandboxUrl?.() ?? null),
  })

  const addButton: AddButton = (path, properties, press, required = Object.keys(properties)) =>
    app.post(path, { schema: { body: { type: 'object', required, properties } } }, async (request, reply) => {
      const done = await press(request.body as never)
      page.changed()
      return done === false || done === null ? replyNotFound(reply) : (done ?? {})
    })
  addDeviceButtons(addButton, emulator)
  addSubscriptionButtons(addButton, emulator, controls)
  addApiButtons(addButton, emulator)
  addButton('/request', { name: { enum: Object.keys(SAMPLE_REQUESTS) } }, async (body: NamedRequest) => {
    controls.lastResult = await requests.send(body.name)
  })
  addButton('/clear', {}, () => emulator.clear())

  return {
    ...page,
    async close() {
      await page.close()
      await requests.close()
    },
  }
}

/** The switches of the page, and the result of its last request. */
interface Controls {
  silent: boolean
  down: boolean
  redelivers: boolean
  lastResult: string
}

/**
 * Adds a route that a button posts to. @param press does what the button says; false or null: there is no such thing.
 * @param required names of the properties that the body must have; all of them unless given.
 */
type AddButton = (
  path: string,
  properties: Readonly<Record<string, object>>,
  press: (body: never) => unknown,
  required?: readonly string[],
) => unknown

interface NamedRequest {
  readonly name: SampleRequest
}

const TEXT = { type: 'string', maxLength: 2000 } as const
const ON_OFF = { type: 'boolean' } as const

/** All that the page shows. */
function describeEmulator(emulator: Emulator, controls: Controls, sandboxUrl: string | null) {
  const { api, ddq, devices, accounts, contract } = emulator
  const { lastResult, ...switches } = controls
  return {
    about: {
      baseUrl: emulator.baseUrl,
      ddqHost: `127.0.0.1:${emulator.ddqPort}`,
      accounts: { ...accounts, user: { ...accounts.user, userId: String(accounts.user.userId) } },
      settings: emulator.settings,
      sandboxUrl,
    },
    devices: devices.deviceStates(),
    rules: RULES,
    sentMessages: devices
      .sentMessages()
      .slice(-60)
      .map(message => ({ ...message, payload: stringifyExactly(message.payload, 2) })),
    subscription: { ...ddq.statistics(), ...switches, variant: ddq.variant },
    faults: Object.entries(FEED_FAULTS).map(([name, title]) => ({
      name,
      title,
      on: ddq.faults().includes(name as FeedFault),
    })),
    api: {
      requests: SAMPLE_REQUESTS,
      lastResult,
      fault: api.fault(),
      faults: API_FAULTS,
      exchanges: emulator.exchanges().slice(-30),
    },
    kinds: SAMPLE_KINDS.map(({ channel, kind, type, title }) => ({ channel, kind, type, title })),
    callbackCalls: emulator.callbackCalls().slice(-30),
    violations: contract.violations().slice(-20),
  }
}

function addDeviceButtons(addButton: AddButton, { devices }: Emulator): void {
  addButton(
    '/act',
    { device: TEXT, action: { enum: DEVICE_ACTIONS }, rule: TEXT },
    ({ device, action, rule }: { device: string; action: DeviceAction; rule?: string }) =>
      devices.perform(device, action, rule) ? {} : false,
    ['device', 'action'],
  )
}

function addSubscriptionButtons(addButton: AddButton, { ddq, tokens }: Emulator, controls: Controls): void {
  type Switch = { readonly on: boolean }
  addButton(
    '/fault',
    { name: { enum: Object.keys(FEED_FAULTS) }, on: ON_OFF },
    ({ name, on }: { name: FeedFault; on: boolean }) => ddq.setFault(name, on),
  )
  addButton('/silent', { on: ON_OFF }, ({ on }: Switch) => ddq.proxy.setSilent((controls.silent = on)))
  addButton('/down', { on: ON_OFF }, ({ on }: Switch) => ddq.proxy.setDown((controls.down = on)))
  addButton('/redelivery', { on: ON_OFF }, ({ on }: Switch) => ddq.setRedelivery((controls.redelivers = on)))
  addButton('/cut', {}, () => ({ cut: ddq.proxy.cut() }))
  addButton('/revoke', {}, () => tokens.revoke())
  addButton(
    '/variant',
    {
      idKey: { enum: ['message_id', 'msgId'] },
      on: { enum: ['subscription', 'authentication'] },
      separator: { enum: ['\n', ''] },
    },
    (variant: Partial<DdqVariant>) => void Object.assign(ddq.variant, variant),
    [],
  )
}

function addApiButtons(addButton: AddButton, emulator: Emulator): void {
  addButton(
    '/api-fault',
    { name: { enum: [...Object.keys(API_FAULTS), null] } },
    ({ name }: { name: ApiFault | null }) => emulator.api.setFault(name),
  )
  addButton(
    '/callback',
    { url: TEXT, corpId: TEXT, token: TEXT, channel: { enum: ['email', 'sms'] }, kind: TEXT },
    ({ channel, kind, ...target }: CallbackBody) => {
      if (!URL.canParse(target.url)) return false
      return kind === undefined ? emulator.validateUrl(target) : emulator.sendCallback(target, channel, kind)
    },
    ['url', 'corpId', 'token', 'channel'],
  )
}

/** The requests of the page's buttons, by name. */
export const SAMPLE_REQUESTS = {
  member: 'Member login',
  user: 'User login',
  application: 'Application login',
  call: 'Gateway call',
  put: 'PUT by XR-Method',
  signed: 'Signed call',
  anonymous: 'No credential',
  wrong: 'Wrong token',
  empty: 'Empty parameter',
  version1: 'Version 1 error',
} as const
export type SampleRequest = keyof typeof SAMPLE_REQUESTS

/** Sends requests to the emulated API as a client would. */
export interface SampleRequests {
  /** Sends one and describes its result in words. */
  send(name: SampleRequest): Promise<string>
  close(): Promise<void>
}

export function createSampleRequests(baseUrl: string, accounts: Accounts): SampleRequests {
  const { corp, user, app } = accounts
  const client = createPlatformClient({ baseUrl })
  const member = { by: 'token', credential: client.credential(() => client.corpAuth(corp)) } as const
  const wrong = {
    by: 'token',
    credential: { getToken: async () => ({ token: 'no-token-of-ours', expiresAt: 1e15 }), refused: () => {} },
  } as const
  const echo = '/v2/api-gateway/echo'
  const demo = {
    method: 'POST',
    path: '/v2/api-gateway/demo',
    body: { name: 'Ada', age: 36 },
    auth: member,
  } as const
  const requests: Readonly<Record<SampleRequest, () => Promise<PlatformResult<unknown>>>> = {
    member: () => client.corpAuth(corp),
    user: () => client.userAuth({ ...user, corpId: corp.corpId, phone: undefined }),
    application: () => client.logInAsApp(app),
    call: () => client.call(demo),
    put: () => client.call({ method: 'PUT', path: echo, body: { a: 1 }, auth: member }),
    signed: () =>
      client.call({
        ...demo,
        group: 'demo',
        stage: 'TEST',
        auth: {
          by: 'signature',
          signing: {
            appId: app.appId,
            sign: () => 'not-published',
            timestamp: () => String(Date.now()),
            requestId: () => 'try',
          },
        },
      }),
    anonymous: () => client.call({ method: 'GET', path: echo }),
    wrong: () => client.call({ method: 'GET', path: echo, auth: wrong }),
    empty: () => client.call({ ...demo, body: { age: 36 } }),
    version1: () =>
      client.call({ method: 'POST', path: '/v1/demo', body: { name: 'Ada', age: 'old' }, auth: member }),
  }
  return {
    async send(name) {
      const result = await requests[name]()
      return result.ok
        ? `${SAMPLE_REQUESTS[name]}: done`
        : `${SAMPLE_REQUESTS[name]}: ${String(describeFailure(result.failure))}`
    },
    close: () => client.close(),
  }
}
