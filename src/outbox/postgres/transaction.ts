import { encryptPayload, type PayloadKeys } from '../encryption.ts'
import type { Row } from '../message-row.ts'
import type { Charge, ChargedWindows, SettledByStore } from '../outbox.ts'
import { COUNTER_COLUMNS, counterName, createQuotaLedger, type QuotaCounter } from '../quota.ts'
import { beginWork, changesOf, createCountChanges, newColumnsOf, type UnitOfWork } from '../unit-of-work.ts'
import { writeCounts } from './backlog.ts'
import type { Client, QueryResult, Statement } from './connect.ts'
import { awaitStatements, commitTransaction, runStatement, statement } from './connect.ts'
import { finishFrom, KEPT_COLUMNS } from './schema.ts'
import { addEvents, writeKnown, writeMemos } from './side-tables.ts'

export interface WriterOptions {
  readonly payloadKeys: PayloadKeys
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
  /** The ends that the next claim of their channel reports: those of a commit whose answer was lost are in the store alone. */
  readonly ended: SettledByStore[]
}

/**
 * A unit of work on the database: rows are read and locked first, decided about in memory, and written together with the
 * commit: three round trips as a rule, however many messages.
 *
 * Locks are taken in one order, so that transactions of any replicas wait for each other but never in a circle:
 * recipients (advisory, sorted) or dead replicas (by name), messages (by sequence, or skipping locked ones), quota
 * counters (by name), memos (by name), known numbers (by hash), counters that are new (by name), and last the counts, each session in a shard of its own.
 *
 * @param now ms since the epoch.
 */
export function openTransaction(client: Client, options: WriterOptions, now: number) {
  const counters = createQuotas(client)
  const counts = createCountChanges()
  let isLocked = false
  /** They are given back once their counters are locked. */
  const refunds: ChargedWindows[] = []

  /** Locks the counters of what the decisions gave back, where that was not known before them, and gives it back. */
  async function lockRefunds(): Promise<void> {
    if (refunds.length === 0) return
    await counters.lock([], refunds)
    for (const windows of refunds.splice(0)) counters.ledger.refund(windows)
  }

  const work = beginWork(now, {
    keepsEvents: options.keepsEvents,
    ended: [],
    counts,
    quotas: {
      charge: counters.ledger.charge,
      refund: windows => (isLocked ? counters.ledger.refund(windows) : void refunds.push(windows)),
    },
  })
  return {
    work,
    /** Locks the counters of charges, and of all rows that the unit of work may end, before it decides about any. */
    async lockCounters(charges: readonly Charge[], endable: readonly Row[], create: boolean): Promise<void> {
      const refunds = endable.map(each => each.charges ?? [])
      await counters.lock(charges, refunds, create)
      isLocked = true
    },
    /** Writes what has changed so far, so that the statements after it find it. */
    async writeChanges(): Promise<void> {
      await awaitStatements(...writeChanges(client, work))
      work.changed.clear()
    },
    /** Writes all of it and commits. */
    async commit(): Promise<void> {
      await lockRefunds()
      await commitTransaction(
        client,
        ...writeReceipts(client, work),
        // Ends are written first: an outlived duplicate makes room for the new message in the index of live dedupe keys.
        ...writeChanges(client, work),
        ...writeMemos(client, work.memos),
        ...writeKnown(client, work.known, now),
        ...counters.write(),
        ...insertStored(client, work, options.payloadKeys),
        ...addEvents(client, work.events),
        ...writeCounts(client, counts),
      )
      options.ended.push(...work.ended)
    },
  }
}

/** Writes delivery reports: with a live message, or beside a finished one. The provider's id is written where a row has none. */
function writeReceipts(client: Client, { receipts }: UnitOfWork): Promise<QueryResult>[] {
  const rows = [...receipts].map(([row, { receipt, providerId }]) => ({
    seq: row.seq,
    id: row.id,
    channel: row.channel,
    final_at: row.finalAt,
    kind: row.kind,
    arrived_at: row.arrivedAt,
    undelivered: row.undelivered,
    provider_id: providerId,
    receipt,
  }))
  return rows.length === 0 ? [] : [runStatement(client, KEEP_RECEIPTS, JSON.stringify(rows))]
}

