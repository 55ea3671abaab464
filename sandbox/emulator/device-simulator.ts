import type { Int } from '../../src/runtime/exact-json.ts'
import type { Publication } from './ddq-broker.ts'
import type { DdqServer } from './ddq-server.ts'

/** The state of a device. */
export interface DeviceState {
  readonly id: string
  readonly name: string
  readonly mac: string
  readonly product: string
  readonly online: boolean
  /** Identifiers of the rules that it breaks now. */
  readonly alarms: readonly string[]
}

/** Events that can be made to happen to a device. */
export const DEVICE_ACTIONS = [
  'offline',
  'online',
  'attributes',
  'event',
  'alarm',
  'recover',
  'handle',
] as const
export type DeviceAction = (typeof DEVICE_ACTIONS)[number]

/** A message that a device sent. */
export interface SimulatedMessage {
  /** ms since the epoch. */
  readonly at: number
  /** For people: `1144502133 is offline`. */
  readonly title: string
  readonly topic: string
  readonly id: string
  /** The body as it is on the wire, if no fault is switched on. */
  readonly payload: object
  /** The number of subscriptions that it was sent to. */
  readonly receivers: number
}

/** Simulated devices, and the messages that they send. */
export interface DeviceSimulator {
  deviceStates(): readonly DeviceState[]
  /** False: no such device or rule. */
  perform(device: string, action: DeviceAction, rule?: string): boolean
  /** Newest last, at most 200. */
  sentMessages(): readonly SimulatedMessage[]
  clear(): void
}

export interface DeviceSimulatorOptions {
  readonly corpId: string
  readonly publish: DdqServer['publish']
  /** ms since the epoch. */
  readonly now: () => number
  /** Gives a new identifier each time, across restarts too: receivers know a repeated message by it. */
  readonly messageId: () => string
  /** A whole number from 0 to below `below`. */
  readonly randomInt: (below: number) => number
}

const ALERT_WORDS = { alarm: 'alarm', recover: 'recovered', handle: 'handled by hand' } as const

interface SimulatedDevice {
  readonly device: Device
  online: boolean
  /** By rule: when the device first broke it, and how often since. */
  readonly alarms: Map<string, { readonly startedAt: number; count: number }>
}

export function createDeviceSimulator(options: DeviceSimulatorOptions): DeviceSimulator {
  const reportOf = createReports(options)
  const devices = new Map<string, SimulatedDevice>(
    DEVICES.map(device => [String(device.id), { device, online: true, alarms: new Map() }]),
  )
  let sent: readonly SimulatedMessage[] = []

  return {
    deviceStates: () => [...devices.values()].map(stateOf),
    perform(device, action, rule = '') {
      const state = devices.get(device)
      const report = state === undefined ? null : reportOf(state, action, rule)
      if (report === null) return false
      const { topic, id, payload } = report.publication
      const receivers = options.publish(report.publication)
      const title = `${device} ${report.what}`
      sent = [...sent, { at: options.now(), title, topic, id: String(id), payload, receivers }].slice(-200)
      return true
    },
    sentMessages: () => sent,
    clear() {
      sent = []
    },
  }
}

function stateOf({ device, online, alarms }: SimulatedDevice): DeviceState {
  return {
    id: String(device.id),
    name: device.name,
    mac: device.mac,
    product: device.productId,
    online,
    alarms: [...alarms.keys()],
  }
}

/** What a device reports, and in words for people. */
interface Report {
  readonly what: string
  readonly publication: Publication
}

/** @returns what changes a device as an action has it, and makes the report of it; null: no such rule */
function createReports({ corpId, now, messageId, randomInt }: DeviceSimulatorOptions) {
  const reporter = createDeviceReporter({ corpId, now, id: messageId })

  /** °C; the rule is broken above -15. */
  const temperature = (ok: boolean) => (ok ? -18 : -11) - randomInt(20) / 10

  function reportAlert(
    { device, alarms }: SimulatedDevice,
    action: keyof typeof ALERT_WORDS,
    ruleId: string,
  ): Report | null {
    const rule = RULES.find(({ id }) => id === ruleId)
    if (rule === undefined) return null
    const alarm = alarms.get(rule.id) ?? { startedAt: now(), count: 0 }
    if (action === 'alarm') {
      alarm.count += 1
      alarms.set(rule.id, alarm)
    } else if (action === 'recover') alarms.delete(rule.id)
    const current = rule.id === 'rule-temperature' ? temperature(action === 'recover') : undefined
    const state = { rule, ...alarm, current, handled: action === 'handle' }
    return { what: ALERT_WORDS[action], publication: reporter.alert(device, action !== 'recover', state) }
  }

  return (state: SimulatedDevice, action: DeviceAction, ruleId: string): Report | null => {
    const { device, alarms } = state
    switch (action) {
      case 'online':
      case 'offline':
        state.online = action === 'online'
        return { what: `is ${action}`, publication: reporter.online(device, state.online) }
      case 'attributes': {
        const values = {
          temperature: temperature(!alarms.has('rule-temperature')),
          door: alarms.has('rule-door') ? 'open' : 'closed',
        }
        return { what: 'reports attributes', publication: reporter.attributes(device, values) }
      }
      case 'event': {
        const values = { door: 1 + randomInt(2), battery: 60 + randomInt(40) }
        return { what: 'reports door_forced', publication: reporter.event(device, 'door_forced', values) }
      }
      default:
        return reportAlert(state, action, ruleId)
    }
  }
}

