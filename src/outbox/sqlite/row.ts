import type { SQLOutputValue } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import type { FinalAnswer, State } from '../outbox.ts'

/** The columns that are read of a message before its state changes. */
export const ROW_COLUMNS = `seq, id, channel, kind, state, attempts, ambiguous, arrived_at, expires_at, final_at, answer,
  group_key, outdated, begun, attempted_by, provider_id, receipt ->> 'status' AS receipt_status, charges, timeline`

export type Row = Readonly<ReturnType<typeof rowOf>>

/** A message before its state changes. */
export function rowOf(read: Record<string, SQLOutputValue>) {
  return {
    seq: read['seq'] as number,
    id: read['id'] as string,
    channel: read['channel'] as Channel,
    kind: read['kind'] as string,
    state: read['state'] as State,
    attempts: read['attempts'] as number,
    ambiguous: read['ambiguous'] as number,
    arrivedAt: read['arrived_at'] as number,
    expiresAt: read['expires_at'] as number,
    finalAt: read['final_at'] as number | null,
    answer: read['answer'] as FinalAnswer,
    groupKey: read['group_key'] as string | null,
    /** A newer code of its group came while it was being sent. */
    outdated: read['outdated'] === 1,
    /** Its attempt may have begun. False only for a message of a process that died before it did. */
    begun: read['begun'] === 1,
    /** The provider that it went to, where that was noted; see Outbox.beginAttempt. */
    attemptedBy: read['attempted_by'] as string | null,
    providerId: read['provider_id'] as string | null,
    /** The latest delivery report; null when none has come. */
    receiptStatus: read['receipt_status'] as string | null,
    reported: read['receipt_status'] !== null,
    charges: read['charges'] as string | null,
    timeline: read['timeline'] as string | null,
  }
}