function writeChanges(client: Client, { changed, now }: UnitOfWork): Promise<QueryResult>[] {
  const rows = [...changed].filter(({ seq }) => seq !== undefined)
  if (rows.length === 0) return []
  const changes = rows.map(row => ({ seq: row.seq, ...changesOf(row, now) }))
  const into = rows.some(({ finalAt }) => finalAt !== null) ? CHANGE_AND_FINISH : CHANGE
  return [runStatement(client, into, JSON.stringify(changes))]
}

/** Inserts new messages; one that has ended within its own transaction has no payload any more. */
function insertStored(client: Client, { stored, now }: UnitOfWork, payloadKeys: PayloadKeys) {
  const rows = stored.map(({ row, acceptance }) => {
    const { id, recipient, content } = acceptance.message
    const encrypt = () => encryptPayload(payloadKeys, id, { recipient, content }).toString('base64')
    return { ...newColumnsOf(row, acceptance, now), payload: row.finalAt === null ? encrypt() : undefined }
  })
  const store = (into: Statement, isLive: boolean) => {
    const those = rows.filter(({ payload }) => (payload !== undefined) === isLive)
    return those.length === 0 ? [] : [runStatement(client, into, JSON.stringify(those))]
  }
  return [...store(STORE, true), ...store(STORE_FINISHED, false)]
}

/** The columns that may change, with their types, for json_to_recordset. */
const CHANGED_COLUMNS = `state text, ready smallint, outdated boolean, begun boolean, attempted_by text, attempts integer, ambiguous integer,
  due_at bigint, final_at bigint, lease_until bigint, lease_token text, answer text, provider_id text, charges jsonb,
  timeline jsonb`
const CHANGES = `json_to_recordset($1::json) AS r(seq bigint, ${CHANGED_COLUMNS}) WHERE m.seq = r.seq`
const CHANGE_LIVE = `UPDATE courier_live m SET ${CHANGED_COLUMNS.replace(/(\w+) \w+/g, '$1 = r.$1')} FROM ${CHANGES}`
const CHANGE = statement`${CHANGE_LIVE}`
/** Also moves the messages that have ended from the live ones to their day. */
const CHANGE_AND_FINISH = statement`WITH changed AS (${CHANGE_LIVE} AND r.final_at IS NULL), ended AS (
    DELETE FROM courier_live m USING ${CHANGES} AND r.final_at IS NOT NULL
    RETURNING ${KEPT_COLUMNS}, r.state, r.attempts, r.ambiguous, r.final_at, r.lease_token, r.begun, r.attempted_by, r.outdated,
      r.answer, r.provider_id, r.timeline
  ) ${finishFrom('ended')}`
const NEW_COLUMNS = `id text, channel text, kind text, purpose text, rank smallint, arrived_at bigint, expires_at bigint,
      dedupe_key text, recipient_hash text, group_key text, masked_recipient text, destination text, country text, payload text, ${CHANGED_COLUMNS}`
const STORED_COLUMNS = `id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at, due_at,
      lease_until, lease_token, dedupe_key, recipient_hash, group_key, outdated, begun, masked_recipient, charges, destination,
      country`
const STORE = statement`INSERT INTO courier_live (${STORED_COLUMNS}, payload)
    SELECT ${STORED_COLUMNS}, decode(payload, 'base64') FROM json_to_recordset($1::json) AS r(${NEW_COLUMNS})`
