import type { Channel, Purpose } from '../../messages/message.ts'
import type { AttemptRecord, ChargedWindows, FinalAnswer, State } from '../outbox.ts'
import { readinessOf } from '../rules.ts'

/** A message in a transaction: read and locked, or new; written back with its changes. `seq`: absent until it is stored. */
export type Row = Omit<ReturnType<typeof rowOf>, 'seq'> & { readonly seq?: number }

/** The columns of a Row, of the table called `m`. */
export const ROW_COLUMNS = `m.seq, m.id, m.channel, m.kind, m.purpose, m.state, m.attempts, m.ambiguous, m.arrived_at,
  m.expires_at, m.due_at, m.final_at, m.lease_until, m.lease_token, m.group_key, m.outdated, m.begun, m.attempted_by, m.answer, m.provider_id,
  m.receipt ->> 'status' AS receipt_status, m.charges, m.timeline`

export function rowOf(read: Readonly<Record<string, unknown>>) {
  return {
    seq: read['seq'] as number,
    id: read['id'] as string,
    channel: read['channel'] as Channel,
    kind: read['kind'] as string,
    purpose: read['purpose'] as Purpose,
    arrivedAt: read['arrived_at'] as number,
    expiresAt: read['expires_at'] as number,
    groupKey: read['group_key'] as string | null,
    state: read['state'] as State,
    outdated: read['outdated'] as boolean,
    /** Its attempt has begun, or may have. */
    begun: read['begun'] as boolean,
    /** The provider that it went to, where that was noted; see Outbox.beginAttempt. */
    attemptedBy: read['attempted_by'] as string | null,
    attempts: read['attempts'] as number,
    ambiguous: read['ambiguous'] as number,
    dueAt: read['due_at'] as number | null,
    finalAt: read['final_at'] as number | null,
    leaseUntil: read['lease_until'] as number | null,
    leaseToken: read['lease_token'] as string | null,
    answer: read['answer'] as FinalAnswer,
    providerId: read['provider_id'] as string | null,
    /** The latest delivery report; null when none has come. */
    receiptStatus: read['receipt_status'] as string | null,
    reported: read['receipt_status'] !== null,
    charges: read['charges'] as ChargedWindows | null,
    timeline: read['timeline'] as readonly AttemptRecord[] | null,
  }
}

/** Lists the quota windows that the end of these messages may refund. */
export function refundableWindows(rows: readonly Row[]): readonly ChargedWindows[] {
  return rows.flatMap(row => (row.charges === null ? [] : [row.charges]))
}

/** Makes the columns of a row that may change. What is null is left out: less to write and to read as JSON. */
export function changesOf(row: Row, now: number): Record<string, unknown> {
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
export const CHANGED_COLUMNS = `state text, ready smallint, outdated boolean, begun boolean, attempted_by text, attempts integer, ambiguous integer,
  due_at bigint, final_at bigint, lease_until bigint, lease_token text, answer text, provider_id text, charges jsonb,
  timeline jsonb`
