import { confineName } from '../messages/characters.ts'
import { defuseLinks } from '../messages/links.ts'
import { type DdqMessage, isOnline } from './message.ts'

/** The topic of DDQ that an alert comes from, in the alert table's words. */
export type Source = 'state' | 'event' | 'alert'
export const SOURCES: readonly Source[] = ['state', 'event', 'alert']

/** Names of the kinds whose words say it. */
export type AlertKind =
  | 'device-offline'
  | 'device-online'
  | 'device-event'
  | 'device-alert'
  | 'device-recovered'

interface Happening {
  readonly source: Source
  readonly is: 'alarm' | 'recovery'
  /** It says whether a recovery can follow: a device comes back, a rule is met no more; an event is over as it happens. */
  readonly canRecover: boolean
  /** The time at which it happened, ms since the epoch; null when the message does not say. */
  readonly at: number | null
  readonly kind: AlertKind
}

/** Something that happened to a device, of which somebody may be notified. */
export interface Occurrence extends Happening {
  readonly product: string
  readonly device: string
  /** The rule, or the event's name; empty for the connection. Alarms are limited per device and rule. */
  readonly rule: string
  /** The same for the same message, however often it comes. */
  readonly identity: readonly string[]
  /** The words print these, as text. */
  readonly params: Readonly<Record<string, string>>
}

/** Length at which names and descriptions are cut. */
const MAX_CHARACTERS = 300
/** Rules that one message may report; each can become a message to each recipient of its row. */
const MOST_RULES = 100
/** Statuses of a rule; a handled one was dealt with by hand. */
const RECOVERED = '2'
const HANDLED = '3'

/**
 * The occurrences that a message of DDQ reports. One alert message may be about several rules, each of which is an
 * occurrence of its own. A rule that was handled by hand is neither an alarm nor a recovery: whoever got the alarm gets
 * the recovery when it is over. Attribute reports say nothing about right or wrong; unknown topics cannot be read.
 */
export function occurrencesOf(message: DdqMessage): readonly Occurrence[] {
  switch (message.kind) {
    case 'online-state':
      return [fromOnlineState(message)]
    case 'event':
      return [fromEvent(message)]
    case 'alert':
      return fromAlert(message)
    default:
      return []
  }
}

type Of<K extends DdqMessage['kind']> = Extract<DdqMessage, { readonly kind: K }>

function fromOnlineState(message: Of<'online-state'>): Occurrence {
  const { product_id: product, device_id: device, create_time: at, project_id: project } = message.payload
  const online = isOnline(message.payload.is_online)
  return toOccurrence(message, {
    source: 'state',
    product,
    device,
    rule: '',
    is: online ? 'recovery' : 'alarm',
    canRecover: true,
    at: parseTime(at),
    kind: online ? 'device-online' : 'device-offline',
    params: { project, time: formatTime(at) },
  })
}

function fromEvent(message: Of<'event'>): Occurrence {
  const { payload } = message
  const at = Number(payload.time)
  return toOccurrence(message, {
    source: 'event',
    product: payload.product_id ?? message.product,
    device: payload.thing_id,
    rule: payload.event,
    is: 'alarm',
    canRecover: false,
    at,
    kind: 'device-event',
    params: {
      event: payload.event,
      values: payload.events.map(({ field, value }) => `${field}: ${value ?? '-'}`).join(', '),
      time: formatUtc(at),
    },
  })
}

function fromAlert(message: Of<'alert'>): readonly Occurrence[] {
  const { device, alert, product_id: product } = message.payload
  const rules = alert.rules?.length ? alert.rules.slice(0, MOST_RULES) : [undefined]
  return rules.flatMap(rule => {
    const status = oneLine(rule?.status)
    if (status === HANDLED) return []
    const recovered = status === '' ? !alert.exception : status === RECOVERED
    const since = rule?.start_time
    return toOccurrence(message, {
      source: 'alert',
      product,
      device: device.id,
      rule: rule?.id ?? rule?.exception_describe,
      is: recovered ? 'recovery' : 'alarm',
      canRecover: true,
      at: parseTime(alert.time),
      kind: recovered ? 'device-recovered' : 'device-alert',
      params: {
        mac: device.mac,
        rule: rule?.id,
        condition: rule?.exception_describe,
        content: rule?.notification_content,
        current: rule?.current,
        count: rule?.count,
        time: formatTime(recovered ? (rule?.recover_time ?? alert.time) : alert.time),
        since: since === alert.time ? undefined : formatTime(since),
      },
    })
  })
}

/** An occurrence as its message tells it: whatever is text there is not one line yet. */
interface Told extends Happening, Readonly<Record<'product' | 'device' | 'rule', unknown>> {
  readonly params: Readonly<Record<string, unknown>>
}

/** Makes an occurrence with its identity. Two messages without an id are the same when they say the same. */
function toOccurrence({ id }: DdqMessage, told: Told): Occurrence {
  const [product, device, rule] = [oneLine(told.product), oneLine(told.device), oneLine(told.rule)]
  const params = presentParams({ device, product, ...told.params })
  const { source, is, at } = told
  const named =
    id === null ? ['', product, device, String(at), ...Object.entries(params).flat()] : [id, device]
  return { ...told, product, device, rule, params, identity: [source, is, rule, ...named] }
}

/** Parameters for the words: those that are there, as text in which nothing can be clicked. */
function presentParams(given: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given)
      .map(([name, value]) => [name, defuseLinks(confineName(oneLine(value)))] as const)
      .filter(([, value]) => value !== ''),
  )
}

/** A value on one line, without characters that control or reorder what stands around it. */
function oneLine(value: unknown): string {
  if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return ''
  const line = String(value)
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim()
  const characters = Array.from(line)
  return characters.length <= MAX_CHARACTERS ? line : `${characters.slice(0, MAX_CHARACTERS - 1).join('')}…`
}

/** yyyy-MM-dd'T'HH:mm:ss, any digits of the second, Z: UTC, as ISO 8601 has it. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

function parseTime(text: string | null | undefined): number | null {
  if (typeof text !== 'string' || !TIME.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** A time for people; one in another layout as it came. */
function formatTime(text: string | null | undefined): string | undefined {
  if (typeof text !== 'string') return undefined
  const at = parseTime(text)
  return at === null ? text : formatUtc(at)
}

/** `2026-11-20 14:32:05 UTC` */
function formatUtc(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