/** Stores messages that ended in the transaction that they came in. */
const STORE_FINISHED = statement`${finishFrom(
  `(SELECT *, nextval('courier_messages_seq_seq') AS seq, NULL::jsonb AS receipt
    FROM json_to_recordset($1::json) AS r(${NEW_COLUMNS})) AS m`,
)}`
const KEEP_RECEIPTS = statement`WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS r(seq bigint, id text, channel text, final_at bigint, kind text,
      arrived_at bigint, undelivered boolean, provider_id text, receipt jsonb)
  ), failed AS (
    INSERT INTO courier_undelivered (arrived_at, id, channel, kind) SELECT arrived_at, id, channel, kind FROM given WHERE undelivered
    ON CONFLICT DO NOTHING
  ), arrived AS (
    DELETE FROM courier_undelivered u USING given g WHERE NOT g.undelivered AND u.arrived_at = g.arrived_at AND u.id = g.id
  ), live AS (
    UPDATE courier_live m SET receipt = g.receipt, provider_id = coalesce(m.provider_id, g.provider_id)
    FROM given g WHERE m.seq = g.seq
  )
  INSERT INTO courier_reports AS kept (final_at, id, channel, provider_id, receipt)
    SELECT final_at, id, channel, provider_id, receipt FROM given WHERE final_at IS NOT NULL
    ON CONFLICT (id, final_at) DO UPDATE SET receipt = excluded.receipt, provider_id = coalesce(kept.provider_id, excluded.provider_id)`

/** The quotas' counters of one transaction: locked, counted in memory, written back. */
function createQuotas(client: Client) {
  /** As they are stored. */
  const locked = new Map<string, QuotaCounter>()
  const ledger = createQuotaLedger(name => locked.get(name))

  return {
    ledger,
    /**
     * Reads and locks the counters of charges, and those that refunds would touch. One that is not there is written as it
     * is after its charges; if another transaction is the first to write it, this one fails, and is worth another try.
     * @param create writes those that are not there at once, empty: then no other transaction can be the first.
     */
    async lock(
      charges: readonly Charge[],
      refunds: readonly ChargedWindows[],
      create = false,
    ): Promise<void> {
      const charged = charges.map(counterName)
      const names = new Set([...charged, ...refunds.flat().map(([name]) => name)])
      if (names.size === 0) return
      if (create) await runStatement(client, CREATE, charged)
      const { rows } = await runStatement(client, LOCK, [...names])
      for (const row of rows) locked.set(row['name'] as string, row as unknown as QuotaCounter)
    },
    /** Writes what has changed. The first one may wait for another transaction that writes the same new counter. */
    write(): Promise<QueryResult>[] {
      const write = (into: Statement, isStored: boolean) => {
        const counters = [...ledger.changed].filter(([name]) => locked.has(name) === isStored)
        const rows = counters.map(([name, counter]) => ({ name, ...counter }))
        return rows.length === 0 ? [] : [runStatement(client, into, JSON.stringify(rows))]
      }
      return [...write(INSERT, false), ...write(UPDATE, true)]
    },
  }
}

const RECORDS = `SELECT name, "windowStart", current, previous, "expiresAt"
  FROM json_to_recordset($1::json)
    AS r(name text, "windowStart" bigint, current integer, previous integer, "expiresAt" bigint)
  ORDER BY name`

const LOCK = statement`SELECT ${COUNTER_COLUMNS} FROM courier_quota_counters WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE`
const COLUMNS = '(name, window_start, current, previous, expires_at)'
const CREATE = statement`INSERT INTO courier_quota_counters ${COLUMNS}
    SELECT DISTINCT name, 0, 0, 0, 0 FROM unnest($1::text[]) AS name ORDER BY name ON CONFLICT DO NOTHING`
const INSERT = statement`INSERT INTO courier_quota_counters ${COLUMNS} ${RECORDS}`
const UPDATE = statement`UPDATE courier_quota_counters c SET window_start = r."windowStart", current = r.current, previous = r.previous,
      expires_at = r."expiresAt"
    FROM (${RECORDS}) AS r WHERE c.name = r.name`
