import { encryptPayload, type PayloadKeys } from '../encryption.ts'
import type {
  Acceptance,
  AttemptRecord,
  ChargedWindows,
  DeliveryReport,
  FinalState,
  Lease,
  Memo,
} from '../outbox.ts'
import {
  afterLostLease,
  appendToTimeline,
  isLive,
  lostLeaseRecord,
  type MessageState,
  rankOfPurpose,
  refundsQuota,
  stateAtAcceptance,
  stateAtClaim,
  stateAtEnd,
} from '../rules.ts'
import { type Client, commitTransaction, runStatement, runTogether, statement } from './connect.ts'
import { type CountPlaces, createCounts } from './counts.ts'
import { addEvents, type NewEvent } from './events.ts'
import { writeMemos } from './memos.ts'
import { createQuotas } from './quotas.ts'
import { CHANGED_COLUMNS, changesOf, type Row } from './row.ts'

interface NewRow {
  readonly row: Row
  readonly acceptance: Acceptance
  /** Encrypted, as base64. */
  readonly payload: string
}

export interface WriterOptions extends CountPlaces {
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
}

export type MessageWriter = ReturnType<typeof createMessageWriter>

/**
 * The changes of one transaction. Rows are read and locked first, decided on in memory, and written together with the
 * commit: three round trips at most, however many messages.
 *
 * Locks are taken in one order, so that transactions of any replicas wait for each other but never in a circle:
 * recipients (advisory, sorted) or dead replicas (by name), messages (by sequence, or skipping locked ones), quota
 * counters (by name), memos (by name), counters that are new (by name), and last the counts, each transaction in a shard of
 * its own.
 */
export function createMessageWriter(client: Client, { keepsEvents, ...places }: WriterOptions, now: number) {
  const stored: NewRow[] = []
  const changed = new Set<Row>()
  const memos: Memo[] = []
  const events: NewEvent[] = []
  const quotas = createQuotas(client, now)
  const counts = createCounts(places)

  /** Writes a state after an attempt, with lines for the timeline; with a final state payload and charges are removed. */
  function changeState(
    row: Row,
    next: MessageState,
    records: readonly AttemptRecord[] = [],
    providerId?: string,
  ): void {
    const { state, answer, attempts, ambiguous, dueAt } = next
    counts.addChange(row, row.state, state)
    Object.assign(row, { state, answer, attempts, ambiguous, dueAt, leaseUntil: null })
    if (records.length > 0) row.timeline = appendToTimeline(row.timeline ?? [], records)
    if (!isLive(state)) {
      if (row.charges !== null && refundsQuota(state)) quotas.refund(row.charges)
      row.charges = null
      row.finalAt = now
      row.providerId = providerId ?? row.providerId
      if (keepsEvents) events.push({ type: 'message.ended', at: now, message: row.id })
    }
    if (row.seq !== undefined) changed.add(row)
  }

  return {
    now,
    quotas,
    counts,
    changeState,
    /** Stores a new message and its memo. */
    store(acceptance: Acceptance, windows: ChargedWindows, payloadKeys: PayloadKeys): Row {
      const { id, recipient, content } = acceptance.message
      const row = newRow(acceptance, windows, now)
      const payload = encryptPayload(payloadKeys, id, { recipient, content }).toString('base64')
      counts.addChange(row, 'new', row.state)
      stored.push({ row, acceptance, payload })
      if (acceptance.memo !== undefined) memos.push(acceptance.memo)
      return row
    },
    /** Takes the lease on a message and counts the attempt. */
    claim(row: Row, { token, until }: Lease): void {
      changeState(row, stateAtClaim(row))
      row.leaseToken = token
      row.leaseUntil = until
      row.begun = false
      row.attemptedBy = null
    },
    /** Marks a message that is being sent: a newer code came. */
    markOutdated(row: Row): void {
      row.outdated = true
      if (row.seq !== undefined) changed.add(row)
    },
    /** Ends a message outside an attempt. */
    end: (row: Row, state: FinalState, records?: readonly AttemptRecord[]) =>
      changeState(row, stateAtEnd(row, state), records),
    /** Takes over a message whose lease was lost. */
    takeOver: (row: Row) =>
      changeState(row, afterLostLease(row, now, row.outdated), [
        lostLeaseRecord(row.begun, row.attemptedBy, now),
      ]),
    /** Adds an event for webhooks, if there are any: a delivery report of a message was kept. */
    addReport(row: Row, receipt: Pick<DeliveryReport, 'status' | 'errorCode' | 'at'>): void {
      if (keepsEvents)
        events.push({ type: 'message.reported', at: receipt.at, message: row.id, data: { ...receipt } })
    },
    /** Writes all of it and commits. */
    async commit(): Promise<void> {
      const changes = [...changed].map(row => ({ seq: row.seq, ...changesOf(row, now) }))
      const rows = stored.map(each => columnsOf(each, now))
      const { writes, after } = counts.write()
      await commitTransaction(
        client,
        // Ends are written first: an outlived duplicate makes room for the new message in the index of live dedupe keys.
        ...(changes.length === 0 ? [] : [runStatement(client, CHANGE, JSON.stringify(changes))]),
        ...writeMemos(client, memos),
        ...runTogether(client, [
          ...quotas.write(),
          ...(rows.length === 0 ? [] : [{ ...STORE, values: [JSON.stringify(rows)] }]),
          ...addEvents(events),
          ...writes,
        ]),
        ...runTogether(client, after),
      )
    },
  }
}

