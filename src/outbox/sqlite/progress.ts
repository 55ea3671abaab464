import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { StoreLoss } from '../outbox.ts'
import { readMeta, writeMeta } from './open.ts'
import {
  type CommitProgress,
  findLoss,
  LOSS_SHOWN_MS,
  type Mark,
  openWatermark,
  readWatermark,
  watermarkPath,
} from './watermark.ts'

export type ProgressCount = ReturnType<typeof createProgressCount>

/**
 * Compares the database with its watermark, and keeps on record what it lacks, in the open transaction.
 * @param path of the database.
 * @param now ms since the epoch.
 * @returns what was lost, now or within the last day; and whether it was noticed now.
 */
export function recordLoss(
  db: DatabaseSync,
  path: string,
  now: number,
): { readonly loss: StoreLoss | null; readonly isNew: boolean } {
  const here = { ...readProgress(db), store: storeName(db) }
  const mark = readWatermark(watermarkPath(path))
  const earlier = readLoss(db, now)
  // A version from before commits were counted leaves messages and no progress.
  const isNew = here.commits === 0 && db.prepare('SELECT 1 FROM messages LIMIT 1').get() === undefined
  const found = findLoss(mark, { ...here, isNew }, now)
  if (found === null) return { loss: earlier, isNew: false }
  const loss = earlier === null ? found : addLosses(earlier, found)
  writeMeta(db, 'loss', JSON.stringify(loss))
  // Written in the same transaction, so that the loss is found once.
  const { commits, stored } = mark?.store === here.store ? mark : here
  writeMeta(
    db,
    'progress',
    JSON.stringify({ commits: commits + 1, stored, at: now } satisfies CommitProgress),
  )
  return { loss, isNew: true }
}

/**
 * Counts commits and stored messages, in the database and after each commit in its watermark: `write` before a commit, `commit`
 * after it.
 * @param live counts the messages that wait or are being sent, when a transaction is committed.
 */
export function createProgressCount(db: DatabaseSync, path: string, live: () => number) {
  const store = storeName(db)
  const update = db.prepare(
    "INSERT INTO meta (key, value) VALUES ('progress', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  )
  let committed = readProgress(db)
  let pending = committed
  const watermark = openWatermark(watermarkPath(path))
  const mark = (): Mark => ({ store, ...committed, live: live() })
  watermark.write(mark())
  return {
    /** @param at ms since the epoch. @param stored messages that the open transaction stores. */
    write(at: number, stored: number): void {
      pending = { commits: committed.commits + 1, stored: committed.stored + stored, at }
      update.run(JSON.stringify(pending))
    },
    commit(): void {
      committed = pending
      watermark.write(mark())
    },
    /** Lets go of the watermark. */
    close: () => watermark.close(),
  }
}

/** The store's random name, given when it is asked for first. */
function storeName(db: DatabaseSync): string {
  const known = readMeta(db, 'store')
  if (typeof known === 'string') return known
  const name = randomBytes(16).toString('hex')
  writeMeta(db, 'store', name)
  return name
}

function readProgress(db: DatabaseSync): CommitProgress {
  const known = readMeta(db, 'progress')
  return typeof known === 'string' ? (JSON.parse(known) as CommitProgress) : { commits: 0, stored: 0, at: 0 }
}

function readLoss(db: DatabaseSync, now: number): StoreLoss | null {
  const known = readMeta(db, 'loss')
  if (typeof known !== 'string') return null
  const loss = JSON.parse(known) as StoreLoss
  return now - loss.noticedAt < LOSS_SHOWN_MS ? loss : null
}

function addLosses(earlier: StoreLoss, later: StoreLoss): StoreLoss {
  return {
    ...later,
    messages: earlier.messages + later.messages,
    unsent: earlier.unsent + later.unsent,
    from: earlier.from,
  }
}
