import type { DatabaseSync } from 'node:sqlite'
import { FIGURES_KEPT_MS, QUARTER_MS } from '../outbox.ts'

const PRUNE_EVERY_MS = 60_000
/** Rows that one step deletes: about 20 ms. */
const PRUNE_STEP = 200
/** Counters that one step looks at: well under a millisecond. */
const COUNTER_STEP = 500
/**
 * With so many pages (8 MB) the WAL is moved into the file before its minute is over. Moving eight times as many at once would
 * be half the work in all, but would hold up the next commit for eight times as long, which is some milliseconds now.
 */
const LONG_WAL_PAGES = 2000

/** The work that is done between commits, when nobody waits for the store. */
export function createMaintenance(db: DatabaseSync, retentionMs: number) {
  /** Deletes the oldest rows of a table, a step of them. */
  const oldOf = (table: string, key: string, column: string) =>
    db.prepare(
      `DELETE FROM ${table} WHERE ${key} IN
         (SELECT ${key} FROM ${table} WHERE ${column} <= ? ORDER BY ${column} LIMIT ${PRUNE_STEP})`,
    )
  const oldMessages = oldOf('messages', 'seq', 'final_at')
  const oldMemos = oldOf('memos', 'name', 'expires_at')
  const oldNumbers = oldOf('known_numbers', 'recipient_hash', 'expires_at')
  const nextCounters = db.prepare(
    `SELECT name, expires_at FROM quota_counters WHERE name > ? ORDER BY name LIMIT ${COUNTER_STEP}`,
  )
  const deleteCounter = db.prepare('DELETE FROM quota_counters WHERE name = ?')
  const oldCounts = db.prepare('DELETE FROM counts WHERE minute < ?')
  const oldFigures = db.prepare('DELETE FROM figures WHERE quarter < ?')
  const walPages = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const truncate = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  const shrink = db.prepare('PRAGMA shrink_memory')
  let prunedAt = Number.NEGATIVE_INFINITY
  let more = false
  /** The last counter that was looked at. */
  let reached = ''

  /** Looks through the next counters, round and round. There is no index by age: it would cost every message a page. */
  function pruneCounters(now: number): void {
    const names = nextCounters.all(reached)
    for (const { name, expires_at: expiresAt } of names)
      if (Number(expiresAt) <= now) deleteCounter.run(name ?? null)
    reached = names.length < COUNTER_STEP ? '' : String(names.at(-1)?.['name'])
  }

  return {
    /** Says whether there is something to prune: the time has come, or the last step left some. */
    isPruneDue: (now: number) => more || Math.abs(now - prunedAt) >= PRUNE_EVERY_MS,
    /** Deletes some of what is older than the retention, in the open transaction. */
    prune(now: number): void {
      const rows = Number(oldMessages.run(now - retentionMs).changes)
      const others = [oldMemos, oldNumbers].map(each => Number(each.run(now).changes))
      pruneCounters(now)
      // The minutes of messages that may still live stay: those messages change their state yet.
      if (!more) {
        oldCounts.run(Math.floor((now - retentionMs) / 60_000))
        oldFigures.run(Math.floor((now - FIGURES_KEPT_MS) / QUARTER_MS))
      }
      more = [rows, ...others].includes(PRUNE_STEP) || reached !== ''
      prunedAt = now
    },
    /** Moves the WAL into the file when it has grown long. */
    shortenWal(): void {
      if (Number(walPages.get()?.['log']) >= LONG_WAL_PAGES) passive.get()
    },
    /**
     * Moves all of the WAL into the file and empties it, so that nothing removed is left in it. Then it gives back the memory of
     * the pages that were read and written since the last time: those that are needed again come from the system's cache.
     */
    emptyWal(): void {
      truncate.get()
      shrink.get()
    },
  }
}
