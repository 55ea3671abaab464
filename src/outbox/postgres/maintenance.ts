import type { Clock } from '../../runtime/clock.ts'
import { FIGURES_KEPT_MS, QUARTER_MS, type StoreLog } from '../outbox.ts'
import type { Connections } from './connect.ts'
import { beginTransaction, commitTransaction, runStatement, statement, toError } from './connect.ts'
import { DAY_MS, dropDays, makeDays } from './days.ts'
import { OLD_REPLICAS } from './heartbeats.ts'

const PRUNE_STEP = 500
/** How often old rows are pruned, ms by the clock. */
const PRUNE_EVERY_MS = 60_000

/**
 * Sees to the partitions every minute, and deletes a step of what is older than the retention in the other tables as often, or at
 * every call while there is more. Replicas share the work: each passes by the rows that another one has locked. A failure is logged:
 * it must not take along what was claimed before it, since that would wait for the end of its lease.
 */
export function createPruning(
  { retentionDays, clock, log }: { retentionDays: number; clock: Clock; log: StoreLog },
  connections: Pick<Connections, 'use'>,
): () => Promise<void> {
  let seenAt = Number.NEGATIVE_INFINITY
  let hasMore = false
  return async () => {
    const now = clock.now()
    const isDue = Math.abs(now - seenAt) >= PRUNE_EVERY_MS
    if (!isDue && !hasMore) return
    hasMore = false
    if (isDue) seenAt = now
    const retentionMs = retentionDays * DAY_MS
    try {
      await connections.use(async client => {
        const deleted = await commitTransaction(
          client,
          beginTransaction(client),
          runStatement(client, OLD_COUNTERS, now),
          runStatement(client, OLD_MEMOS, now),
          runStatement(client, OLD_NUMBERS, now),
          runStatement(client, OLD_COUNTS, Math.floor((now - retentionMs) / 60_000)),
          runStatement(client, OLD_FIGURES, Math.floor((now - FIGURES_KEPT_MS) / QUARTER_MS)),
          runStatement(client, OLD_UNDELIVERED, now - retentionMs),
          runStatement(client, OLD_REPLICAS),
        )
        hasMore = deleted.some(({ rowCount }) => rowCount === PRUNE_STEP)
        if (!isDue) return
        await makeDays(client, retentionDays, [now, now + DAY_MS])
        await dropDays(client, now - retentionMs)
      })
    } catch (error) {
      log({ doing: 'prune', message: toError(error).message })
    }
  }
}

const oldRows = (table: string, key: string, where: string) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`
const OLD_FIGURES = statement`${oldRows('courier_figures', 'quarter, channel, name, shard', 'quarter < $1')}`
const OLD_UNDELIVERED = statement`${oldRows('courier_undelivered', 'arrived_at, id', 'arrived_at < $1')}`
const OLD_COUNTERS = statement`${oldRows('courier_quota_counters', 'name', 'expires_at <= $1')}`
const OLD_MEMOS = statement`${oldRows('courier_memos', 'name', 'expires_at <= $1')}`
const OLD_NUMBERS = statement`${oldRows('courier_known_numbers', 'recipient_hash', 'expires_at <= $1')}`
const OLD_COUNTS = statement`${oldRows('courier_counts', 'minute, channel, kind, state, shard', 'minute < $1')}`
