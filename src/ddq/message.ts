import { Ajv, type ValidateFunction } from 'ajv'
import { parseExactly } from '../platform/exact-json.ts'
import { type Payload, payloadSchemas } from './schemas.ts'
import { describeShape } from './shape.ts'
import { type KnownTopic, parseTopic } from './topics.ts'

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
  | { [K in KnownTopic]: Received<K, Payload<K>> }[KnownTopic]
  | Received<'unknown', unknown>

/** An object from the stream, parsed. */
export type ParsedMessage =
  | { readonly is: 'message'; readonly message: DdqMessage }
  /** No message: it has no topic. An acknowledgement, a heartbeat, an error. */
  | { readonly is: 'other'; readonly body: unknown }
  /** A message that cannot be used. Its shape says how it looked, its fault what was wrong; neither holds a value. */
  | { readonly is: 'malformed'; readonly topic: string; readonly fault: string; readonly shape: string }

const ajv = new Ajv({ allowUnionTypes: true, strictTypes: false })
const validators = Object.fromEntries(
  Object.entries(payloadSchemas).map(([kind, schema]) => [kind, ajv.compile(schema)]),
) as Record<KnownTopic, ValidateFunction>

/** Whole numbers this long may lose digits; only texts that have one are parsed a second time. */
const LONG = /\d{16}/

/** Reads an object's text. Never throws, whatever it is given. */
export function parseMessage(text: string): ParsedMessage {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { is: 'malformed', topic: '', fault: 'is not JSON', shape: `${text.length} characters` }
  }
  const topic = member(body, 'topic')
  if (topic === undefined) return { is: 'other', body }
  if (typeof topic !== 'string' || topic === '') return malformed('', '/topic must be text', body)
  const { kind, product } = parseTopic(topic)
  const payload = unpackPayload(member(body, 'payload'), JSON.parse)
  if (kind !== 'unknown') {
    const validate = validators[kind]
    if (!validate(payload)) {
      const [error] = validate.errors ?? []
      return malformed(kind, `/payload${error?.instancePath ?? ''} ${error?.message ?? 'is wrong'}`, body)
    }
  }
  // Parsed once more, with every digit: the check above saw rounded numbers.
  const exact = LONG.test(text) ? parseExactly(text) : body
  const message = {
    kind,
    topic,
    id: idOf(member(exact, 'message_id')) ?? idOf(member(exact, 'msgId')),
    product,
    payload: exact === body ? payload : unpackPayload(member(exact, 'payload'), parseExactly),
  } as DdqMessage
  return { is: 'message', message }
}

/** The depth that the splitter allows a message; it does not see the brackets inside a text. */
const MOST_DEPTH = 64

/**
 * A payload may come as JSON text within the JSON. One too deep stays the text that it is: to keep its digits it is read
 * recursively, and a few thousand levels would be more than the stack holds.
 */
function unpackPayload(payload: unknown, parse: (text: string) => unknown): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{') || depthOf(payload) > MOST_DEPTH) return payload
  try {
    return parse(payload)
  } catch {
    return payload
  }
}

/** Counts how deep a JSON text is at most: brackets within strings are counted as well. */
function depthOf(json: string): number {
  let depth = 0
  let deepest = 0
  for (const [bracket] of json.matchAll(/[[\]{}]/g)) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1
    if (depth > deepest) deepest = depth
  }
  return deepest
}

function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : null
}

function member(body: unknown, key: string): unknown {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, key)
    ? Reflect.get(body, key)
    : undefined
}

function malformed(topic: string, fault: string, body: unknown): ParsedMessage {
  return { is: 'malformed', topic, fault, shape: describeShape(body) }
}
