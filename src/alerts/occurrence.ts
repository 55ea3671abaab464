import type { DdqMessage } from '../ddq/message.ts'
import { type AlertRule, type Field, isOnline, type Value } from '../ddq/schemas.ts'

/** Which of DDQ's topics an alert comes from, as the alert table calls it. */
export type Source = 'state' | 'event' | 'alert'
export const SOURCES: readonly Source[] = ['state', 'event', 'alert']

/** Names of the kinds whose words say it. */
export type AlertKind =
  | 'device-offline'
  | 'device-online'
  | 'device-event'
  | 'device-alert'
  | 'device-recovered'

/** Something that happened to a device, as far as somebody may be told of it. */
export interface Occurrence {
  readonly source: Source
  readonly product: string
  readonly device: string
  /** What is told at most once in a while: the rule, or the event's name; empty where there is only one thing. */
  readonly rule: string
  readonly is: 'alarm' | 'recovery'
  /** Whether a recovery can follow: a device comes back, a rule is met no more; an event is over as it happens. */
  readonly canRecover: boolean
  /** When it happened, ms since the epoch; null when the message does not say. */
  readonly at: number | null
  /** The same for the same message, however often it comes. */
  readonly identity: readonly string[]
  readonly kind: AlertKind
  /** For the words, as text. */
  readonly params: Readonly<Record<string, string>>
}

/** A name or a description; longer ones are cut. */
const MOST_CHARACTERS = 300
/** Status 3 of a rule: somebody dealt with it. */
const HANDLED = '3'
const RECOVERED = '2'

/**
 * What a message of DDQ says happened. One alert message may be about several rules, each of which is a thing of its
 * own. A rule that was handled by hand is neither an alarm nor a recovery: whoever got the alarm hears when it is over.
 * Attribute reports are not about anything going wrong, and unknown topics about nothing that is known.
 */
export function occurrencesOf(message: DdqMessage): readonly Occurrence[] {
  switch (message.kind) {
    case 'online-state':
      return [stateOf(message)]
    case 'event':
      return [eventOf(message)]
    case 'alert':
      return alertsOf(message)
    default:
      return []
  }
}

type Of<K extends DdqMessage['kind']> = Extract<DdqMessage, { readonly kind: K }>

function stateOf(message: Of<'online-state'>): Occurrence {
  const { payload } = message
  const online = isOnline(payload)
  const [product, device] = [textOf(payload.product_id), textOf(payload.device_id)]
  return occurrence(message, {
    source: 'state',
    product,
    device,
    rule: '',
    is: online ? 'recovery' : 'alarm',
    canRecover: true,
    at: momentOf(payload.create_time),
    kind: online ? 'device-online' : 'device-offline',
    params: params({ device, product, project: payload.project_id, time: shown(payload.create_time) }),
  })
}

function eventOf(message: Of<'event'>): Occurrence {
  const { payload } = message
  const product = textOf(payload.product_id ?? message.product)
  const device = textOf(payload.thing_id)
  const event = textOf(payload.event)
  const at = Number(payload.time)
  return occurrence(message, {
    source: 'event',
    product,
    device,
    rule: event,
    is: 'alarm',
    canRecover: false,
    at,
    kind: 'device-event',
    params: params({ device, product, event, values: valuesOf(payload.events), time: inUtc(at) }),
  })
}

function alertsOf(message: Of<'alert'>): readonly Occurrence[] {
  const { device: about, alert, product_id } = message.payload
  const [product, device] = [textOf(product_id), textOf(about.id)]
  const rules: readonly (AlertRule | undefined)[] = alert.rules?.length ? alert.rules : [undefined]
  return rules.flatMap(rule => {
    const status = textOf(rule?.status)
    if (status === HANDLED) return []
    const recovered = status === '' ? !alert.exception : status === RECOVERED
    const since = rule?.start_time
    return occurrence(message, {
      source: 'alert',
      product,
      device,
      rule: textOf(rule?.id ?? rule?.exception_describe),
      is: recovered ? 'recovery' : 'alarm',
      canRecover: true,
      at: momentOf(alert.time),
      kind: recovered ? 'device-recovered' : 'device-alert',
      params: params({
        device,
        product,
        mac: about.mac,
        rule: rule?.id,
        condition: rule?.exception_describe,
        content: rule?.notification_content,
        current: rule?.current,
        count: rule?.count,
        time: shown(recovered ? (rule?.recover_time ?? alert.time) : alert.time),
        since: since === alert.time ? undefined : shown(since),
      }),
    })
  })
}

/** Without an id of the platform's, a message is the same as one that says the same. */
function occurrence(message: DdqMessage, made: Omit<Occurrence, 'identity'>): Occurrence {
  const { source, product, device, rule, is, at } = made
  const named =
    message.id === null
      ? ['', product, device, String(at), ...Object.entries(made.params).flat()]
      : [message.id, device]
  return { ...made, identity: [source, is, rule, ...named] }
}

/** What the words may mention, without what is not there. */
function params(given: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given)
      .map(([name, value]) => [name, textOf(value)] as const)
      .filter(([, value]) => value !== ''),
  )
}

/** A value on one line, without characters that control or reorder what stands around it. */
function textOf(value: unknown): string {
  if (
    typeof value !== 'string' &&
    typeof value !== 'number' &&
    typeof value !== 'bigint' &&
    typeof value !== 'boolean'
  )
    return ''
  const line = String(value)
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim()
  const characters = Array.from(line)
  return characters.length <= MOST_CHARACTERS ? line : `${characters.slice(0, MOST_CHARACTERS - 1).join('')}…`
}

function valuesOf(fields: readonly Field[]): string {
  return fields.map(({ field, value }) => `${field}: ${valueOf(value)}`).join(', ')
}

function valueOf(value: Value): string {
  return value === null ? '-' : String(value)
}

/** yyyy-MM-dd'T'HH:mm:ss, any digits of the second, Z: UTC, as ISO 8601 has it. */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

function momentOf(text: string | null | undefined): number | null {
  if (typeof text !== 'string' || !MOMENT.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** A moment for people; one in another layout as it came. */
function shown(text: string | null | undefined): string | undefined {
  if (typeof text !== 'string') return undefined
  const at = momentOf(text)
  return at === null ? text : inUtc(at)
}

/** `2026-11-20 14:32:05 UTC` */
function inUtc(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
