import type { Channel } from '../messages/message.ts'
import { carrierOf, HELD_BY, type Row } from './message-row.ts'
import type {
  Acceptance,
  AttemptRecord,
  ChargedWindows,
  EndedCount,
  FinalAnswer,
  FinalState,
  Memo,
  MessageView,
  NewEvent,
  SettledByStore,
  State,
} from './outbox.ts'
import { BOUNCED, QUARTER_MS } from './outbox.ts'
import type { Quotas } from './quota.ts'
import {
  appendToTimeline,
  isLive,
  type MessageState,
  REFUNDED,
  rankOfPurpose,
  readinessOf,
  stateAtAcceptance,
  stateAtEnd,
} from './rules.ts'

/** A delivery report as it is kept with its message. */
export type Receipt = NonNullable<MessageView['receipt']>

/** What a store brings along for a unit of work. */
interface StoreTraits {
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
  /** Messages that ended, until a claim of their channel reports them to the delivery. */
  readonly ended: SettledByStore[]
  readonly counts: CountChanges
  readonly quotas: Quotas
}

/**
 * What a transaction changes, kept in memory until its store writes it. The store reads and locks the rows, the functions of
 * decide.ts change them here, and the store writes all of it before the commit.
 */
export interface UnitOfWork extends StoreTraits {
  /** ms since the epoch. */
  readonly now: number
  /** Messages to be inserted. */
  readonly stored: { readonly row: Row; readonly acceptance: Acceptance }[]
  /** Messages that have changed, new ones among them. */
  readonly changed: Set<Row>
  /** Receipts to be written, each with the provider's id for a row that has none. */
  readonly receipts: Map<Row, { readonly receipt: Receipt; readonly providerId: string | null }>
  readonly memos: Memo[]
  /** Hashes of the numbers to which something was delivered. */
  readonly known: Set<string>
  /** Events to be queued, in the order in which things happened. */
  readonly events: NewEvent[]
}

/** Begins a unit of work with nothing in it. */
export function beginWork(now: number, store: StoreTraits): UnitOfWork {
  const [changed, known] = [new Set<Row>(), new Set<string>()]
  return { ...store, now, stored: [], changed, receipts: new Map(), memos: [], known, events: [] }
}

/** Makes the columns of a row that may change; both stores have them under these names. What is null is undefined. */
export function changesOf(row: Row, now: number) {
  return {
    state: row.state === 'held' ? 'expired' : row.state,
    ready: readinessOf(row.state, row.dueAt, now) ?? undefined,
    outdated: row.outdated,
    begun: row.begun,
    attempted_by: row.state === 'held' ? HELD_BY : (row.attemptedBy ?? undefined),
    attempts: row.attempts,
    ambiguous: row.ambiguous,
    due_at: row.dueAt ?? undefined,
    final_at: row.finalAt ?? undefined,
    lease_until: row.leaseUntil ?? undefined,
    lease_token: row.leaseToken ?? undefined,
    answer: row.answer ?? undefined,
    provider_id: row.providerId ?? undefined,
    charges: row.charges ?? undefined,
    timeline: row.timeline ?? undefined,
  }
}

/** Makes the columns of a new message, but for its payload. */
export function newColumnsOf(row: Row, { message, dedupeKey }: Acceptance, now: number) {
  return {
    ...changesOf(row, now),
    id: row.id,
    channel: row.channel,
    kind: row.kind,
    purpose: row.purpose,
    rank: rankOfPurpose(row.purpose),
    arrived_at: row.arrivedAt,
    expires_at: row.expiresAt,
    dedupe_key: dedupeKey,
    recipient_hash: row.recipientHash,
    group_key: row.groupKey ?? undefined,
    country: row.country ?? undefined,
    masked_recipient: row.masked,
    destination: message.destination,
  }
}

/** Stores a new message and its memo. @param windows in which it was counted. */
export function storeMessage(work: UnitOfWork, acceptance: Acceptance, windows: ChargedWindows): Row {
  const { message, groupKey, lease } = acceptance
  const row: Row = {
    ...stateAtAcceptance(lease, work.now),
    id: message.id,
    channel: message.channel,
    kind: message.kind,
    purpose: message.purpose,
    masked: message.masked,
    arrivedAt: message.arrivedAt,
    expiresAt: message.expiresAt,
    recipientHash: acceptance.recipientHash,
    groupKey: groupKey ?? null,
    country: acceptance.country ?? null,
    outdated: false,
    begun: lease?.begins === true,
    attemptedBy: null,
    finalAt: null,
    leaseUntil: lease?.until ?? null,
    leaseToken: lease?.token ?? null,
    providerId: null,
    receiptStatus: null,
    receiptHappenedAt: null,
    reported: false,
    undelivered: false,
    charges: windows.length === 0 ? null : windows,
    timeline: null,
  }
  work.counts.addChange(row, 'new', row.state)
  work.stored.push({ row, acceptance })
  if (acceptance.memo !== undefined) work.memos.push(acceptance.memo)
  return row
}

/**
 * Changes the state of a message, and adds lines to its timeline. Its lease is over. With a final state its charges go, given back
 * when it was not sent, and its event is queued.
 */
