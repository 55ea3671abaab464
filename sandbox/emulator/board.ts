import type { DdqServer, Publication } from './ddq-server.ts'
import { createReporter, DEVICES, type Device, RULES } from './devices.ts'

/** A device as it stands, for whoever looks. */
export interface Standing {
  readonly id: string
  readonly name: string
  readonly mac: string
  readonly product: string
  readonly online: boolean
  /** Identifiers of the rules that it breaks now. */
  readonly alarms: readonly string[]
}

/** What can be made to happen to a device. */
export const ACTS = ['offline', 'online', 'attributes', 'event', 'alarm', 'recover', 'handle'] as const
export type Act = (typeof ACTS)[number]

/** A message that was sent, for whoever watches. */
export interface Sent {
  /** ms since the epoch. */
  readonly at: number
  /** For people: `1144502133 is offline`. */
  readonly title: string
  readonly topic: string
  readonly id: string
  /** The body as it is on the wire, but for the faults. */
  readonly payload: object
  /** How many subscriptions it was for; 0: nobody heard it. */
  readonly receivers: number
}

/** Devices that do what they are told, and the messages that come of it. */
export interface Board {
  standing(): readonly Standing[]
  /** False: no such device or rule. */
  act(device: string, act: Act, rule?: string): boolean
  /** Newest last, at most 200. */
  sent(): readonly Sent[]
  clear(): void
}

export interface BoardOptions {
  readonly corpId: string
  readonly publish: DdqServer['publish']
  /** ms since the epoch. */
  readonly now: () => number
  /** New each time, across restarts too: whoever hears a message knows by it that it came before. */
  readonly messageId: () => string
  /** A whole number from 0 to below `below`. */
  readonly randomInt: (below: number) => number
}

const ALERT_WORDS = { alarm: 'alarm', recover: 'recovered', handle: 'handled by hand' } as const

interface State {
  readonly device: Device
  online: boolean
  /** Rule to when it was broken, and how often since. */
  readonly alarms: Map<string, { readonly startedAt: number; count: number }>
}

export function createBoard(options: BoardOptions): Board {
  const { now, randomInt, publish } = options
  const reporter = createReporter({ corpId: options.corpId, now, id: options.messageId })
  const states = new Map<string, State>(
    DEVICES.map(device => [String(device.id), { device, online: true, alarms: new Map() }]),
  )
  let sent: readonly Sent[] = []

  function send(device: Device, what: string, publication: Publication): void {
    const { topic, id, payload } = publication
    const receivers = publish(publication)
    sent = [
      ...sent,
      { at: now(), title: `${device.id} ${what}`, topic, id: String(id), payload, receivers },
    ].slice(-200)
  }

  /** Colder than -15 °C is well. */
  const temperature = (well: boolean) => (well ? -18 : -11) - randomInt(20) / 10

  function alert(state: State, act: 'alarm' | 'recover' | 'handle', ruleId: string): boolean {
    const rule = RULES.find(({ id }) => id === ruleId)
    if (rule === undefined) return false
    const known = state.alarms.get(rule.id)
    const alarm = known ?? { startedAt: now(), count: 0 }
    if (act === 'alarm') {
      alarm.count += 1
      state.alarms.set(rule.id, alarm)
    } else if (act === 'recover') state.alarms.delete(rule.id)
    const { startedAt, count } = alarm
    const current = rule.id === 'rule-temperature' ? temperature(act === 'recover') : undefined
    send(
      state.device,
      ALERT_WORDS[act],
      reporter.alert(state.device, act !== 'recover', {
        rule,
        startedAt,
        count,
        ...(current === undefined ? {} : { current }),
        handled: act === 'handle',
      }),
    )
    return true
  }

  return {
    standing: () =>
      [...states.values()].map(({ device, online, alarms }) => ({
        id: String(device.id),
        name: device.name,
        mac: device.mac,
        product: device.productId,
        online,
        alarms: [...alarms.keys()],
      })),
    act(id, act, rule = '') {
      const state = states.get(id)
      if (state === undefined) return false
      const { device, alarms } = state
      switch (act) {
        case 'online':
        case 'offline':
          state.online = act === 'online'
          send(device, `is ${act}`, reporter.online(device, state.online))
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
          return alert(state, act, rule)
      }
    },
    sent: () => sent,
    clear() {
      sent = []
    },
  }
}
