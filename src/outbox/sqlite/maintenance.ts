import type { DatabaseSync } from 'node:sqlite'

/** So often is pruned what is too old, ms. */
const PRUNE_EVERY_MS = 60_000
/** Rows that one step forgets: about 20 ms. */
const PRUNE_STEP = 200
/** Counters that one step looks at: well under a millisecond. */
const BUCKET_STEP = 500
/**
 * Pages in the WAL (8 MB) from which it is moved into the file before its minute is over. Moving eight times as many
 * at once is half the work in all, but holds up the next commit for eight times as long: some milliseconds now.
 */
const LONG_WAL_PAGES = 2000

/** What is done between commits, when nobody waits for it. */
export interface Maintenance {
  /** Whether there is something to prune: the time has come, or the last step left some. */
  due(now: number): boolean
  /** Forgets some of what is older than the retention, in the open transaction. */
  prune(now: number): void
  /** Moves the WAL into the file when it has grown long. */
  shortenWal(): void
  /** Moves all of the WAL into the file and empties it, so that nothing removed is left in it. */
  emptyWal(): void
}

export function createMaintenance(db: DatabaseSync, retentionMs: number): Maintenance {
  const old = db.prepare(
    `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages WHERE final_at < ? ORDER BY final_at LIMIT ${PRUNE_STEP})`,
  )
  const someBuckets = db.prepare(
    `SELECT name, gone_at FROM buckets WHERE name > ? ORDER BY name LIMIT ${BUCKET_STEP}`,
  )
  const oldBucket = db.prepare('DELETE FROM buckets WHERE name = ?')
  const oldNotes = db.prepare(
    `DELETE FROM notes WHERE name IN (SELECT name FROM notes WHERE gone_at <= ? ORDER BY gone_at LIMIT ${PRUNE_STEP})`,
  )
  const oldTallies = db.prepare('DELETE FROM tallies WHERE minute < ?')
  const walPages = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const truncate = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  let prunedAt = Number.NEGATIVE_INFINITY
  let more = false
  /** The last counter that was looked at. */
  let reached = ''

  /** Looks through the next counters, in a circle: no index by age, since it would cost every message a page. */
  function pruneBuckets(now: number): void {
    const names = someBuckets.all(reached)
    for (const { name, gone_at: goneAt } of names) if (Number(goneAt) <= now) oldBucket.run(name ?? null)
    reached = names.length < BUCKET_STEP ? '' : String(names.at(-1)?.['name'])
  }

  return {
    due: now => more || Math.abs(now - prunedAt) >= PRUNE_EVERY_MS,
    prune(now) {
      const rows = Number(old.run(now - retentionMs).changes)
      const notes = Number(oldNotes.run(now).changes)
      pruneBuckets(now)
      // The minutes of what may still live stay: their messages change state yet.
      if (!more) oldTallies.run(Math.floor((now - retentionMs) / 60_000))
      more = rows === PRUNE_STEP || notes === PRUNE_STEP || reached !== ''
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