function newRow({ message, groupKey, lease }: Acceptance, windows: ChargedWindows, now: number): Row {
  const { id, channel, kind, purpose, arrivedAt, expiresAt } = message
  return {
    id,
    channel,
    kind,
    purpose,
    arrivedAt,
    expiresAt,
    groupKey: groupKey ?? null,
    ...stateAtAcceptance(lease, now),
    outdated: false,
    begun: lease?.begins === true,
    attemptedBy: null,
    finalAt: null,
    leaseUntil: lease?.until ?? null,
    leaseToken: lease?.token ?? null,
    providerId: null,
    receiptStatus: null,
    reported: false,
    charges: windows.length === 0 ? null : windows,
    timeline: null,
  }
}

/** The columns of a new message; one that was superseded within its own transaction has no payload any more. */
function columnsOf({ row, acceptance, payload }: NewRow, now: number): Record<string, unknown> {
  const { message, dedupeKey, recipientHash, groupKey } = acceptance
  return {
    ...changesOf(row, now),
    id: message.id,
    channel: message.channel,
    kind: message.kind,
    purpose: message.purpose,
    rank: rankOfPurpose(message.purpose),
    arrived_at: message.arrivedAt,
    expires_at: message.expiresAt,
    dedupe_key: dedupeKey,
    recipient_hash: recipientHash,
    group_key: groupKey,
    masked_recipient: message.masked,
    payload: row.finalAt === null ? payload : undefined,
  }
}

const CHANGE = statement(
  'change-messages',
)`UPDATE courier_messages m SET state = r.state, ready = r.ready, outdated = r.outdated, begun = r.begun, attempted_by = r.attempted_by,
      attempts = r.attempts,
      ambiguous = r.ambiguous, due_at = r.due_at, final_at = r.final_at, lease_until = r.lease_until,
      lease_token = r.lease_token, answer = r.answer, provider_id = r.provider_id, charges = r.charges,
      timeline = r.timeline, payload = CASE WHEN r.final_at IS NULL THEN m.payload END
    FROM json_to_recordset($1::json) AS r(seq bigint, ${CHANGED_COLUMNS}) WHERE m.seq = r.seq`
const STORE = statement(
  'store-messages',
)`INSERT INTO courier_messages (id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at,
      expires_at, due_at, final_at, lease_until, lease_token, dedupe_key, recipient_hash, group_key, outdated, begun,
      attempted_by, masked_recipient, answer, charges, timeline, payload)
    SELECT id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at,
      lease_until, lease_token, dedupe_key, recipient_hash, group_key, outdated, begun, attempted_by, masked_recipient, answer,
      charges, timeline, decode(payload, 'base64')
    FROM json_to_recordset($1::json) AS r(id text, channel text, kind text, purpose text, rank smallint,
      arrived_at bigint, expires_at bigint, dedupe_key text, recipient_hash text, group_key text,
      masked_recipient text, payload text, ${CHANGED_COLUMNS})`
