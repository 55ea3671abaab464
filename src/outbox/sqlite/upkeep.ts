import type { DatabaseSync } from 'node:sqlite'

/** So often is pruned what is too old, ms. */
const PRUNE_EVERY_MS = 60_000
/** Rows that one step forgets: about 20 ms. */
const PRUNE_STEP = 200
/** Pages in the WAL (64 MB) from which it is moved into the file before its minute is over. */
const LONG_WAL_PAGES = 16_000

/** What is done between commits, when nobody waits for it. */
export interface Upkeep {
  /** Whether there is something to prune: the time has come, or the last step left some. */
  due(now: number): boolean
  /** Forgets some of what is older than the retention, in the open transaction. */
  prune(now: number): void
  /** Moves the WAL into the file when it has grown long. */
  shortenWal(): void
  /** Moves all of the WAL into the file and empties it, so that nothing removed is left in it. */
  emptyWal(): void
}

export function createUpkeep(db: DatabaseSync, retentionMs: number): Upkeep {
  const old = db.prepare(
    `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages WHERE final_at < ? ORDER BY final_at LIMIT ${PRUNE_STEP})`,
  )
  const oldBuckets = db.prepare(
    `DELETE FROM buckets WHERE (gone_at, name) IN (SELECT gone_at, name FROM buckets WHERE gone_at <= ? LIMIT ${PRUNE_STEP})`,
  )
  const oldTallies = db.prepare('DELETE FROM tallies WHERE minute < ?')
  const walPages = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const truncate = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  let prunedAt = Number.NEGATIVE_INFINITY
  let more = false

  return {
    due: now => more || Math.abs(now - prunedAt) >= PRUNE_EVERY_MS,
    prune(now) {
      const rows = Number(old.run(now - retentionMs).changes)
      const buckets = Number(oldBuckets.run(now).changes)
      // The minutes of what may still live stay: their messages change state yet.
      if (!more) oldTallies.run(Math.floor((now - retentionMs) / 60_000))
      more = rows === PRUNE_STEP || buckets === PRUNE_STEP
      prunedAt = now
    },
    shortenWal() {
      if (Number(walPages.get()?.['log']) >= LONG_WAL_PAGES) passive.get()
    },
    emptyWal() {
      truncate.get()
    },
  }
}
