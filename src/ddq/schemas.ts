import type { Int } from '../platform/exact-json.ts'

/**
 * DDQ's payloads as this client reads them: what the contract calls required must be there, an identifier may be a
 * number or text, a value a number or text (the contract says one and prints the other), and whatever else a payload
 * has is left in it. Types and schemas are written side by side; nothing is converted but whole numbers beyond 2^53,
 * which are bigints.
 */

export type Id = Int | string
export type Value = number | bigint | string | boolean | null

/** Topic `/device-biz/state/product`. */
export interface OnlineState {
  readonly product_id: Id
  readonly device_id: Id
  /** A flag whose form the contract leaves open; {@link isOnline} reads it. */
  readonly is_online: boolean | number | string
  readonly corp_id?: Id | null
  /** yyyy-MM-dd'T'HH:mm:ss.SS'Z' */
  readonly create_time?: string | null
  readonly project_id?: Id | null
  readonly [more: string]: unknown
}

/** The fields that attribute and event reports share. */
export interface Report {
  readonly version: Int
  /** ms since the epoch. */
  readonly time: Int
  /** `tml` */
  readonly type: string
  readonly event: string
  /** The device. */
  readonly thing_id: Id
  readonly corp_id?: Id | null
  readonly product_id?: Id | null
  readonly thing_model_group?: string | null
  readonly thing_model_category?: string | null
  readonly thing_model_type?: string | null
  readonly [more: string]: unknown
}

export interface ReportedField {
  readonly field: string
  readonly value: Value
  readonly [more: string]: unknown
}

/** Topic `thing/event/{product_id}/device_attribute_sync_event`. */
export interface AttributeReport extends Report {
  readonly attributes: readonly ReportedField[]
}

/** Topic `thing/event/{product_id}/event_report`. */
export interface EventReport extends Report {
  readonly events: readonly ReportedField[]
}

export interface AlertRule {
  readonly id?: Id | null
  /** 1 alarm, 2 recovered, 3 manually handled. */
  readonly status?: Int | string | null
  /** 1 notification, 2 alarm. */
  readonly notify?: Int | string | null
  readonly current?: Value
  /** Accumulated abnormal count. */
  readonly count?: Int | string | null
  readonly new_time?: string | null
  readonly start_time?: string | null
  readonly recover_time?: string | null
  readonly processed_time?: string | null
  readonly exception_describe?: string | null
  readonly notification_content?: string | null
  readonly [more: string]: unknown
}

/** Topic `/device/alert/product/{product_id}`. */
export interface DeviceAlert {
  readonly product_id: Id
  readonly corp_id: Id
  readonly device: { readonly id: Id; readonly mac?: string | null; readonly [more: string]: unknown }
  readonly alert: {
    /** True when abnormal, false when recovered. */
    readonly exception: boolean
    /** yyyy-MM-dd'T'HH:mm:ss.SSS'Z' */
    readonly time: string
    readonly rules?: readonly AlertRule[] | null
    readonly [more: string]: unknown
  }
  readonly [more: string]: unknown
}

const id = { type: ['string', 'integer'], minLength: 1 } as const
const text = { type: ['string', 'null'] } as const
const optionalId = { type: ['string', 'integer', 'null'] } as const
const value = { type: ['string', 'number', 'boolean', 'null'] } as const
const number = { type: ['string', 'integer', 'null'] } as const

const report = {
  version: { type: 'integer' },
  time: { type: 'integer' },
  type: { type: 'string' },
  event: { type: 'string' },
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
      is_online: { enum: [true, false, 0, 1, '0', '1', 'true', 'false', 'online', 'offline'] },
      corp_id: optionalId,
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
          exception: { type: 'boolean' },
          time: { type: 'string' },
          rules: {
            type: ['array', 'null'],
            items: {
              type: 'object',
              properties: {
                id: optionalId,
                status: number,
                notify: number,
                current: value,
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
} as const

/** The online flag, in whichever form it came. */
export function isOnline({ is_online: flag }: OnlineState): boolean {
  return flag === true || ['1', 'true', 'online'].includes(String(flag))
}
