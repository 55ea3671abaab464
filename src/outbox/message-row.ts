import type { Channel, NewMessage, Purpose } from '../messages/message.ts'
import { type MessagePayload, type PayloadKeys, tryDecrypt } from './encryption.ts'
import type {
  AttemptRecord,
  ChargedWindows,
  FinalAnswer,
  ListFilter,
  MessageView,
  QueuedEvent,
  QueuedEventType,
  State,
} from './outbox.ts'

/**
 * A message in a unit of work: read from its table, or new; decided about and changed in memory (decide.ts), and written back by
 * its store.
 */
export interface Row extends Omit<NewMessage, 'recipient' | 'content'> {
  /** Its place in the table; absent until it is stored. */
  seq?: number
  readonly recipientHash: string
  readonly groupKey: string | null
  state: State
  /** A newer code of its group came while it was being sent. */
  outdated: boolean
  /** Its attempt has begun, or may have. */
  begun: boolean
  /** The provider that it went to, where that was noted; see Outbox.beginAttempt. */
  attemptedBy: string | null
  attempts: number
  ambiguous: number
  dueAt: number | null
  finalAt: number | null
  leaseUntil: number | null
  leaseToken: string | null
  answer: FinalAnswer
  providerId: string | null
  /** The latest delivery report; null when none has come. */
  receiptStatus: string | null
  reported: boolean
  /** JSON as text until somebody asks for it (SQLite), or read already. */
  charges: string | ChargedWindows | null
  timeline: string | readonly AttemptRecord[] | null
}

/** The columns of a Row, of the table called `m`; both stores have them under these names. */
export const ROW_COLUMNS = `m.seq, m.id, m.channel, m.kind, m.purpose, m.masked_recipient, m.state, m.attempts, m.ambiguous,
  m.arrived_at, m.expires_at, m.due_at, m.final_at, m.lease_until, m.lease_token, m.recipient_hash, m.group_key, m.outdated, m.begun, m.attempted_by, m.answer,
  m.provider_id, m.receipt ->> 'status' AS receipt_status, m.charges, m.timeline`

/** @param read with ROW_COLUMNS; a truth as 1 (SQLite) or true (Postgres). */
export function rowOf(read: Readonly<Record<string, unknown>>): Row & { seq: number } {
  const receiptStatus = read['receipt_status'] as string | null
  return {
    seq: read['seq'] as number,
    ...factsOf(read),
    masked: read['masked_recipient'] as string,
    recipientHash: read['recipient_hash'] as string,
    groupKey: read['group_key'] as string | null,
    outdated: Boolean(read['outdated']),
    begun: Boolean(read['begun']),
    attemptedBy: read['attempted_by'] as string | null,
    leaseUntil: read['lease_until'] as number | null,
    leaseToken: read['lease_token'] as string | null,
    receiptStatus,
    reported: receiptStatus !== null,
    charges: read['charges'] as string | ChargedWindows | null,
    timeline: read['timeline'] as string | readonly AttemptRecord[] | null,
  }
}

/** A due message with what an attempt needs. */
export interface DueMessage {
  readonly row: Row
  /** Null: it cannot be read. */
  readonly payload: MessagePayload | null
}

/** @param read with ROW_COLUMNS and the payload. */
export function dueMessageOf(read: Readonly<Record<string, unknown>>, keys: PayloadKeys): DueMessage {
  const row = rowOf(read)
  return { row, payload: tryDecrypt(keys, row.id, read['payload']) }
}

/** What both a Row and the view of a message have. */
function factsOf(read: Readonly<Record<string, unknown>>) {
  return {
    id: read['id'] as string,
    channel: read['channel'] as Channel,
    kind: read['kind'] as string,
    purpose: read['purpose'] as Purpose,
    state: read['state'] as State,
    answer: read['answer'] as FinalAnswer,
    attempts: read['attempts'] as number,
    ambiguous: read['ambiguous'] as number,
    arrivedAt: read['arrived_at'] as number,
    expiresAt: read['expires_at'] as number,
    dueAt: read['due_at'] as number | null,
    finalAt: read['final_at'] as number | null,
    providerId: read['provider_id'] as string | null,
  }
}

/** The windows in which a message was counted, and which its end may give back. */
export function chargesOf({ charges }: Pick<Row, 'charges'>): ChargedWindows {
  return (readJson(charges) as ChargedWindows | null) ?? []
}

export function timelineOf({ timeline }: Pick<Row, 'timeline'>): readonly AttemptRecord[] {
  return (readJson(timeline) as readonly AttemptRecord[] | null) ?? []
}

/** The columns of a message that people may see; both stores have them under these names. */
export const VIEW_COLUMNS = `id, channel, kind, purpose, masked_recipient, state, answer, attempts, ambiguous, arrived_at,
  expires_at, due_at, final_at, provider_id, receipt, timeline`

/** @param read with VIEW_COLUMNS. */
export function viewOfRow(read: Readonly<Record<string, unknown>>): MessageView {
  return {
    ...factsOf(read),
    maskedRecipient: read['masked_recipient'] as string,
    receipt: readJson(read['receipt']) as MessageView['receipt'],
    timeline: (readJson(read['timeline']) as readonly AttemptRecord[] | null) ?? [],
  }
}

/**
 * Lists the conditions of a list of messages, each with its value, which is `?` in it.
 * @param isRecipient the condition on a recipient's hash.
 */
export function conditionsOf(
  { recipientHash, state, channel, kind, since, before }: Omit<ListFilter, 'limit'>,
  isRecipient: string,
) {
  const conditions: (readonly [string, string | number | undefined])[] = [
    [isRecipient, recipientHash],
    ['state = ?', state],
    ['channel = ?', channel],
    ['kind = ?', kind],
    ['arrived_at >= ?', since],
    ['arrived_at < ?', before],
  ]
  return conditions.filter((each): each is readonly [string, string | number] => each[1] !== undefined)
}

/** How many of the oldest events one step drops. */
export const DROP_STEP = 500

/** @param read with the columns of an event, and VIEW_COLUMNS of its message. */
export function eventOfRow(read: Readonly<Record<string, unknown>>): QueuedEvent {
  return {
    seq: read['seq'] as number,
    type: read['type'] as QueuedEventType,
    at: read['at'] as number,
    message: read['id'] === null ? null : viewOfRow(read),
    data: readJson(read['data']) as QueuedEvent['data'],
  }
}

function readJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}
