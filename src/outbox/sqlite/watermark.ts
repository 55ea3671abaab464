import { randomBytes } from 'node:crypto'
import { closeSync, constants, fdatasync, openSync, readFileSync, writeSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { type StoreLoss, StoreUnusable } from '../outbox.ts'
import { adviseOnOpenFailure, readMeta, writeMeta } from './open.ts'

/** The progress of a store, as the database itself holds it. */
interface CommitProgress {
  /** Commits since the store was made. */
  readonly commits: number
  /** Messages stored since then. */
  readonly stored: number
  /** When the latest of these commits was, ms since the epoch. */
  readonly at: number
}

/** The progress of a store, with its name. */
interface Mark extends CommitProgress {
  /** The store's random name: another database in its place has not lost anything. */
  readonly store: string
  /** Messages that waited or were being sent. */
  readonly live: number
}

/** A loss is shown for so long, ms: an operator who is away for the night sees it, too. */
export const LOSS_SHOWN_MS = 24 * 3600 * 1000
const SYNC_EVERY_MS = 1000
/** The size of the file, which is written whole: less than a sector. */
const BYTES = 192
const FORMAT = /^watermark 1 (\w+) (\d+) (\d+) (\d+) (\d+) (\w+)\s*$/

function watermarkPath(databasePath: string): string {
  return `${databasePath}-watermark`
}

/** @returns null: there is none, or it was not written whole. */
export function readWatermark(path: string): Mark | null {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return null
  }
  const [, store = '', commits, stored, live, at, sum] = FORMAT.exec(text) ?? []
  const mark = { store, commits: Number(commits), stored: Number(stored), live: Number(live), at: Number(at) }
  return sum === undefined || bytesOf(mark).toString('latin1') !== text ? null : mark
}

/** Opens a watermark to write it; what it says stays until then. @throws StoreUnusable */
function openWatermark(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  } catch (cause) {
    throw new StoreUnusable(adviseOnOpenFailure(cause, path), { cause })
  }
}

/**
 * Finds what the opened database lacks.
 * @param mark what its watermark says.
 * @param here what the database holds itself; `isNew`: it was made just now.
 * @param noticedAt ms since the epoch.
 */
function findLoss(
  mark: Mark | null,
  here: Omit<Mark, 'live'> & { readonly isNew: boolean },
  noticedAt: number,
): StoreLoss | null {
  if (mark === null) return null
  const { at: until, live } = mark
  // A database that was made just now has taken the place of another one: all messages that lived there are gone.
  if (mark.store !== here.store)
    return here.isNew && live > 0 ? { messages: live, from: null, until, noticedAt } : null
  if (mark.commits <= here.commits) return null
  const messages = Math.max(0, mark.stored - here.stored)
  return { messages, from: here.at === 0 ? null : here.at, until, noticedAt }
}

function bytesOf({ store, commits, stored, live, at }: Mark): Buffer {
  const text = `watermark 1 ${store} ${commits} ${stored} ${live} ${at} `
  return Buffer.from(`${text}${crc32(text).toString(16)}`.padEnd(BYTES - 1).concat('\n'), 'latin1')
}

/**
 * Compares the database with its watermark, and keeps on record what it lacks, in the open transaction.
 * @param path of the database.
 * @param now ms since the epoch.
 * @returns what was lost, now or within the last day; and whether the watermark shows that nothing is lacking: beside a backup that
 *   was restored there is none, or another one.
 */
export function recordLoss(
  db: DatabaseSync,
  path: string,
  now: number,
): { readonly loss: StoreLoss | null; readonly isWhole: boolean } {
  const here = { ...readProgress(db), store: storeName(db) }
  const mark = readWatermark(watermarkPath(path))
  const earlier = readLoss(db, now)
  // A version from before commits were counted leaves messages and no progress.
  const isNew = here.commits === 0 && db.prepare('SELECT 1 FROM messages LIMIT 1').get() === undefined
  const found = findLoss(mark, { ...here, isNew }, now)
  if (found === null) return { loss: earlier, isWhole: mark?.store === here.store }
  const loss =
    earlier === null ? found : { ...found, messages: earlier.messages + found.messages, from: earlier.from }
  writeMeta(db, 'loss', JSON.stringify(loss))
  return { loss, isWhole: false }
}

/**
 * Counts commits and stored messages, in the database and after each commit in its watermark: `write` before a commit, `commit`
 * after it.
 *
 * The watermark is a small file beside the database that says how far the store had come. SQLite silently drops what it cannot
 * read at the end of its WAL, and starts without a WAL that is gone. What the watermark counts and the opened database lacks is lost.
 *
 * It is written after each commit and before anything of it is answered, and not synced then: it survives the death of the
 * process. A power cut may take its latest second, so it may be behind the database, and is never ahead of one that is whole.
 *
 * @param live counts the messages that wait or are being sent, when a transaction is committed.
 * @throws StoreUnusable when the watermark cannot be written.
 */
export function createProgressCount(db: DatabaseSync, path: string, live: () => number) {
  const store = storeName(db)
  const update = db.prepare(
    "INSERT INTO meta (key, value) VALUES ('progress', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  )
  let committed = readProgress(db)
  let pending = committed
  const file = openWatermark(watermarkPath(path))
  let timer: NodeJS.Timeout | undefined
  /** A thread of the pool syncs it, so that no commit waits for it. */
  const sync = () => {
    fdatasync(file, () => {
      timer = undefined
    })
  }
  /** Never throws: a watermark that cannot be written stays behind. */
  function writeMark(): void {
    try {
      writeSync(file, bytesOf({ store, ...committed, live: live() }), 0, BYTES, 0)
    } catch {
      return
    }
    timer ??= setTimeout(sync, SYNC_EVERY_MS).unref()
  }
  writeMark()
  return {
    /** Says how many commits there have been. */
    commits: () => committed.commits,
    /** @param at ms since the epoch. @param stored messages that the open transaction stores. */
    write(at: number, stored: number): void {
      pending = { commits: committed.commits + 1, stored: committed.stored + stored, at }
      update.run(JSON.stringify(pending))
    },
    commit(): void {
      committed = pending
      writeMark()
    },
    /** Lets go of the watermark. */
    close(): void {
      clearTimeout(timer)
      closeSync(file)
    },
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
