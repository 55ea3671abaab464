import { Ajv, type ValidateFunction } from 'ajv'
import { type Sentence, say } from '../language/sentence.ts'
import { type Int, parseExactly } from '../runtime/exact-json.ts'
import { filledTextOf, isObject, type JsonObject, objectOf } from '../runtime/json-object.ts'
import { tellSchemaFault } from '../runtime/yaml-text.ts'
import { BrokenStream, createSplitter } from './splitter.ts'

/** The subject of a topic; `unknown` for one that the contract does not have. */
export type TopicKind = 'online-state' | 'attributes' | 'event' | 'alert' | 'unknown'
export type KnownTopic = Exclude<TopicKind, 'unknown'>

/** The contract's topics. Some begin with a slash there and some do not; they are written as they are printed. */
const TOPICS: Readonly<Record<KnownTopic, string>> = {
  'online-state': '/device-biz/state/product',
  attributes: 'thing/event/{product_id}/device_attribute_sync_event',
  event: 'thing/event/{product_id}/event_report',
  alert: '/device/alert/product/{product_id}',
}

const PATTERNS = (Object.entries(TOPICS) as [KnownTopic, string][]).map(
  ([kind, topic]) =>
    [kind, new RegExp(`^/?${topic.replace(/^\//, '').replace('{product_id}', '([^/]+)')}$`)] as const,
)

/** The subject of a received topic, and its product when it names one. A leading slash makes no difference. */
export function parseTopic(topic: string): { readonly kind: TopicKind; readonly product: string | null } {
  for (const [kind, pattern] of PATTERNS) {
    const match = pattern.exec(topic)
    if (match !== null) return { kind, product: match[1] ?? null }
  }
  return { kind: 'unknown', product: null }
}

/**
 * The topic to subscribe to.
 * @param product a product's identifier, or what stands for any product.
 */
export function topicFor(kind: KnownTopic, product: string): string {
  return TOPICS[kind].replace('{product_id}', product)
}

/**
 * DDQ's payloads as this client reads them: what the contract calls required must be there, an identifier may be a
 * number or text, a value a number or text (the contract says one and prints the other), and whatever else a payload
 * has is left in it, unread. The types follow from the schemas; nothing is converted but whole numbers beyond 2^53, which are bigints.
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
  product_id: optionalId,
} as const
const reported = ['version', 'time', 'type', 'event', 'thing_id'] as const

const fields = {
  type: 'array',
  items: { type: 'object', required: ['field', 'value'], properties: { field: { type: 'string' }, value } },
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
  event: { type: 'object', required: [...reported, 'events'], properties: { ...report, events: fields } },
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
          /** It is true when abnormal, false when recovered. */
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
                current: value,
                /** Accumulated abnormal count. */
                count: number,
                start_time: text,
                recover_time: text,
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

export type TopicPayload<K extends KnownTopic> = TypeOf<(typeof payloadSchemas)[K]>

/** The online flag, in whichever form it came. */
export function isOnline(flag: TopicPayload<'online-state'>['is_online']): boolean {
  return flag === true || ['1', 'true', 'online'].includes(String(flag))
}

/** A shape is cut at so many characters. */
const LONGEST_SHAPE = 500

/**
 * The form of a value without what is in it, for logs: `{"topic":"string","payload":{"device":{"id":null}}}`, of a list its first
 * item. Keys that are no plain names are not repeated, since they may be data, too.
 */
function describeShape(value: unknown): string {
  const shape = JSON.stringify(value, (_key, each: unknown) => {
    if (Array.isArray(each)) return each.slice(0, 1) as readonly unknown[]
    if (!isObject(each)) return each === null ? null : typeof each
    const names = Object.entries(each).map(([name, of]) => [
      /^[A-Za-z_]\w{0,31}$/.test(name) ? name : '?',
      of,
    ])
    return Object.fromEntries(names) as JsonObject
  })
  return shape.length > LONGEST_SHAPE ? `${shape.slice(0, LONGEST_SHAPE)}…` : shape
}

interface Received<K, P> {
  readonly kind: K
  readonly topic: string
  /** `message_id`, or `msgId`, which the contract's receiving sample reads; null when there is neither. */
  readonly id: string | null
  /** The product that the topic names. */
  readonly product: string | null
  readonly payload: P
}

/** A message of DDQ. One of an unknown topic is passed on as it is, as are unknown fields. */
export type DdqMessage =
  | { [K in KnownTopic]: Received<K, TopicPayload<K>> }[KnownTopic]
  | Received<'unknown', unknown>

/** An object from the stream, parsed. */
export type ParsedMessage =
  | { readonly is: 'message'; readonly message: DdqMessage }
  /** No message: it has no topic. An acknowledgement, a heartbeat, an error. */
  | { readonly is: 'other'; readonly body: unknown }
  /** A message that cannot be used. Its shape says how it looked, its fault what was wrong; neither holds a value. */
  | { readonly is: 'malformed'; readonly topic: string; readonly fault: Sentence; readonly shape: string }

const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false, validateSchema: false })
const validators = Object.fromEntries(
  Object.entries(payloadSchemas).map(([kind, schema]) => [kind, ajv.compile(schema)]),
) as Record<KnownTopic, ValidateFunction>

/** Whole numbers this long may lose digits; only texts that have one are parsed a second time. */
const LONG = /\d{16}/

/**
 * Reads an object's text.
 * @throws BrokenStream for what is not JSON: its brackets may have been miscounted.
 */
export function parseMessage(text: string): ParsedMessage {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new BrokenStream('an object that is not JSON')
  }
  const given = objectOf(body)
  const topic = given?.['topic']
  if (topic === undefined) return { is: 'other', body }
  if (typeof topic !== 'string' || topic === '') return malformed('', say('/topic must be text'), body)
  const { kind, product } = parseTopic(topic)
  const payload = unpackPayload(given?.['payload'], JSON.parse)
  if (kind !== 'unknown') {
    const validate = validators[kind]
    if (!validate(payload)) {
      const [error] = validate.errors ?? []
      const path = `/payload${error?.instancePath ?? ''}`
      return malformed(kind, say('{path} {problem}', { path, problem: tellSchemaFault(error) }), body)
    }
  }
  // Parsed once more, with every digit: the check above saw rounded numbers.
  const exact = LONG.test(text) ? objectOf(parseExactly(text)) : given
  const message = {
    kind,
    topic,
    id: filledTextOf(exact?.['message_id']) ?? filledTextOf(exact?.['msgId']) ?? null,
    product,
    payload: exact === given ? payload : unpackPayload(exact?.['payload'], parseExactly),
  } as DdqMessage
  return { is: 'message', message }
}

/**
 * A payload may come as JSON text within the JSON. One that is too deep for the splitter stays the text that it is: to keep its digits it
 * is read recursively, and a few thousand levels would be more than the stack holds.
 */
function unpackPayload(payload: unknown, parse: (text: string) => unknown): unknown {
  if (typeof payload !== 'string') return payload
  try {
    const objects = [...createSplitter(Date.now).push(Buffer.from(payload))]
    return objects.length === 1 ? parse(payload) : payload
  } catch {
    return payload
  }
}

function malformed(topic: string, fault: Sentence, body: unknown): ParsedMessage {
  return { is: 'malformed', topic, fault, shape: describeShape(body) }
}
