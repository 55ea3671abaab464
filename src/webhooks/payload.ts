import { createHash } from 'node:crypto'
import type { MessageView, QueuedEvent, QueuedEventType } from '../outbox/outbox.ts'

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
  const { id, channel, kind, maskedRecipient, state, answer, attempts, arrivedAt, finalAt, providerId } =
    message
  const last = timeline.findLast(({ provider }) => provider !== '')
  return {
    id,
    channel,
    kind,
    maskedRecipient,
    state,
    answer,
    attempts,
    provider: last?.provider ?? null,
    code: last?.code || null,
    providerId,
    arrivedAt,
    finalAt,
  }
}
