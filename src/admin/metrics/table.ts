import { ADMIN_REFUSALS, type EventOf, type EventType } from '../../events/events.ts'
import { messageKinds, PLAIN_KIND } from '../../messages/kinds.ts'
import type { NewMessage } from '../../messages/message.ts'
import { quotasOf } from '../../messages/quotas.ts'
import { FAULT_VERDICTS, FINAL_STATES } from '../../outbox/outbox.ts'
import { RECEIPT_STATUSES } from '../../outbox/receipt-order.ts'

/** The values of the label `is` in `twins_total`, and in the log line that goes with it. */
export const DUPLICATE_LABELS = { 'in-progress': 'joined', finished: 'repeated' } as const

export type Labels = Readonly<Record<string, string>>
/** The sample that each event gives to a metric; null: none. */
type Feed<Sample> = {
  readonly [T in EventType]?: (event: EventOf<T>, bounded: (value: string) => string) => Sample | null
}

interface Metric {
  /** Without `callback_courier_`. */
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  /**
   * The label sets that are there from the start, at 0: Prometheus sees no increase in a series that begins with its
   * first event. Where `provider` is a label they are there for each provider that reports. Absent where labels hold what servers say, or where there are over a thousand sets: no alert rule
   * may ask for the increase of those.
   */
  readonly initial?: readonly Labels[]
}
/** Counts one for each event that gives labels, or as much as it says. */
export interface CounterRow extends Metric {
  readonly count: Feed<Labels | readonly [Labels, number]>
}
/** Observes the value that an event gives. */
export interface HistogramRow extends Metric {
  readonly buckets: readonly number[]
  readonly observe: Feed<readonly [Labels, number]>
}

export const CHANNELS = ['email', 'sms'] as const
const METHODS = ['GET', 'POST'] as const
const KINDS: readonly Labels[] = [
  ...messageKinds.map(({ channel, name }) => ({ channel, kind: name })),
  ...CHANNELS.map(channel => ({ channel, kind: PLAIN_KIND })),
]
const isOfDevice = (kind = '') => kind.startsWith('device-')
const DEVICE_KINDS = KINDS.filter(({ kind }) => isOfDevice(kind))

/** Every combination of the values of these labels. */
function combine(values: Readonly<Record<string, readonly string[]>>): readonly Labels[] {
  return Object.entries(values).reduce<readonly Labels[]>(
    (sets, [label, each]) => extend(sets, label, each),
    [{}],
  )
}

/** Each of the sets with each value of one more label. */
export function extend(sets: readonly Labels[], label: string, values: readonly string[]): readonly Labels[] {
  return sets.flatMap(set => values.map(value => ({ ...set, [label]: value })))
}

/** The labels of a device alert; null: it is another message. */
function ofDevice({ channel, kind }: Pick<NewMessage, 'channel' | 'kind'>, result: string): Labels | null {
  return isOfDevice(kind) ? { channel, kind, result } : null
}

