import { beginTransaction, type Client, commitTransaction, runStatement, statement } from './connect.ts'
import { OLD_REPLICAS } from './heartbeats.ts'

const PRUNE_STEP = 500

/**
 * Deletes a step of what is older than the retention. Replicas share the work: each passes by the rows that another one
 * has locked.
 * @returns whether there is more.
 */
export async function prune(client: Client, now: number, retentionMs: number): Promise<boolean> {
  const [, messages, counters, memos] = await commitTransaction(
    client,
    beginTransaction(client),
    runStatement(client, OLD_MESSAGES, now - retentionMs),
    runStatement(client, OLD_COUNTERS, now),
    runStatement(client, OLD_MEMOS, now),
    runStatement(client, OLD_COUNTS, Math.floor((now - retentionMs) / 60_000)),
    runStatement(client, OLD_REPLICAS),
  )
  return [messages, counters, memos].some(each => each?.rowCount === PRUNE_STEP)
}

const OLD_MESSAGES = statement('old-messages')`DELETE FROM courier_messages WHERE seq IN
    (SELECT seq FROM courier_messages WHERE final_at < $1 ORDER BY final_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`
const OLD_COUNTERS = statement('old-quota-counters')`DELETE FROM courier_quota_counters WHERE name IN
    (SELECT name FROM courier_quota_counters WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`
const OLD_MEMOS = statement('old-memos')`DELETE FROM courier_memos WHERE name IN
    (SELECT name FROM courier_memos WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${PRUNE_STEP} FOR UPDATE SKIP LOCKED)`
const OLD_COUNTS = statement(
  'old-counts',
)`DELETE FROM courier_counts WHERE (minute, channel, kind, state, shard) IN
    (SELECT minute, channel, kind, state, shard FROM courier_counts WHERE minute < $1 LIMIT ${PRUNE_STEP}
     FOR UPDATE SKIP LOCKED)`
