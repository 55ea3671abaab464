import type { Int } from '../../src/platform/exact-json.ts'
import type { Publication } from './ddq-broker.ts'

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