/** Metrics that events feed. Times are in seconds, by Prometheus' conventions; those of events are in ms. */
export const COUNTERS: readonly CounterRow[] = [
  {
    name: 'callbacks_total',
    help: 'Callbacks by what they were answered.',
    labels: ['channel', 'method', 'kind', 'err_code'],
    count: {
      callback: ({ channel, method, kind, answer }) => ({
        channel,
        method,
        kind,
        err_code: String(answer.err_code),
      }),
      overloaded: ({ channel, answer, times }) => [
        { channel, method: 'POST', kind: 'none', err_code: String(answer.err_code) },
        times,
      ],
    },
  },
  {
    name: 'gate_refusals_total',
    help: 'Callers that were not let in, by reason.',
    labels: ['channel', 'method', 'reason'],
    initial: combine({
      channel: CHANNELS,
      method: METHODS,
      reason: ['corp', 'source', 'key', 'signature', 'stale'],
    }),
    count: {
      callback: ({ channel, method, refusal }) =>
        refusal === null ? null : { channel, method, reason: refusal },
    },
  },
  {
    name: 'post_signatures_total',
    help: 'POSTs by whether they came signed.',
    labels: ['channel', 'signature'],
    initial: combine({ channel: CHANNELS, signature: ['right', 'stale', 'wrong', 'absent'] }),
    count: {
      callback: ({ channel, method, refusal, signature }) =>
        refusal === null && method === 'POST' ? { channel, signature } : null,
    },
  },
  {
    name: 'strays_total',
    help: 'Requests for what is not here.',
    labels: ['err_code'],
    count: { 'stray-request': ({ answer }) => ({ err_code: String(answer.err_code) }) },
  },
  {
    name: 'attempts_total',
    help: 'Attempts by outcome and reason.',
    labels: ['channel', 'provider', 'outcome', 'reason'],
    count: {
      attempt: ({ message, provider, outcome }, bounded) => ({
        channel: message.channel,
        provider,
        outcome: outcome.is,
        reason: outcome.is === 'sent' ? '' : bounded(outcome.code),
      }),
    },
  },
  {
    name: 'messages_total',
    help: 'Messages by their final state.',
    labels: ['channel', 'kind', 'state'],
    initial: extend(KINDS, 'state', FINAL_STATES),
    count: { final: ({ channel, kind, state }) => ({ channel, kind, state }) },
  },
  {
    name: 'unreadable_total',
    help: 'Messages that ended because what is stored of them was damaged or exchanged.',
    labels: ['channel'],
    initial: combine({ channel: CHANNELS }),
    count: { unreadable: ({ channel }) => ({ channel }) },
  },
  {
    name: 'twins_total',
    help: 'Messages that were the same as one before, and not sent again.',
    labels: ['channel', 'is'],
    initial: combine({ channel: CHANNELS, is: Object.values(DUPLICATE_LABELS) }),
    count: { duplicate: ({ channel, is }) => ({ channel, is: DUPLICATE_LABELS[is] }) },
  },
  {
    name: 'over_quota_total',
    help: 'Messages and device alerts that a quota held back.',
    labels: ['channel', 'quota'],
    initial: CHANNELS.flatMap(channel => combine({ channel: [channel], quota: quotasOf(channel) })),
    count: { 'over-quota': ({ channel, quota }) => ({ channel, quota }) },
  },
  {
    name: 'near_quota_total',
    help: 'Messages beyond half of a brake for a whole channel.',
    labels: ['channel', 'quota'],
    initial: CHANNELS.flatMap(channel =>
      combine({ channel: [channel], quota: quotasOf(channel, 'channel') }),
    ),
    count: { 'near-quota': ({ channel, quota }) => ({ channel, quota }) },
  },
  {
    name: 'newcomers_total',
    help: 'SMS to numbers to which nothing was delivered on an earlier day, by calling code.',
    labels: ['calling_code'],
    count: { newcomer: ({ callingCode }) => ({ calling_code: callingCode }) },
  },
  {
    name: 'faults_total',
    help: 'Unexpected faults: bugs.',
    labels: ['where'],
    initial: combine({ where: ['callback', 'render'] }),
    count: { fault: () => ({ where: 'callback' }), unrenderable: () => ({ where: 'render' }) },
  },
  {
    name: 'store_failures_total',
    help: 'Times the store could not take something.',
    labels: ['doing'],
    initial: combine({ doing: ['accept', 'claim', 'begin', 'settle', 'alerts', 'webhooks'] }),
    count: { 'store-failed': ({ doing }) => ({ doing }) },
  },
  {
    name: 'receipts_total',
    help: 'Delivery reports by status, whose fault it is that the message did not arrive, and what became of them.',
    labels: ['provider', 'class', 'status', 'result'],
    initial: [
      ...combine({ status: RECEIPT_STATUSES, class: ['none'], result: ['recorded', 'stale', 'unknown'] }),
      ...combine({ status: ['undelivered', 'failed'], class: FAULT_VERDICTS, result: ['recorded'] }),
      { status: 'none', class: 'none', result: 'forged' },
    ],
    count: {
      receipt: ({ provider, status, fault, result }) => ({
        provider,
        class: fault?.verdict ?? 'none',
        status: result === 'forged' ? 'none' : status,
        result,
      }),
    },
  },
  {
    name: 'robot_posts_total',
    help: 'Posts of alarms to groups, by robot and outcome.',
    labels: ['robot', 'outcome'],
    count: { 'robot-posted': ({ robot, outcome }) => ({ robot, outcome: outcome.is }) },
  },
  {
    name: 'admin_refusals_total',
    help: 'Requests to the private listener that were not let in.',
    labels: ['reason'],
    initial: combine({ reason: ADMIN_REFUSALS }),
    count: { 'admin-refused': ({ reason }) => ({ reason }) },
  },
  {
    name: 'ddq_messages_total',
    help: 'Messages of the data subscription, by topic.',
    labels: ['topic'],
    count: { 'ddq-message': ({ topic }) => ({ topic }) },
  },
  {
    name: 'ddq_malformed_total',
    help: 'Received bytes and messages that cannot be used, by topic.',
    labels: ['topic'],
    count: { 'ddq-malformed': ({ topic }) => ({ topic: topic === '' ? 'none' : topic }) },
  },
  {
    name: 'ddq_ends_total',
    help: 'Connections to the data subscription that ended, by why.',
    labels: ['why'],
    count: { 'ddq-ended': ({ is }) => ({ why: is }) },
  },
  {
    name: 'alerts_total',
    help: 'Device alerts by what became of them: told, or why not.',
    labels: ['channel', 'kind', 'result'],
    initial: extend(DEVICE_KINDS, 'result', [
      'told',
      'quiet',
      'not-alarmed',
      'outdated',
      'repeated',
      'bounced',
      'held',
      'over-quota',
      'unrenderable',
    ]),
    count: {
      'alert-sent': ({ channel, kind }) => ({ channel, kind, result: 'told' }),
      'alert-suppressed': ({ channel, kind, why }) => ({ channel, kind, result: why }),
      'over-quota': message => ofDevice(message, 'over-quota'),
      unrenderable: message => ofDevice(message, 'unrenderable'),
    },
  },
  {
    name: 'event_posts_total',
    help: 'POSTs of events to EVENTS_URL by what became of them.',
    labels: ['result'],
    initial: combine({ result: ['delivered', 'failed', 'gone'] }),
    count: { 'webhooks-posted': ({ result }) => ({ result }) },
  },
  {
    name: 'events_dropped_total',
    help: 'Events that were dropped untold: they had waited too long, or beyond EVENTS_MAX_WAITING.',
    labels: [],
    initial: [{}],
    count: { 'webhooks-dropped': ({ count }) => [{}, count] },
  },
]

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5, 5, 10, 30, 60, 300]

