import { createHash, createHmac } from 'node:crypto'
import type { MessageView, QueuedEvent, QueuedEventType } from '../outbox/outbox.ts'
import type { FailedExchange, HttpLimits, HttpProxy } from '../providers/http-client.ts'
import { causeOf, createHttpApi, readRetryAfter } from '../providers/http-client.ts'
import type { Clock } from '../runtime/clock.ts'

export interface Batch {
  /** The POST's id: the same for the same events. */
  readonly id: string
  readonly seqs: readonly number[]
  /** How many events it tells; those of messages that were pruned are left out. */
  readonly told: number
  readonly body: string
}

/** @param events at least one. @param now ms since the epoch. */
export function batchOf(events: readonly QueuedEvent[], now: number): Batch {
  const told = events.flatMap(eventOf)
  const id = createHash('sha256').update(JSON.stringify(told.map(each => each.id)))
  return {
    id: `batch-${id.digest('hex').slice(0, 32)}`,
    seqs: events.map(({ seq }) => seq),
    told: told.length,
    body: JSON.stringify({ type: 'events', timestamp: new Date(now).toISOString(), data: { events: told } }),
  }
}

interface ToldEvent {
  readonly id: string
  readonly type: QueuedEventType
  readonly timestamp: string
  readonly data: object
}

/** An event as a receiver gets it; none when its message has been pruned. Its id is the same whenever it is told. */
function eventOf({ type, at, message, data }: QueuedEvent): readonly ToldEvent[] {
  const timestamp = new Date(at).toISOString()
  if (type === 'provider.up' || type === 'provider.down')
    return [{ id: `${type}-${String(data?.['provider'])}-${at}`, type, timestamp, data: { ...data, at } }]
  if (message === null) return []
  if (type === 'message.ended')
    return [{ id: `${message.id}-ended`, type, timestamp, data: factsOf(message) }]
  return [
    { id: `${message.id}-reported-${at}`, type, timestamp, data: { ...factsOf(message), report: data } },
  ]
}

/** The fields of a message that ended which do not change any more, under the names of the status API. */
function factsOf({ timeline, ...message }: MessageView) {
  const { id, channel, kind, maskedRecipient, state, answer, attempts } = message
  const { provider = null, code } = timeline.findLast(each => each.provider !== '') ?? {}
  const { providerId, arrivedAt, finalAt } = message
  const soFar = { id, channel, kind, maskedRecipient, state, answer, attempts }
  return { ...soFar, provider, code: code || null, providerId, arrivedAt, finalAt }
}

/** The keys of EVENTS_SECRET: base64 behind `whsec_`, several parted by spaces while one is being replaced. */
export function readSigningKeys(secrets: string): readonly Buffer[] {
  return secrets.split(/\s+/).map(secret => Buffer.from(secret.slice('whsec_'.length), 'base64'))
}

/**
 * Signs a payload with each of the keys: a receiver takes it that knows one of them.
 * @param id stays the same however often the payload is sent.
 * @param now ms since the epoch.
 * @returns the headers that Standard Webhooks asks for (https://www.standardwebhooks.com, "Webhook metadata", version 1)
 */
export function signPayload(keys: readonly Buffer[], id: string, now: number, body: string) {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

export type PostResult =
  | { readonly is: 'delivered' }
  /** The receiver wants nothing any more (410). */
  | { readonly is: 'gone'; readonly reason: 'http-410' }
  /** `retryAfterMs`: the receiver asks for so long a pause. `unanswered`: no answer came, and why not. */
  | {
      readonly is: 'failed'
      readonly reason: string
      readonly retryAfterMs?: number | undefined
      readonly unanswered?: FailedExchange
    }

export interface Poster {
  post(headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<PostResult>
  close(): Promise<void>
}

/** Standard Webhooks asks a sender to wait for 15 to 30 s. */
const LIMITS: HttpLimits = { connectMs: 5000, answerMs: 15_000, bodyMs: 5000 }

/** POSTs to one URL: TLS verified, no redirects, one at a time. The status decides; what else is answered is not read. */
export function createPoster(
  url: string,
  clock: Clock,
  proxy: HttpProxy | undefined,
  limits = LIMITS,
): Poster {
  const { pathname, search } = new URL(url)
  const api = createHttpApi({ baseUrl: url, connections: 1, limits, proxy, clock })
  return {
    async post(headers, body, signal) {
      const request = {
        method: 'POST',
        path: `${pathname}${search}`,
        headers: { 'content-type': 'application/json', 'user-agent': 'callback-courier', ...headers },
        body,
      }
      const ended = await api.request(request, signal)
      if ('value' in ended) return resultOf(ended.value, clock.now())
      // The head of the answer came, and the rest was cut off or too long: it says what is to be known.
      if (ended.answer !== undefined) return resultOf(ended.answer, clock.now())
      return { is: 'failed', reason: causeOf(ended) ?? 'no answer', unanswered: ended }
    },
    close: api.close,
  }
}

function resultOf(
  { status, retryAfter }: { readonly status: number; readonly retryAfter: string | undefined },
  now: number,
): PostResult {
  if (status >= 200 && status < 300) return { is: 'delivered' }
  if (status === 410) return { is: 'gone', reason: 'http-410' }
  return { is: 'failed', reason: `http-${status}`, retryAfterMs: readRetryAfter(retryAfter, now) }
}
