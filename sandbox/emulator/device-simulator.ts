import type { Publication } from './ddq-broker.ts'
import type { DdqServer } from './ddq-server.ts'
import { createDeviceReporter, DEVICES, type Device, RULES } from './devices.ts'

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