export const HISTOGRAMS: readonly HistogramRow[] = [
  {
    name: 'answer_seconds',
    help: 'Time from a callback’s head to its answer, without those refused for being too many.',
    labels: ['channel', 'method'],
    initial: combine({ channel: CHANNELS, method: METHODS }),
    buckets: SECONDS,
    observe: { callback: ({ channel, method, tookMs }) => [{ channel, method }, tookMs / 1000] },
  },
  {
    name: 'acceptance_seconds',
    help: 'Time from a message’s arrival to its provider’s acceptance.',
    labels: ['channel'],
    initial: combine({ channel: CHANNELS }),
    buckets: SECONDS,
    observe: {
      final: ({ channel, state, tookMs }) =>
        state === 'sent' && tookMs !== undefined ? [{ channel }, tookMs / 1000] : null,
    },
  },
  {
    name: 'delivered_seconds',
    help: 'From the callback to the report that the SMS was delivered. Countries beyond the ten busiest of a provider are other.',
    labels: ['provider', 'country'],
    buckets: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800],
    observe: {
      delivered: ({ provider, country, tookMs }) => [{ provider, country }, tookMs / 1000],
    },
  },
  {
    name: 'attempt_seconds',
    help: 'How long an attempt took.',
    labels: ['provider', 'outcome'],
    buckets: SECONDS,
    observe: {
      attempt: ({ provider, outcome, tookMs }) => [{ provider, outcome: outcome.is }, tookMs / 1000],
    },
  },
  {
    name: 'store_commit_seconds',
    help: 'How long the store took to commit.',
    labels: [],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    observe: { 'store-commit': ({ ms }) => [{}, ms / 1000] },
  },
  {
    name: 'store_commit_calls',
    help: 'How many calls shared a commit.',
    labels: [],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    observe: { 'store-commit': ({ calls }) => [{}, calls] },
  },
]
