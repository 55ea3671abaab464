import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import type { AttemptRecord, FinalState, State } from '../outbox.ts'
import { afterLostLease, appendToTimeline, type MessageState, refundsQuota } from '../rules.ts'
import type { Counts } from './counts.ts'
import type { Counters, Quotas } from './quotas.ts'

/** The columns that are read of a message before its state changes. */
export const LIVE_COLUMNS =
  'seq, id, channel, kind, state, attempts, ambiguous, arrived_at, expires_at, code_group, outdated, charges, timeline'

/** A message before its state changes. */
export interface LiveRow {
  readonly seq: number
  readonly id: string
  readonly channel: Channel
  readonly kind: string
  readonly state: State
  readonly attempts: number
  readonly ambiguous: number
  readonly arrivedAt: number
  readonly expiresAt: number
  readonly codeGroup: string | null
  /** A newer code of its group came while it was being sent. */
  readonly outdated: boolean
  readonly charges: string | null
  readonly timeline: string | null
}

export function liveRow(row: Record<string, SQLOutputValue>): LiveRow {
  return {
    seq: Number(row['seq']),
    id: String(row['id']),
    channel: row['channel'] as Channel,
    kind: String(row['kind']),
    state: row['state'] as State,
    attempts: Number(row['attempts']),
    ambiguous: Number(row['ambiguous']),
    arrivedAt: Number(row['arrived_at']),
    expiresAt: Number(row['expires_at']),
    codeGroup: row['code_group'] as string | null,
    outdated: row['outdated'] === 1,
    charges: row['charges'] as string | null,
    timeline: row['timeline'] as string | null,
  }
}

/** The one place that writes where a message stands after an attempt or at its end. */
export interface RowChanges {
  /** Writes a standing, with a line of the timeline; a final one loses content, recipient and its charges. */
  put(row: LiveRow, standing: MessageState, now: number, record?: AttemptRecord, providerId?: string): void
  /** Ends a message outside an attempt. */
  end(row: LiveRow, state: FinalState, now: number, record?: AttemptRecord): void
  /** Takes over a message whose lease was lost; says where it stands now. */
  takeOver(row: LiveRow, now: number): MessageState
}

export function createRowChanges(db: DatabaseSync, quotas: Quotas, tally: Counts): RowChanges {
  const queue = db.prepare(
    `UPDATE messages SET state = 'queued', ready = ?, due_at = ?, attempts = ?, ambiguous = ?, timeline = ?,
       lease_until = NULL, lease_token = NULL WHERE seq = ?`,
  )
  const finish = db.prepare(
    `UPDATE messages SET state = ?, answer = ?, final_at = ?, attempts = ?, ambiguous = ?, timeline = ?, provider_id = ?,
       ready = NULL, due_at = NULL, lease_until = NULL, lease_token = NULL, charges = NULL, sealed = NULL WHERE seq = ?`,
  )

  function put(
    row: LiveRow,
    standing: MessageState,
    now: number,
    record?: AttemptRecord,
    providerId?: string,
  ): void {
    const { state, answer, attempts, ambiguous, dueAt } = standing
    const timeline =
      record === undefined
        ? row.timeline
        : JSON.stringify(
            appendToTimeline(
              row.timeline === null ? [] : (JSON.parse(row.timeline) as AttemptRecord[]),
              record,
            ),
          )
    if (state === 'queued') {
      queue.run(dueAt === null || dueAt <= now ? 1 : 0, dueAt ?? now, attempts, ambiguous, timeline, row.seq)
    } else {
      finish.run(state, answer, now, attempts, ambiguous, timeline, providerId ?? null, row.seq)
      if (row.charges !== null && refundsQuota(state)) quotas.giveBack(JSON.parse(row.charges) as Counters)
    }
    tally.moved(row, row.state, state)
  }

  return {
    put,
    end(row, state, now, record) {
      const { attempts, ambiguous } = row
      put(row, { state, answer: null, attempts, ambiguous, dueAt: null }, now, record)
    },
    takeOver(row, now) {
      const standing = afterLostLease(row, now, row.outdated)
      put(row, standing, now, {
        at: now,
        tookMs: 0,
        provider: '',
        outcome: 'lease-lost',
        code: 'LEASE',
        reply: '',
      })
      return standing
    },
  }
}
