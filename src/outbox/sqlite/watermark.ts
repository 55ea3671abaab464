import { closeSync, constants, fdatasync, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { StoreLoss } from '../outbox.ts'

/** The progress of a store, as the database itself holds it. */
export interface CommitProgress {
  /** Commits since the store was made. */
  readonly commits: number
  /** Messages stored since then. */
  readonly stored: number
  /** When the latest of these commits was, ms since the epoch. */
  readonly at: number
}

/** The progress of a store, with its name. */
export interface Mark extends CommitProgress {
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

export function watermarkPath(databasePath: string): string {
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

/**
 * The watermark: a small file beside the database that says how far the store had come. SQLite silently drops what it cannot
 * read at the end of its WAL, and starts without a WAL that is gone. What the watermark counts and the opened database lacks is lost.
 *
 * It is written after each commit and before anything of it is answered, and not synced then: it survives the death of the
 * process. A power cut may take its latest second, so it may be behind the database, and is never ahead of one that is whole.
 *
 * Opens a watermark to write it; what it says stays until then. @throws the file system's error.
 */
export function openWatermark(path: string) {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  let timer: NodeJS.Timeout | undefined
  /** A thread of the pool syncs it, so that no commit waits for it. */
  const sync = () => {
    fdatasync(file, () => {
      timer = undefined
    })
  }
  return {
    /** Never throws: a watermark that cannot be written stays behind. */
    write(mark: Mark): void {
      try {
        writeSync(file, bytesOf(mark), 0, BYTES, 0)
      } catch {
        return
      }
      timer ??= setTimeout(sync, SYNC_EVERY_MS).unref()
    },
    close(): void {
      clearTimeout(timer)
      closeSync(file)
    },
  }
}

/**
 * Finds what the opened database lacks.
 * @param mark what its watermark says.
 * @param here what the database holds itself; `isNew`: it was made just now.
 * @param noticedAt ms since the epoch.
 */
export function findLoss(
  mark: Mark | null,
  here: Omit<Mark, 'live'> & { readonly isNew: boolean },
  noticedAt: number,
): StoreLoss | null {
  if (mark === null) return null
  const { at: until, live } = mark
  // A database that was made just now has taken the place of another one: all messages that lived there are gone.
  if (mark.store !== here.store)
    return here.isNew && live > 0 ? { messages: live, unsent: live, from: null, until, noticedAt } : null
  if (mark.commits <= here.commits) return null
  const messages = Math.max(0, mark.stored - here.stored)
  return {
    messages,
    unsent: Math.min(messages, live),
    from: here.at === 0 ? null : here.at,
    until,
    noticedAt,
  }
}

function bytesOf({ store, commits, stored, live, at }: Mark): Buffer {
  const text = `watermark 1 ${store} ${commits} ${stored} ${live} ${at} `
  return Buffer.from(`${text}${crc32(text).toString(16)}`.padEnd(BYTES - 1).concat('\n'), 'latin1')
}
