import { createCountChanges } from '../counts.ts'
import { encryptPayload, type PayloadKeys } from '../encryption.ts'
import { chargesOf, type Row } from '../message-row.ts'
import type { Charge, ChargedWindows } from '../outbox.ts'
import { rankOfPurpose, readinessOf } from '../rules.ts'
import { beginUnit, type UnitOfWork } from '../unit.ts'
import { type CountPlaces, writeCounts } from './backlog.ts'
import {
  type Client,
  commitTransaction,
  type QueryResult,
  runStatement,
  runTogether,
  statement,
} from './connect.ts'
import { addEvents } from './events.ts'
import { writeMemos } from './memos.ts'
import { createQuotas } from './quotas.ts'

export interface WriterOptions extends CountPlaces {
  readonly payloadKeys: PayloadKeys
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
}

export type Transaction = ReturnType<typeof openTransaction>

/**
 * A unit of work on the database: rows are read and locked first, decided about in memory, and written together with the
 * commit: three round trips at most, however many messages.
 *
 * Locks are taken in one order, so that transactions of any replicas wait for each other but never in a circle:
 * recipients (advisory, sorted) or dead replicas (by name), messages (by sequence, or skipping locked ones), quota
 * counters (by name), memos (by name), counters that are new (by name), and last the counts, each transaction in a shard of
 * its own.
 *
 * @param now ms since the epoch.
 */
export function openTransaction(client: Client, options: WriterOptions, now: number) {
  const counters = createQuotas(client, now)
  const counts = createCountChanges()
  let isLocked = false
  /** They are given back once their counters are locked. */
  const refunds: ChargedWindows[] = []

  /** Locks the counters of what the decisions gave back, where that was not known before them, and gives it back. */
  async function lockRefunds(): Promise<void> {
    if (refunds.length === 0) return
    await counters.lock([], refunds)
    for (const windows of refunds.splice(0)) counters.refund(windows)
  }

  const unit = beginUnit(now, {
    keepsEvents: options.keepsEvents,
    marksAttempts: true,
    ended: [],
    counts,
    quotas: {
      charge: charges => counters.charge(charges),
      refund: windows => (isLocked ? counters.refund(windows) : void refunds.push(windows)),
    },
  })
  return {
    unit,
    /** Locks the counters of charges, and of all rows that the unit of work may end, before it decides about any. */
    async lockCounters(charges: readonly Charge[], endable: readonly Row[], create: boolean): Promise<void> {
      await counters.lock(charges, endable.map(chargesOf), create)
      isLocked = true
    },
    lockRefunds,
    /** Writes all of it and commits; at once, when no counters wait for their locks, so that statements may follow it. */
    async commit(): Promise<void> {
      if (refunds.length > 0) await lockRefunds()
      const { writes, after } = writeCounts(options, counts)
      await commitTransaction(
        client,
        ...writeReceipts(client, unit),
        // Ends are written first: an outlived duplicate makes room for the new message in the index of live dedupe keys.
        ...writeChanges(client, unit),
        ...writeMemos(client, unit.memos),
        ...runTogether(client, [
          ...counters.write(),
          ...insertStored(unit, options.payloadKeys),
          ...addEvents(unit.events),
          ...writes,
        ]),
        ...runTogether(client, after),
      )
    },
  }
}

/** Writes delivery reports; the provider's id is written where a row has none. */
function writeReceipts(client: Client, { receipts }: UnitOfWork): Promise<QueryResult>[] {
  const rows = [...receipts].map(([{ seq }, { receipt, providerId }]) => ({
    seq,
    provider_id: providerId,
    receipt,
  }))
  return rows.length === 0 ? [] : [runStatement(client, KEEP_RECEIPTS, JSON.stringify(rows))]
}

function writeChanges(client: Client, { changed, now }: UnitOfWork): Promise<QueryResult>[] {
  const rows = [...changed].filter(({ seq }) => seq !== undefined)
  if (rows.length === 0) return []
  const changes = rows.map(row => ({ seq: row.seq, ...changesOf(row, now) }))
  return [runStatement(client, CHANGE, JSON.stringify(changes))]
}

/** The columns of new messages; one that was superseded within its own transaction has no payload any more. */
function insertStored({ stored, now }: UnitOfWork, payloadKeys: PayloadKeys) {
  if (stored.length === 0) return []
  const rows = stored.map(({ row, acceptance: { message, dedupeKey, recipientHash, groupKey } }) => {
    const { id, recipient, content } = message
    const payload =
      row.finalAt === null
        ? encryptPayload(payloadKeys, id, { recipient, content }).toString('base64')
        : undefined
    return {
      ...changesOf(row, now),
      id,
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
      payload,
    }
  })
  return [{ ...STORE, values: [JSON.stringify(rows)] }]
}

/** Makes the columns of a row that may change. What is null is left out: less to write and to read as JSON. */
function changesOf(row: Row, now: number): Record<string, unknown> {
  return {
    state: row.state,
    ready: readinessOf(row, now) ?? undefined,
    outdated: row.outdated,
    begun: row.begun,
    attempted_by: row.attemptedBy ?? undefined,
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

/** Those columns with their types, for json_to_recordset. */
const CHANGED_COLUMNS = `state text, ready smallint, outdated boolean, begun boolean, attempted_by text, attempts integer, ambiguous integer,
  due_at bigint, final_at bigint, lease_until bigint, lease_token text, answer text, provider_id text, charges jsonb,
  timeline jsonb`
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
const KEEP_RECEIPTS = statement(
  'write-receipts',
)`UPDATE courier_messages m SET receipt = r.receipt, provider_id = coalesce(m.provider_id, r.provider_id)
    FROM json_to_recordset($1::json) AS r(seq bigint, provider_id text, receipt jsonb) WHERE m.seq = r.seq`
