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
  const { now, randomInt, publish } = options
  const reporter = createDeviceReporter({ corpId: options.corpId, now, id: options.messageId })
  const devices = new Map<string, SimulatedDevice>(
    DEVICES.map(device => [String(device.id), { device, online: true, alarms: new Map() }]),
  )
  let sent: readonly SimulatedMessage[] = []

  function send(device: Device, what: string, publication: Publication): void {
    const { topic, id, payload } = publication
    const receivers = publish(publication)
    sent = [
      ...sent,
      { at: now(), title: `${device.id} ${what}`, topic, id: String(id), payload, receivers },
    ].slice(-200)
  }

  /** °C; the rule is broken above -15. */
  const temperature = (ok: boolean) => (ok ? -18 : -11) - randomInt(20) / 10

  function alert(state: SimulatedDevice, action: 'alarm' | 'recover' | 'handle', ruleId: string): boolean {
    const rule = RULES.find(({ id }) => id === ruleId)
    if (rule === undefined) return false
    const known = state.alarms.get(rule.id)
    const alarm = known ?? { startedAt: now(), count: 0 }
    if (action === 'alarm') {
      alarm.count += 1
      state.alarms.set(rule.id, alarm)
    } else if (action === 'recover') state.alarms.delete(rule.id)
    const { startedAt, count } = alarm
    const current = rule.id === 'rule-temperature' ? temperature(action === 'recover') : undefined
    send(
      state.device,
      ALERT_WORDS[action],
      reporter.alert(state.device, action !== 'recover', {
        rule,
        startedAt,
        count,
        current,
        handled: action === 'handle',
      }),
    )
    return true
  }

  return {
    deviceStates: () =>
      [...devices.values()].map(({ device, online, alarms }) => ({
        id: String(device.id),
        name: device.name,
        mac: device.mac,
        product: device.productId,
        online,
        alarms: [...alarms.keys()],
      })),
    perform(id, action, rule = '') {
      const state = devices.get(id)
      if (state === undefined) return false
      const { device, alarms } = state
      switch (action) {
        case 'online':
        case 'offline':
          state.online = action === 'online'
          send(device, `is ${action}`, reporter.online(device, state.online))
          return true
        case 'attributes':
          send(
            device,
            'reports attributes',
            reporter.attributes(device, {
              temperature: temperature(!alarms.has('rule-temperature')),
              door: alarms.has('rule-door') ? 'open' : 'closed',
            }),
          )
          return true
        case 'event':
          send(
            device,
            'reports door_forced',
            reporter.event(device, 'door_forced', { door: 1 + randomInt(2), battery: 60 + randomInt(40) }),
          )
          return true
        default:
          return alert(state, action, rule)
      }
    },
    sentMessages: () => sent,
    clear() {
      sent = []
    },
  }
}