/** A device that the emulated platform has. */
export interface Device {
  readonly id: Int
  readonly mac: string
  /** For people; the platform's messages do not carry it. */
  readonly name: string
  readonly productId: string
  readonly projectId: string
}

/** An alarm rule of the platform's console, which a device can break. */
export interface Rule {
  readonly id: string
  readonly describe: string
  readonly content: string
  /** 1 notification, 2 alarm. */
  readonly notify: 1 | 2
}

export const DEVICES: readonly Device[] = [
  {
    id: 1_144_502_133,
    mac: 'A4C138F0112B',
    name: 'Freezer 3, warehouse north',
    productId: '1607d2b64f8a1f41',
    projectId: 'ac0401',
  },
  {
    id: 1_144_502_134,
    mac: 'A4C138F0112C',
    name: 'Freezer 4, warehouse north',
    productId: '1607d2b64f8a1f41',
    projectId: 'ac0401',
  },
  // The identifier is beyond 2^53, so that a client that rounds it is noticed.
  {
    id: 9_007_199_254_740_993n,
    mac: '0C8B95A77F02',
    name: 'Gate controller, dock 2',
    productId: '1607d2c0e11b9a02',
    projectId: 'ac0402',
  },
]

export const RULES: readonly Rule[] = [
  {
    id: 'rule-temperature',
    describe: 'Temperature above -15 °C for 5 minutes',
    content: 'Freezer too warm: check the door and the compressor',
    notify: 2,
  },
  {
    id: 'rule-door',
    describe: 'Door open for 3 minutes',
    content: 'Door left open',
    notify: 1,
  },
]

export interface ReporterOptions {
  readonly corpId: string
  /** ms since the epoch. */
  readonly now: () => number
  /** A new message identifier. */
  readonly id: () => string
}

/** An entry of an alert's rule list, without what the rule itself says. */
export interface AlertState {
  readonly rule?: Rule
  readonly current?: string | number
  readonly count?: number
  /** ms since the epoch. */
  readonly startedAt?: number
  /** Manually handled. */
  readonly handled?: boolean
}

/** Makes the messages that DDQ publishes about a device, in the contract's layouts. */
export function createDeviceReporter({ corpId, now, id }: ReporterOptions) {
  const report = (device: Device, event: string) => ({
    version: 1,
    time: now(),
    type: 'tml',
    event,
    thing_id: device.id,
    corp_id: corpId,
    product_id: device.productId,
    thing_model_group: 'device',
    thing_model_category: 'cold-chain',
    thing_model_type: 'sensor',
  })

  return {
    online(device: Device, online: boolean): Publication {
      return {
        topic: '/device-biz/state/product',
        id: id(),
        schema: 'online state',
        payload: {
          product_id: device.productId,
          device_id: device.id,
          is_online: online,
          corp_id: corpId,
          create_time: formatTime(now(), 2),
          project_id: device.projectId,
        },
      }
    },
    attributes(device: Device, values: Readonly<Record<string, string | number>>): Publication {
      return {
        topic: `thing/event/${device.productId}/device_attribute_sync_event`,
        id: id(),
        schema: 'attributes',
        payload: { ...report(device, 'device_attribute_sync_event'), attributes: pairs(values) },
      }
    },
    event(device: Device, name: string, values: Readonly<Record<string, string | number>>): Publication {
      return {
        topic: `thing/event/${device.productId}/event_report`,
        id: id(),
        schema: 'event',
        payload: {
          ...report(device, name),
          events: pairs(values).map(({ field, value }) => ({ field, value: String(value) })),
        },
      }
    },
    alert(device: Device, exception: boolean, state: AlertState = {}): Publication {
      const time = formatTime(now(), 3)
      const rules = entriesOf(state, exception, time)
      return {
        topic: `/device/alert/product/${device.productId}`,
        id: id(),
        schema: 'alert',
        payload: {
          product_id: device.productId,
          corp_id: corpId,
          device: { id: device.id, mac: device.mac },
          alert: { exception, time, ...(rules === undefined ? {} : { rules }) },
        },
      }
    },
  }
}

/** The rule list of an alert; undefined: it names none. */
function entriesOf(
  { rule, current, count, startedAt, handled }: AlertState,
  exception: boolean,
  at: string,
): readonly object[] | undefined {
  if (rule === undefined) return undefined
  return [
    {
      id: rule.id,
      status: handled ? 3 : exception ? 1 : 2,
      notify: rule.notify,
      ...(current === undefined ? {} : { current: String(current) }),
      ...(count === undefined ? {} : { count }),
      new_time: at,
      ...(startedAt === undefined ? {} : { start_time: formatTime(startedAt, 3) }),
      ...(exception || handled ? {} : { recover_time: at }),
      ...(handled ? { processed_time: at } : {}),
      exception_describe: rule.describe,
      notification_content: rule.content,
    },
  ]
}

/** The contract calls values String, of attributes and events alike; but the layout of attributes shows a number. */
function pairs(values: Readonly<Record<string, string | number>>) {
  return Object.entries(values).map(([field, value]) => ({ field, value }))
}

/** Formats as yyyy-MM-dd'T'HH:mm:ss with so many digits of the second, in UTC. */
function formatTime(ms: number, digits: 2 | 3): string {
  const [whole = '', fraction = ''] = new Date(ms).toISOString().replace('Z', '').split('.')
  return `${whole}.${fraction.slice(0, digits)}Z`
}
