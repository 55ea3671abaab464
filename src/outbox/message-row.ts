import type { NewMessage } from '../messages/message.ts'
import { type MessagePayload, type PayloadKeys, tryDecrypt } from './encryption.ts'
import type {
  AttemptRecord,
  ChargedWindows,
  EndedCount,
  FinalAnswer,
  ListFilter,
  MessageList,
  MessageView,
  QueuedEvent,
  State,
} from './outbox.ts'

/**
 * A message in a unit of work: read from its table, or new; decided about and changed in memory (decide.ts), and written back by
 * its store.
 */
export interface Row extends Omit<NewMessage, 'recipient' | 'destination' | 'content'> {
  /** Its place in the table; absent until it is stored. */
  seq?: number
  readonly recipientHash: string
  readonly groupKey: string | null
  /** Of its number, ISO 3166; null: a mail, or a message of 1.1.0. */
  readonly country: string | null
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
  /** `happenedAt` of that report, ms since the epoch; Postgres has it as text. */
  receiptHappenedAt: number | string | null
  reported: boolean
  /** Its latest report says that it did not arrive. */
  undelivered: boolean
  /** The windows in which it was counted, and which its end may give back. */
  charges: ChargedWindows | null
  timeline: readonly AttemptRecord[] | null
}

/**
 * What the row of a held message has in `attempted_by`. Its `state` is written as `expired`, since 1.1.0 knows no `held`: that one
 * says that nobody took it, and takes its repetition for a new message.
 */
export const HELD_BY = 'ONLY_TO'
export const STATE = `CASE WHEN attempted_by = '${HELD_BY}' THEN 'held' ELSE state END`

/** Says in SQL what `isUndelivered` (rules.ts) says of a report. */
export const UNDELIVERED =
  "receipt -> 'fault' ->> 'verdict' <> 'ambiguous' AND receipt ->> 'status' <> 'complained'"

/** The columns of a Row, of the table called `m`, under its names; both stores have them. */
export const ROW_COLUMNS = `m.seq, m.id, m.channel, m.kind, m.purpose, m.masked_recipient AS masked,
  ${STATE} AS state, m.attempts, m.ambiguous,
  m.arrived_at AS "arrivedAt", m.expires_at AS "expiresAt", m.due_at AS "dueAt", m.final_at AS "finalAt",
  m.lease_until AS "leaseUntil", m.lease_token AS "leaseToken", m.recipient_hash AS "recipientHash", m.group_key AS "groupKey",
  m.country, m.outdated, m.begun, m.attempted_by AS "attemptedBy", m.answer, m.provider_id AS "providerId",
  m.receipt ->> 'status' AS "receiptStatus", m.receipt ->> 'happenedAt' AS "receiptHappenedAt",
  ${UNDELIVERED.replaceAll('receipt', 'm.receipt')} AS undelivered, m.charges, m.timeline`

/** The same with what only the claim of a due message reads. */
export const DUE_COLUMNS = `${ROW_COLUMNS}, m.destination, m.payload`

/** @param read with ROW_COLUMNS, a truth as 1 and JSON as text (SQLite), or as such (Postgres); it becomes the Row. What was damaged is null. */
export function rowOf(read: Record<string, unknown>): Row & { seq: number } {
  const [outdated, begun, undelivered] = ['outdated', 'begun', 'undelivered'].map(name => Boolean(read[name]))
  const [charges, timeline] = [readJson(read['charges']), readJson(read['timeline'])]
  const reported = read['receiptStatus'] !== null
  const given = { outdated, begun, undelivered, reported, charges, timeline }
  return Object.assign(read, given) as unknown as Row & { seq: number }
}

/** A due message with what an attempt needs. */
export interface DueMessage {
  readonly row: Row
  readonly destination: string
  /** Null: it, or something else of the message, cannot be read. */
  readonly payload: MessagePayload | null
}

/** @param read with DUE_COLUMNS. */
export function dueMessageOf(
  { payload, destination, ...read }: Readonly<Record<string, unknown>>,
  keys: PayloadKeys,
): DueMessage {
  const { charges, timeline } = read
  const row = rowOf(read)
  const isDamaged = (charges !== null && row.charges === null) || (timeline !== null && row.timeline === null)
  return {
    row,
    destination: String(destination),
    payload: isDamaged ? null : tryDecrypt(keys, row.id, payload),
  }
}

/** The carrier that decided what became of a message; `-`: none was asked. */
export function carrierOf({ timeline, attemptedBy }: Pick<Row, 'timeline' | 'attemptedBy'>): string {
  const asked = timeline?.findLast(({ provider, outcome }) => provider !== '' && outcome !== 'skipped')
  return asked?.provider ?? attemptedBy ?? '-'
}

