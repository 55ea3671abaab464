import type { EventHandlers, EventOf } from '../../events/events.ts'
import type { SampleTrace } from './sampler.ts'
import type { Span } from './span.ts'
import { parseTraceparent } from './trace-context.ts'

export interface TraceSinkOptions {
  /** ms since the epoch. */
  readonly now: () => number
  readonly sample: SampleTrace
  readonly randomHex: (octets: number) => string
  readonly record: (span: Span) => void
}

interface Trace {
  readonly traceId: string
  readonly rootId: string
  readonly callerId: string | undefined
  readonly sampled: boolean
}

/** The spans and times of a message that is under way. */
interface Tracked {
  readonly trace: Trace
  readonly storedAt: number
  /** The end of its commit, or of its latest attempt. */
  since: number
}

/** Callbacks and messages that are remembered at a time; the oldest make room. */
const MOST_TRACKED = 10_000

/**
 * Makes the spans of a callback from the service's events, once each has ended:
 *
 *     POST /callback/…/email    from the request to its answer; child of the caller's span
 *     ├ commit
 *     └ message                 from its arrival to its verdict
 *       ├ queue                 until an attempt begins
 *       └ attempt
 *
 * What a process no longer knows (after a restart, or on another replica) follows from the message's id alone: a trace
 * without a caller's traceparent has the id of its first message, and a message's span the second half of its id.
 */
export function createTraceSink({ now, sample, randomHex, record }: TraceSinkOptions): EventHandlers {
  const roots = new Map<string, Trace>()
  const messages = new Map<string, Tracked>()

  function startTrace({ ids, traceparent, tookMs }: EventOf<'stored'>): void {
    const [first = ''] = ids
    const trace = newTrace(first, traceparent)
    const at = now()
    keep(roots, first, trace)
    for (const id of ids) keep(messages, id, { trace, storedAt: at, since: at })
    if (!trace.sampled) return
    const { traceId, rootId } = trace
    const attributes = { 'callback_courier.messages': ids.length }
    const span = { traceId, spanId: randomHex(8), parentId: rootId, startedAt: at - tookMs, endedAt: at }
    record({ ...span, name: 'commit', kind: 'internal', attributes })
  }

  function newTrace(id: string, traceparent: string | undefined): Trace {
    const parent = parseTraceparent(traceparent)
    const traceId = parent?.traceId ?? id
    return { traceId, rootId: randomHex(8), callerId: parent?.spanId, sampled: sample(traceId, parent) }
  }

  function endRoot(event: EventOf<'callback'>): void {
    // A stranger's request is no callback, and its traceparent nobody's.
    if (event.method !== 'POST' || event.refusal !== null) return
    const { channel, kind, answer, stored, ids, tookMs, traceparent } = event
    const [first = ''] = stored
    const trace = roots.get(first) ?? newTrace(randomHex(16), traceparent)
    roots.delete(first)
    if (!trace.sampled) return
    const at = now()
    const route = `/callback/{corp_id}/{key}/${channel}`
    record({
      traceId: trace.traceId,
      spanId: trace.rootId,
      parentId: trace.callerId,
      name: `POST ${route}`,
      kind: 'server',
      startedAt: at - tookMs,
      endedAt: at,
      attributes: {
        'http.request.method': 'POST',
        'http.route': route,
        'callback_courier.kind': kind,
        'callback_courier.err_code': answer.err_code,
        'callback_courier.message_ids': ids.join(' '),
      },
      failed: answer.err_code !== 0,
    })
  }

  function endAttempt({ message, provider, outcome, attempts, tookMs }: EventOf<'attempt'>): void {
    const { id } = message
    const known = messages.get(id)
    if (!(known?.trace.sampled ?? sample(id, null))) return
    const endedAt = now()
    const startedAt = endedAt - tookMs
    const common = { traceId: known?.trace.traceId ?? id, parentId: spanIdOf(id) }
    if (known !== undefined && startedAt > known.since)
      record({
        ...common,
        spanId: randomHex(8),
        name: 'queue',
        kind: 'internal',
        startedAt: known.since,
        endedAt: startedAt,
        attributes: {},
      })
    if (known !== undefined) known.since = endedAt
    record({
      ...common,
      spanId: randomHex(8),
      name: `attempt ${provider}`,
      kind: 'client',
      startedAt,
      endedAt,
      attributes: {
        'callback_courier.provider': provider,
        'callback_courier.outcome': outcome.is,
        'callback_courier.attempt': attempts,
        ...(outcome.is !== 'sent' && { 'callback_courier.code': outcome.code }),
      },
      failed: outcome.is !== 'sent',
    })
  }

  function endMessage(event: Omit<EventOf<'final'>, 'type' | 'answer'>): void {
    const { id, channel, kind, state, tookMs, providerId } = event
    const known = messages.get(id)
    messages.delete(id)
    if (!(known?.trace.sampled ?? sample(id, null))) return
    const endedAt = now()
    record({
      traceId: known?.trace.traceId ?? id,
      spanId: spanIdOf(id),
      parentId: known?.trace.rootId,
      name: 'message',
      kind: 'internal',
      startedAt: tookMs === undefined ? (known?.storedAt ?? endedAt) : endedAt - tookMs,
      endedAt,
      attributes: {
        'callback_courier.message_id': id,
        'callback_courier.channel': channel,
        'callback_courier.kind': kind,
        'callback_courier.state': state,
        ...(providerId !== undefined && { 'callback_courier.provider_id': providerId }),
      },
      failed: state !== 'sent' && state !== 'superseded',
    })
  }

  return {
    stored: startTrace,
    callback: endRoot,
    attempt: endAttempt,
    final: endMessage,
    superseded: event => endMessage({ ...event, state: 'superseded' }),
  }
}

/** Makes a span's id of the last part of a message's, of which 60 bits are random. */
function spanIdOf(messageId: string): string {
  return messageId.slice(16)
}

function keep<V>(map: Map<string, V>, id: string, value: V): void {
  const [oldest] = map.size >= MOST_TRACKED ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  map.set(id, value)
}