export function changeState(
  work: UnitOfWork,
  row: Row,
  next: MessageState,
  records: readonly AttemptRecord[] = [],
  providerId?: string,
): void {
  work.counts.addChange(row, row.state, next.state)
  row.state = next.state
  row.answer = next.answer
  row.attempts = next.attempts
  row.ambiguous = next.ambiguous
  row.dueAt = next.dueAt
  row.leaseUntil = null
  if (records.length > 0) row.timeline = appendToTimeline(row.timeline ?? [], records)
  work.changed.add(row)
  if (isLive(next.state)) return
  if (next.state !== 'held') work.counts.addEnd(row, next.state, 1)
  if (row.charges !== null && REFUNDED.has(next.state)) work.quotas.refund(row.charges)
  row.charges = null
  row.finalAt = work.now
  row.providerId = providerId ?? row.providerId
  if (work.keepsEvents) work.events.push({ type: 'message.ended', at: work.now, message: row.id })
}

/** Ends a message outside an attempt. */
export function endMessage(
  work: UnitOfWork,
  row: Row,
  state: FinalState,
  answer: FinalAnswer = null,
  records: readonly AttemptRecord[] = [],
): void {
  changeState(work, row, stateAtEnd(row, state, answer), records)
}

/** Notes that a message has ended, for the next claim of its channel; does nothing while it lives. */
export function noteEnd({ ended }: UnitOfWork, { id, state, channel, kind }: Row): void {
  if (!isLive(state)) ended.push({ id, state, channel, kind })
}

/** Takes the messages of a channel that have ended. */
export function takeEnded(ended: SettledByStore[], channel: Channel): readonly SettledByStore[] {
  const taken = ended.filter(each => each.channel === channel)
  if (taken.length > 0) ended.splice(0, ended.length, ...ended.filter(each => each.channel !== channel))
  return taken
}

const MINUTE_MS = 60_000

/** The fields of a message that it is counted by. */
interface CountedMessage {
  readonly channel: Channel
  readonly kind: string
  readonly arrivedAt: number
}

/** How many more messages of a quarter of an hour ended in a way; the name is kind, carrier, country and outcome. */
type EndChange = {
  readonly quarter: number
  readonly channel: Channel
  readonly name: string
  readonly by: number
}

type CountChange = {
  /** Minute of arrival, since the epoch. */
  readonly minute: number
  readonly channel: Channel
  readonly kind: string
  readonly state: State | typeof BOUNCED
  readonly by: number
}

/** What a transaction changes in the counts: by minute of arrival, channel, kind and state, and live ones. */
export interface CountChanges {
  addChange(message: CountedMessage, from: State | 'new', to: State): void
  /** Counts a mail that came back. @param at when that was reported, ms since the epoch. */
  addBounce(at: number): void
  /** Counts `count` messages in one state as arrived at another time, ms since the epoch. */
  addRedated(message: CountedMessage, state: State, arrivedAt: number, count: number): void
  /** Counts `by` more messages as ended so, beside their state, in the figures by carrier and country. */
  addEnd(row: Row, outcome: EndedCount['outcome'], by: number): void
  ends(): readonly EndChange[]
  /** Lists the changes; those that add up to 0 are left out. */
  changes(): readonly CountChange[]
  /** Says by how many the live messages of each channel have grown. */
  live(): Readonly<Record<Channel, number>>
}

export function createCountChanges(): CountChanges {
  const changes = createTally<Omit<CountChange, 'by'>>()
  const ends = createTally<Omit<EndChange, 'by'>>()
  const live = { email: 0, sms: 0 }

  function add({ channel, kind, arrivedAt }: CountedMessage, state: CountChange['state'], by: number): void {
    changes.add({ minute: Math.floor(arrivedAt / MINUTE_MS), channel, kind, state }, by)
    if (state !== BOUNCED && isLive(state)) live[channel] += by
  }

  return {
    addChange(message, from, to) {
      if (from !== 'new') add(message, from, -1)
      add(message, to, 1)
    },
    addBounce: at => add({ channel: 'email', kind: '', arrivedAt: at }, BOUNCED, 1),
    addRedated(message, state, arrivedAt, count) {
      add(message, state, -count)
      add({ ...message, arrivedAt }, state, count)
    },
    addEnd(row, outcome, by) {
      const name = `${row.kind} ${carrierOf(row)} ${row.country ?? '-'} ${outcome}`
      ends.add({ quarter: Math.floor(row.arrivedAt / QUARTER_MS), channel: row.channel, name }, by)
    },
    ends: ends.list,
    changes: changes.list,
    live: () => live,
  }
}

/** Adds up what is counted under the same fields. */
function createTally<Fields extends Readonly<Record<string, string | number>>>() {
  const counted = new Map<string, Fields & { by: number }>()
  return {
    add(fields: Fields, by: number): void {
      let key = ''
      for (const name in fields) key += ` ${fields[name]}`
      const known = counted.get(key)
      if (known === undefined) counted.set(key, { ...fields, by })
      else known.by += by
    },
    /** Lists what does not add up to 0. */
    list: () => [...counted.values()].filter(({ by }) => by !== 0),
  }
}
