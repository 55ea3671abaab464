import type { Int } from '../platform/exact-json.ts'
import type { KnownTopic } from './topics.ts'

/**
 * DDQ's payloads as this client reads them: what the contract calls required must be there, an identifier may be a
 * number or text, a value a number or text (the contract says one and prints the other), and whatever else a payload
 * has is left in it. The types follow from the schemas; nothing is converted but whole numbers beyond 2^53, which are bigints.
 */

const id = { type: ['string', 'integer'], minLength: 1 } as const
const text = { type: ['string', 'null'] } as const
const optionalId = { type: ['string', 'integer', 'null'] } as const
const value = { type: ['string', 'number', 'boolean', 'null'] } as const
const number = { type: ['string', 'integer', 'null'] } as const

/** What attribute and event reports share. */
const report = {
  version: { type: 'integer' },
  /** ms since the epoch. */
  time: { type: 'integer' },
  /** `tml` */
  type: { type: 'string' },
  event: { type: 'string' },
  /** The device. */
  thing_id: id,
  corp_id: optionalId,
  product_id: optionalId,
  thing_model_group: text,
  thing_model_category: text,
  thing_model_type: text,
} as const
const reported = ['version', 'time', 'type', 'event', 'thing_id'] as const

const fields = {
  type: 'array',
  items: {
    type: 'object',
    required: ['field', 'value'],
    properties: { field: { type: 'string' }, value },
  },
} as const

export const payloadSchemas = {
  'online-state': {
    type: 'object',
    required: ['product_id', 'device_id', 'is_online'],
    properties: {
      product_id: id,
      device_id: id,
      /** A flag whose form the contract leaves open; {@link isOnline} reads it. */
      is_online: { enum: [true, false, 0, 1, '0', '1', 'true', 'false', 'online', 'offline'] },
      corp_id: optionalId,
      /** yyyy-MM-dd'T'HH:mm:ss.SS'Z' */
      create_time: text,
      project_id: optionalId,
    },
  },
  attributes: {
    type: 'object',
    required: [...reported, 'attributes'],
    properties: { ...report, attributes: fields },
  },
  event: {
    type: 'object',
    required: [...reported, 'events'],
    properties: { ...report, events: fields },
  },
  alert: {
    type: 'object',
    required: ['product_id', 'corp_id', 'device', 'alert'],
    properties: {
      product_id: id,
      corp_id: id,
      device: { type: 'object', required: ['id'], properties: { id, mac: text } },
      alert: {
        type: 'object',
        required: ['exception', 'time'],
        properties: {
          /** True when abnormal, false when recovered. */
          exception: { type: 'boolean' },
          /** yyyy-MM-dd'T'HH:mm:ss.SSS'Z' */
          time: { type: 'string' },
          rules: {
            type: ['array', 'null'],
            items: {
              type: 'object',
              properties: {
                id: optionalId,
                /** 1 alarm, 2 recovered, 3 manually handled. */
                status: number,
                /** 1 notification, 2 alarm. */
                notify: number,
                current: value,
                /** Accumulated abnormal count. */
                count: number,
                new_time: text,
                start_time: text,
                recover_time: text,
                processed_time: text,
                exception_describe: text,
                notification_content: text,
              },
            },
          },
        },
      },
    },
  },
} as const satisfies Readonly<Record<KnownTopic, object>>

interface Scalars {
  readonly string: string
  readonly integer: Int
  readonly number: Int
  readonly boolean: boolean
  readonly null: null
}

/** The type of what a schema takes. */
type TypeOf<S> = S extends { readonly enum: readonly (infer V)[] }
  ? V
  : S extends { readonly type: infer T }
    ? TypeBy<T extends readonly (infer Each)[] ? Each : T, S>
    : never
type TypeBy<T, S> = T extends keyof Scalars
  ? Scalars[T]
  : S extends { readonly items: infer Item }
    ? readonly TypeOf<Item>[]
    : S extends { readonly properties: infer P }
      ? ObjectOf<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
      : never
type ObjectOf<P, Required> = { readonly [K in keyof P as Extract<K, Required>]: TypeOf<P[K]> } & {
  readonly [K in keyof P as Exclude<K, Required>]?: TypeOf<P[K]>
} & { readonly [more: string]: unknown }

export type Payload<K extends KnownTopic> = TypeOf<(typeof payloadSchemas)[K]>

/** The online flag, in whichever form it came. */
export function isOnline({ is_online: flag }: Pick<Payload<'online-state'>, 'is_online'>): boolean {
  return flag === true || ['1', 'true', 'online'].includes(String(flag))
}
