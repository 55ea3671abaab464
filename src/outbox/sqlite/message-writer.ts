import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { encryptPayload, type PayloadKeys } from '../encryption.ts'
import type { Acceptance, AttemptRecord, ChargedWindows, FinalState, Lease } from '../outbox.ts'
import {
  afterLostLease,
  appendToTimeline,
  lostLeaseRecord,
  type MessageState,
  rankOfPurpose,
  readinessOf,
  refundsQuota,
  stateAtAcceptance,
  stateAtClaim,
  stateAtEnd,
} from '../rules.ts'
import type { Counts } from './counts.ts'
import type { AddMessageEvent } from './events.ts'
import type { Quotas } from './quotas.ts'
import type { Row } from './row.ts'

export interface MessageWriterDeps {
  readonly db: DatabaseSync
  readonly payloadKeys: PayloadKeys
  readonly quotas: Quotas
  readonly counts: Counts
  /** Adds an event for webhooks about a message; null: there are no webhooks. */
  readonly addMessageEvent: AddMessageEvent | null
}

export type MessageWriter = ReturnType<typeof createMessageWriter>

/** The one place that writes messages, in the open transaction; it keeps quotas and counts in step with them. */
export function createMessageWriter(deps: MessageWriterDeps) {
  const { db, payloadKeys, quotas, counts, addMessageEvent } = deps
  const insert = db.prepare(INSERT)
  const claim = db.prepare(CLAIM)
  const markOutdated = db.prepare('UPDATE messages SET outdated = 1 WHERE seq = ?')
  const requeue = db.prepare(REQUEUE)
  const finish = db.prepare(FINISH)

  /** Writes a state after an attempt, with lines for the timeline; with a final state payload and charges are removed. */
  function changeState(
    row: Row,
    next: MessageState,
    now: number,
    records: readonly AttemptRecord[] = [],
    providerId?: string,
  ): void {
    const { state, answer, attempts, ambiguous, dueAt } = next
    const timeline = timelineWith(row.timeline, records)
    if (state === 'queued') {
      requeue.run(readinessOf(next, now), dueAt ?? now, attempts, ambiguous, timeline, row.seq)
    } else {
      finish.run(state, answer, now, attempts, ambiguous, timeline, providerId ?? row.providerId, row.seq)
      if (row.charges !== null && refundsQuota(state))
        quotas.refund(JSON.parse(row.charges) as ChargedWindows)
      addMessageEvent?.('message.ended', now, row.id)
    }
    counts.addChange(row, row.state, state)
  }

  return {
    changeState,
    store(acceptance: Acceptance, windows: ChargedWindows, now: number): void {
      const { id, recipient, content } = acceptance.message
      const first = stateAtAcceptance(acceptance.lease, now)
      const payload = encryptPayload(payloadKeys, id, { recipient, content })
      const columns = columnsOf(acceptance, windows, first, now, payload)
      insert.run(...NEW_COLUMNS.map(name => columns[name]))
      counts.addChange(acceptance.message, 'new', first.state)
    },
    /** Takes the lease on a message and counts the attempt. @returns the attempts so far. */
    claim(row: Row, { token, until }: Lease): number {
      const { attempts } = stateAtClaim(row)
      claim.run(attempts, token, until, row.seq)
      counts.addChange(row, 'queued', 'sending')
      return attempts
    },
    /** Marks a message that is being sent: a newer code came. */
    markOutdated: (row: Row) => void markOutdated.run(row.seq),
    /** Ends a message outside an attempt. */
    end: (row: Row, state: FinalState, now: number, records?: readonly AttemptRecord[]) =>
      changeState(row, stateAtEnd(row, state), now, records),
    /** Takes over a message whose lease was lost. @returns its new state. */
    takeOver(row: Row, now: number): MessageState {
      const next = afterLostLease(row, now, row.outdated)
      changeState(row, next, now, [lostLeaseRecord(row.begun, row.attemptedBy, now)])
      return next
    },
  }
}

function columnsOf(
  { message, dedupeKey, recipientHash, groupKey, lease }: Acceptance,
  windows: ChargedWindows,
  first: MessageState,
  now: number,
  payload: Buffer,
): Readonly<Record<(typeof NEW_COLUMNS)[number], SQLInputValue>> {
  return {
    id: message.id,
    channel: message.channel,
    kind: message.kind,
    purpose: message.purpose,
    rank: rankOfPurpose(message.purpose),
    state: first.state,
    ready: readinessOf(first, now),
    attempts: first.attempts,
    ambiguous: 0,
    arrived_at: message.arrivedAt,
    expires_at: message.expiresAt,
    due_at: first.dueAt,
    lease_until: lease?.until ?? null,
    lease_token: lease?.token ?? null,
    dedupe_key: dedupeKey,
    recipient_hash: recipientHash,
    group_key: groupKey ?? null,
    masked_recipient: message.masked,
    charges: windows.length === 0 ? null : JSON.stringify(windows),
    payload,
  }
}

function timelineWith(timeline: string | null, records: readonly AttemptRecord[]): string | null {
  if (records.length === 0) return timeline
  const known = timeline === null ? [] : (JSON.parse(timeline) as AttemptRecord[])
  return JSON.stringify(appendToTimeline(known, records))
}

/** The columns of a new message. Their values are bound by position: by name the store takes 5 µs more a message. */
const NEW_COLUMNS = [
  'id',
  'channel',
  'kind',
  'purpose',
  'rank',
  'state',
  'ready',
  'attempts',
  'ambiguous',
  'arrived_at',
  'expires_at',
  'due_at',
  'lease_until',
  'lease_token',
  'dedupe_key',
  'recipient_hash',
  'group_key',
  'masked_recipient',
  'charges',
  'payload',
] as const
const INSERT = `INSERT INTO messages (${NEW_COLUMNS.join(', ')}) VALUES (${NEW_COLUMNS.map(() => '?').join(', ')})`
const CLAIM = `
  UPDATE messages SET state = 'sending', ready = NULL, due_at = NULL, attempts = ?, lease_token = ?, lease_until = ?,
    begun = 1, attempted_by = NULL WHERE seq = ?`
const REQUEUE = `
  UPDATE messages SET state = 'queued', ready = ?, due_at = ?, attempts = ?, ambiguous = ?, timeline = ?,
    lease_until = NULL, lease_token = NULL WHERE seq = ?`
const FINISH = `
  UPDATE messages SET state = ?, answer = ?, final_at = ?, attempts = ?, ambiguous = ?, timeline = ?, provider_id = ?,
    ready = NULL, due_at = NULL, lease_until = NULL, lease_token = NULL, charges = NULL, payload = NULL WHERE seq = ?`
