import type { Acceptance, AttemptRecord, FinalState, Lease, Memo } from '../outbox.ts'
import { afterLostLease, appendToTimeline, type MessageState, rankOfPurpose, refundsQuota } from '../rules.ts'
import { ask, type Client, commit, type Statement } from './connect.ts'
import { type Counts, createCounts } from './counts.ts'
import { writeMemos } from './memos.ts'
import { createQuotas, type Quotas } from './quotas.ts'
import { CHANGED_COLUMNS, type Counters, changesOf, type Row } from './row.ts'

/**
 * What one transaction changes. Rows are read and locked first, decided on in memory, and written together with the
 * commit: three round trips at most, however many messages.
 *
 * Locks are taken in one order, so that transactions of any replicas wait for each other but never in a circle:
 * recipients (advisory, sorted) or owners that are gone (by name), messages (by sequence, or skipping locked ones),
 * counters (by name), notes (by name), and at last the counts, in a shard of one's own.
 */
export interface RowChanges {
  readonly now: number
  readonly quotas: Quotas
  readonly counts: Counts
  /** Writes where a message stands, with a line of its timeline; a final one loses content, recipient and charges. */
  put(row: Row, standing: MessageState, record?: AttemptRecord, providerId?: string): void
  /** Ends a message outside an attempt. */
  end(row: Row, state: FinalState, record?: AttemptRecord): void
  /** Takes the lease on a message and counts the attempt. */
  claim(row: Row, lease: Lease): void
  /** Takes over a message whose lease was lost. */
  takeOver(row: Row): void
  /** A newer code came while it was being sent. */
  outdate(row: Row): void
  /** Stores a message and what is to be remembered with it; its letter sealed, as base64. */
  store(acceptance: Acceptance, charges: Counters, sealed: string): Row
  /** Writes everything and commits. */
  commit(): Promise<void>
}

export function createRowChanges(client: Client, shard: number, now: number): RowChanges {
  const fresh: { readonly row: Row; readonly acceptance: Acceptance; readonly sealed: string }[] = []
  const changed = new Set<Row>()
  const notes: Memo[] = []
  const quotas = createQuotas(client, now)
  const counts = createCounts(client, shard)

  function put(row: Row, standing: MessageState, record?: AttemptRecord, providerId?: string): void {
    counts.moved(row, row.state, standing.state)
    Object.assign(row, standing, { leaseUntil: null })
    if (record !== undefined) row.timeline = appendToTimeline(row.timeline ?? [], record)
    if (row.state !== 'queued' && row.state !== 'sending') {
      if (row.charges !== null && refundsQuota(row.state)) quotas.giveBack(row.charges)
      row.charges = null
      row.finalAt = now
      row.providerId = providerId ?? null
    }
    if (row.seq !== undefined) changed.add(row)
  }

  return {
    now,
    quotas,
    counts,
    put,
    end(row, state, record) {
      const { attempts, ambiguous } = row
      put(row, { state, answer: null, attempts, ambiguous, dueAt: null }, record)
    },
    claim(row, { token, until }) {
      const { attempts, ambiguous } = row
      put(row, { state: 'sending', answer: null, attempts: attempts + 1, ambiguous, dueAt: null })
      row.leaseToken = token
      row.leaseUntil = until
    },
    takeOver(row) {
      const lost = { at: now, tookMs: 0, provider: '', outcome: 'lease-lost', code: 'LEASE', reply: '' }
      put(row, afterLostLease(row, now, row.outdated), lost)
    },
    outdate(row) {
      row.outdated = true
      if (row.seq !== undefined) changed.add(row)
    },
    store(acceptance, charges, sealed) {
      const row = rowFor(acceptance, charges, now)
      counts.moved(row, 'new', row.state)
      fresh.push({ row, acceptance, sealed })
      if (acceptance.memo !== undefined) notes.push(acceptance.memo)
      return row
    },
    async commit() {
      const changes = [...changed].map(row => ({ seq: row.seq, ...changesOf(row, now) }))
      const stored = fresh.map(({ row, acceptance, sealed }) => ({
        ...changesOf(row, now),
        ...factsOf(acceptance),
        sealed: row.finalAt === null ? sealed : null,
      }))
      await commit(
        client,
        // First what ends: an outlived twin makes room for the new one in the index of live twins.
        ...(changes.length === 0 ? [] : [ask(client, CHANGE, JSON.stringify(changes))]),
        ...(stored.length === 0 ? [] : [ask(client, STORE, JSON.stringify(stored))]),
        ...writeMemos(client, notes),
        ...quotas.write(),
        ...counts.write(),
      )
    },
  }
}

/** A message that was not there before. */
function rowFor({ message, groupKey, lease }: Acceptance, charges: Counters, now: number): Row {
  const { id, channel, kind, purpose, arrivedAt, expiresAt } = message
  return {
    id,
    channel,
    kind,
    purpose,
    arrivedAt,
    expiresAt,
    codeGroup: groupKey ?? null,
    state: lease === undefined ? 'queued' : 'sending',
    outdated: false,
    attempts: lease === undefined ? 0 : 1,
    ambiguous: 0,
    dueAt: lease === undefined ? now : null,
    finalAt: null,
    leaseUntil: lease?.until ?? null,
    leaseToken: lease?.token ?? null,
    answer: null,
    providerId: null,
    charges: charges.length === 0 ? null : charges,
    timeline: null,
  }
}

/** What of a message never changes, under its columns' names. */
function factsOf({ message, dedupeKey, recipientHash, groupKey }: Acceptance): Record<string, unknown> {
  return {
    id: message.id,
    channel: message.channel,
    kind: message.kind,
    purpose: message.purpose,
    rank: rankOfPurpose(message.purpose),
    arrived_at: message.arrivedAt,
    expires_at: message.expiresAt,
    twin: dedupeKey,
    recipient: recipientHash,
    code_group: groupKey ?? null,
    masked: message.masked,
  }
}

const CHANGE: Statement = {
  name: 'change-messages',
  text: `UPDATE courier_messages m SET state = r.state, ready = r.ready, outdated = r.outdated, attempts = r.attempts,
      ambiguous = r.ambiguous, due_at = r.due_at, final_at = r.final_at, lease_until = r.lease_until,
      lease_token = r.lease_token, answer = r.answer, provider_id = r.provider_id, charges = r.charges,
      timeline = r.timeline, sealed = CASE WHEN r.final_at IS NULL THEN m.sealed END
    FROM json_to_recordset($1::json) AS r(seq bigint, ${CHANGED_COLUMNS}) WHERE m.seq = r.seq`,
}
const STORE: Statement = {
  name: 'store-messages',
  text: `INSERT INTO courier_messages (id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at,
      expires_at, due_at, final_at, lease_until, lease_token, twin, recipient, code_group, outdated, masked, answer,
      charges, timeline, sealed)
    SELECT id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at, final_at,
      lease_until, lease_token, twin, recipient, code_group, outdated, masked, answer, charges, timeline,
      decode(sealed, 'base64')
    FROM json_to_recordset($1::json) AS r(id text, channel text, kind text, purpose text, rank smallint,
      arrived_at bigint, expires_at bigint, twin text, recipient text, code_group text, masked text, sealed text,
      ${CHANGED_COLUMNS})`,
}