/** The columns of a message that people may see, under the names of its view; both stores have them. */
export const VIEW_COLUMNS = `id, channel, kind, purpose, masked_recipient AS "maskedRecipient", ${STATE} AS state, answer, attempts, ambiguous,
  arrived_at AS "arrivedAt", expires_at AS "expiresAt", due_at AS "dueAt", final_at AS "finalAt", provider_id AS "providerId",
  receipt, timeline`

/** The end of the statement that reads what has ended of a channel, 50 messages at most of the 2,000 that came last; nothing that was held. */
export function endedIn(table: string, channel: string): string {
  return `FROM ${table} WHERE channel = ${channel} AND final_at IS NOT NULL AND attempted_by IS DISTINCT FROM '${HELD_BY}' AND arrived_at >=
    (SELECT min(arrived_at) FROM (SELECT arrived_at FROM ${table} ORDER BY arrived_at DESC LIMIT 2000) AS newest)
    ORDER BY arrived_at DESC LIMIT 50`
}

/** The statement that adds up how the messages of two days ended; the days are given in quarters of an hour. */
export function readEndedIn(table: string, dayBefore: string, today: string): string {
  return `SELECT channel, name, CAST(sum(count) AS bigint) AS total, CAST(sum(CASE WHEN quarter >= ${today} THEN count END) AS bigint) AS today
    FROM ${table} WHERE quarter >= ${dayBefore} GROUP BY channel, name`
}

/** @param read with that statement. */
export function endedOfRow({ channel, name, total, today }: Readonly<Record<string, unknown>>): EndedCount {
  const [kind, carrier, country, outcome] = String(name).split(' ')
  const counts = { today: Number(today), dayBefore: Number(total) - Number(today) }
  return { channel, kind, carrier, country, outcome, ...counts } as EndedCount
}

/** @param read with VIEW_COLUMNS. */
export function viewOfRow(read: Readonly<Record<string, unknown>>): MessageView {
  const [receipt, timeline] = [readJson(read['receipt']), readJson(read['timeline']) ?? []]
  return { ...read, receipt, timeline } as unknown as MessageView
}

/** Parts a list of a state by channel, as the index is that has it: two lists in order, instead of sorting all there is. */
export function partsOf(filter: ListFilter): readonly ListFilter[] {
  if (filter.state === undefined || filter.channel !== undefined) return [filter]
  return (['email', 'sms'] as const).map(channel => ({ ...filter, channel }))
}

/** Puts the parts of a list together again: as far back as all of them were looked through. */
export function joinParts(parts: readonly MessageList[], limit: number): MessageList {
  const lookedFrom = Math.max(...parts.map(part => part.lookedFrom ?? 0))
  const messages = parts
    .flatMap(part => part.messages)
    .filter(({ arrivedAt }) => arrivedAt >= lookedFrom)
    .sort((a, b) => b.arrivedAt - a.arrivedAt)
    .slice(0, limit)
  return { messages, lookedFrom: lookedFrom === 0 || messages.length === limit ? null : lookedFrom }
}

/** A condition of a list of messages, with its value, which is `?` in it. */
export interface ListCondition {
  readonly sql: string
  readonly value: string | number
  /** The index has the messages of which it is true among others, which have to be looked through. */
  readonly isSought: boolean
}

/**
 * Lists the conditions of a list of messages.
 * @param isRecipient the condition on a recipient's hash. What one recipient got is few: nothing is sought in it.
 */
export function conditionsOf(
  { recipientHash, state, channel, kind, since, before }: Omit<ListFilter, 'limit'>,
  isRecipient: string,
): ListCondition[] {
  const [ofReport, ofState] = state === 'undelivered' ? [state, undefined] : [undefined, state]
  const isExpired = ofState === 'expired' || ofState === 'held'
  const conditions: [sql: string, value: string | number | undefined, isSought?: boolean][] = [
    [isRecipient, recipientHash],
    [`${UNDELIVERED} AND ? = 'undelivered'`, ofReport],
    ['state = ?', ofState === 'held' ? 'expired' : ofState],
    [
      `(attempted_by IS NOT DISTINCT FROM '${HELD_BY}') = (? = 'held')`,
      isExpired ? ofState : undefined,
      true,
    ],
    ['channel = ?', channel, state === undefined],
    ['kind = ?', kind, true],
    ['arrived_at >= ?', since],
    ['arrived_at < ?', before],
  ]
  return conditions.flatMap(([sql, value, isSought = false]) =>
    value === undefined ? [] : [{ sql, value, isSought: isSought && recipientHash === undefined }],
  )
}

/** How many of the oldest events one step drops. */
export const DROP_STEP = 500

/** @param read with the columns of an event, and VIEW_COLUMNS of its message. */
export function eventOfRow({ seq, type, at, data, ...read }: Readonly<Record<string, unknown>>): QueuedEvent {
  const message = read['id'] === null ? null : viewOfRow(read)
  return { seq, type, at, message, data: readJson(data) } as unknown as QueuedEvent
}

/** @returns null also where it was damaged on disk: that concerns its message alone. */
function readJson(value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value
  } catch {
    return null
  }
}
