import type { Channel, Purpose } from '../../messages/message.ts'
import type { AttemptRecord, FinalAnswer, State } from '../outbox.ts'

/** What a message was counted in: counter's name and start of the window. */
export type Counters = readonly (readonly [name: string, since: number])[]

/** A message as a transaction holds it: read and locked, or made, then written back with what has changed. */
export interface Row {
  /** Absent until it is stored. */
  readonly seq?: number
  readonly id: string
  readonly channel: Channel
  readonly kind: string
  readonly purpose: Purpose
  readonly arrivedAt: number
  readonly expiresAt: number
  readonly codeGroup: string | null
  state: State
  outdated: boolean
  attempts: number
  ambiguous: number
  dueAt: number | null
  finalAt: number | null
  leaseUntil: number | null
  leaseToken: string | null
  answer: FinalAnswer
  providerId: string | null
  charges: Counters | null
  timeline: readonly AttemptRecord[] | null
}

/** The columns of a Row, of the table called `m`. */
export const ROW_COLUMNS = `m.seq, m.id, m.channel, m.kind, m.purpose, m.state, m.attempts, m.ambiguous, m.arrived_at,
  m.expires_at, m.due_at, m.final_at, m.lease_until, m.lease_token, m.code_group, m.outdated, m.answer, m.provider_id,
  m.charges, m.timeline`

export function rowOf(read: Readonly<Record<string, unknown>>): Row {
  return {
    seq: read['seq'] as number,
    id: read['id'] as string,
    channel: read['channel'] as Channel,
    kind: read['kind'] as string,
    purpose: read['purpose'] as Purpose,
    arrivedAt: read['arrived_at'] as number,
    expiresAt: read['expires_at'] as number,
    codeGroup: read['code_group'] as string | null,
    state: read['state'] as State,
    outdated: read['outdated'] as boolean,
    attempts: read['attempts'] as number,
    ambiguous: read['ambiguous'] as number,
    dueAt: read['due_at'] as number | null,
    finalAt: read['final_at'] as number | null,
    leaseUntil: read['lease_until'] as number | null,
    leaseToken: read['lease_token'] as string | null,
    answer: read['answer'] as FinalAnswer,
    providerId: read['provider_id'] as string | null,
    charges: read['charges'] as Counters | null,
    timeline: read['timeline'] as readonly AttemptRecord[] | null,
  }
}

/** What of a Row may change, under its columns' names. */
export function changesOf(row: Row, now: number): Record<string, unknown> {
  return {
    state: row.state,
    // Kept in step with state and due_at here, and nowhere else.
    ready: row.state === 'queued' ? ((row.dueAt ?? now) <= now ? 1 : 0) : null,
    outdated: row.outdated,
    attempts: row.attempts,
    ambiguous: row.ambiguous,
    due_at: row.dueAt,
    final_at: row.finalAt,
    lease_until: row.leaseUntil,
    lease_token: row.leaseToken,
    answer: row.answer,
    provider_id: row.providerId,
    charges: row.charges,
    timeline: row.timeline,
  }
}

/** The same columns with their types, for json_to_recordset. */
export const CHANGED_COLUMNS = `state text, ready smallint, outdated boolean, attempts integer, ambiguous integer,
  due_at bigint, final_at bigint, lease_until bigint, lease_token text, answer text, provider_id text, charges jsonb,
  timeline jsonb`
