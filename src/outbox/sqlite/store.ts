import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { PayloadKeys } from '../encryption.ts'
import { type Gives, type OperationName, STORE_OPERATIONS, type Takes } from '../operations.ts'
import { BacklogFull, PROBE_BYTES, type SettledByStore, type StoreLoss } from '../outbox.ts'
import { beginUnit, type UnitOfWork } from '../unit.ts'
import { journalPath, readAttemptJournal } from './attempt-journal.ts'
import { createMaintenance, type Maintenance } from './maintenance.ts'
import { createMessages } from './messages.ts'
import { classifySqliteError, orUnusable, writeMeta } from './open.ts'
import { createAdminQueries, createReadSummary } from './queries.ts'
import {
  createCounters,
  createEventQueue,
  createForgetRecipient,
  createMemos,
  type LiveMessages,
} from './side-tables.ts'
import { correctClock, endLeases, keepSecretChecks } from './start.ts'
import type { BatchReplies, CallFailure, StoreCall } from './thread.ts'
import { createProgressCount, recordLoss, watermarkPath } from './watermark.ts'

export interface StoreDeps {
  readonly path: string
  readonly payloadKeys: PayloadKeys
  readonly maxBacklog: number
  readonly retentionMs: number
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
  /** ms since the epoch, at the start. */
  readonly now: number
  /** The failure of every call once damage was met. */
  readonly damaged: string
  readonly newLeaseToken: () => string
}

/** The embedded store behind its thread's port. */
export interface Store {
  /** Runs calls: those that write with one commit, then those that only read. */
  runCalls(calls: readonly StoreCall[]): BatchReplies
  /** Prunes a step, and shortens a long WAL. @param at the time, where it is known better than from the last call. */
  maintain(at?: number): void
  readonly maintenance: Maintenance
  /** @throws when the store's files are not where they were: what is stored now is gone with the process. */
  checkFiles(): void
  /** The loss that the watermark showed within the last day; null: none. */
  readonly loss: StoreLoss | null
  /** Closes the files beside the database. */
  close(): void
}

type Handlers = {
  readonly [N in OperationName]: (call: Takes<N>, unit: UnitOfWork) => Gives<N> | BacklogFull
}

/**
 * @param db from openStore.
 * @throws StoreUnusable when messages wait that were encrypted with another secret, or its watermark cannot be written.
 */
export function createStore(db: DatabaseSync, deps: StoreDeps): Store {
  const { path, keepsEvents } = deps
  const maintenance = createMaintenance(db, deps.retentionMs)
  const counters = createCounters(db)
  /** Live messages, committed ones only. */
  const live = counters.countLive()
  inTransaction(db, () => keepSecretChecks(db, deps, live.email + live.sms))
  const loss = inTransaction(db, () => {
    const noted = recordLoss(db, path, deps.now)
    // Only one process can hold the file, so the one that was sending is dead, and its leases are over. After a loss the journal
    // is not used: an attempt that it does not name may have ended in a commit that was lost.
    endLeases(db, noted.isNew ? null : readAttemptJournal(journalPath(path)))
    return noted.loss
  })
  inTransaction(db, () => {
    const corrected = counters.begin()
    correctClock(db, corrected.counts, deps.now)
    counters.write(corrected)
  })

  const checkFiles = createFileCheck(path)
  const progress = orUnusable(
    () => createProgressCount(db, path, () => live.email + live.sms),
    `${watermarkPath(path)} cannot be written: make it and its directory writable for the service's user`,
  )
  const { apply, handlers } = createHandlers(db, deps, live, checkFiles)
  const transaction = prepareTransaction(db)
  /** Ends that no claim has reported yet. */
  let unreported: readonly SettledByStore[] = []
  let { now } = deps
  /** Set once damage was met: what is written into a damaged file may be lost with it, so nothing is written any more. */
  let damage: CallFailure | undefined

  /** Runs calls with one commit. What they count is theirs until then: nothing of it need be undone when they are. */
  function runWrites(calls: readonly StoreCall[]): readonly unknown[] {
    const counted = counters.begin()
    const ended = [...unreported]
    let stored = 0
    const values = transaction(
      () =>
        calls.map(([name, call]) => {
          if ('now' in call) now = call.now
          const at = 'at' in call ? call.at : now
          const unit = beginUnit(at, { keepsEvents, marksAttempts: false, ended, ...counted })
          const value = handle(name, call, unit)
          stored += unit.stored.length
          apply(unit)
          return value
        }),
      () => {
        counters.write(counted)
        progress.write(now, stored)
      },
    )
    const { email, sms } = counted.counts.live()
    live.email += email
    live.sms += sms
    unreported = ended
    progress.commit()
    return values
  }

  /** Reads change nothing. */
  const reading = beginUnit(0, { keepsEvents, marksAttempts: false, ended: [], ...counters.begin() })
  function handle<N extends OperationName>(name: N, call: Takes<N>, unit: UnitOfWork): unknown {
    return handlers[name](call, unit)
  }

  function noteFailure(error: unknown): CallFailure {
    const failure = toCallFailure(error, deps.damaged)
    if (classifySqliteError(error) === 'corrupt') damage = failure
    return failure
  }

  return {
    runCalls(calls) {
      const places = [...calls.keys()]
      const writing = places.filter(at => STORE_OPERATIONS[(calls[at] as StoreCall)[0]].writes)
      const values: unknown[] = calls.map(() => null)
      const failures: (readonly [number, CallFailure])[] = []
      const failAll = (failure: CallFailure) =>
        void failures.push(...writing.map(at => [at, failure] as const))
      if (damage !== undefined) failAll(damage)
      else if (writing.length > 0) {
        try {
          const written = runWrites(writing.map(at => calls[at] as StoreCall))
          for (const [n, at] of writing.entries()) {
            const value = written[n]
            if (value instanceof BacklogFull) failures.push([at, { is: 'backlog', message: value.message }])
            else values[at] = value
          }
        } catch (error) {
          const failure = noteFailure(error)
          if (failure.is !== 'unavailable' && calls.length > 1) return { undone: failure }
          failAll(failure)
        }
      }
      for (const at of places) {
        const [name, call] = calls[at] as StoreCall
        if (STORE_OPERATIONS[name].writes) continue
        try {
          values[at] = handle(name, call, reading)
        } catch (error) {
          failures.push([at, noteFailure(error)])
        }
      }
      return { values, failures }
    },
    maintain(at = now) {
      now = at
      if (maintenance.isPruneDue(now)) inTransaction(db, () => maintenance.prune(now))
      maintenance.shortenWal()
    },
    maintenance,
    checkFiles,
    loss,
    close: () => progress.close(),
  }
}

/** Makes the function that does some work and writes what it counted, with one commit. It throws when that fails, and then nothing is done. */
function prepareTransaction(db: DatabaseSync) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  return <T>(work: () => T, beforeCommit: () => void): T => {
    try {
      begin.run()
      const value = work()
      beforeCommit()
      commit.run()
      return value
    } catch (error) {
      // After some faults SQLite has rolled back by itself.
      if (db.isTransaction) rollback.run()
      throw error
    }
  }
}

function toCallFailure(error: unknown, damaged: string): CallFailure {
  const message = error instanceof Error ? error.message : 'unknown fault'
  switch (classifySqliteError(error)) {
    case null:
      return { is: 'fault', message, cause: error }
    case 'refused':
      return { is: 'refused', message: `the store cannot hold it: ${message}` }
    case 'corrupt':
      return { is: 'unavailable', message: damaged, cause: error }
    default:
      return { is: 'unavailable', message: `the store cannot commit now: ${message}`, cause: error }
  }
}

/**
 * Makes the check that the store's files are still where they were. A process that has a file open can write it even when it was
 * deleted or replaced, and nobody finds it afterwards.
 */
function createFileCheck(path: string): () => void {
  const opened = statSync(path).ino
  return () => {
    const found = statSync(path, { throwIfNoEntry: false })
    const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })
    if (found?.ino === opened && wal !== undefined) return
    throw new Error(
      `the store's files were deleted or replaced under the running service, ${path} or ${path}-wal: what is stored now is lost when it ends`,
    )
  }
}

function createHandlers(
  db: DatabaseSync,
  deps: StoreDeps,
  live: LiveMessages,
  checkFiles: () => void,
): { readonly apply: (unit: UnitOfWork) => void; readonly handlers: Handlers } {
  const memos = createMemos(db)
  const events = createEventQueue(db)
  const { apply, operations } = createMessages({
    ...deps,
    db,
    backlog: () => live.email + live.sms,
    memos,
    addEvent: events.addEvent,
  })
  const handlers: Handlers = {
    ...operations,
    ...createAdminQueries(db),
    ...events,
    readSummary: createReadSummary(db, live, deps.path),
    readMemos: ({ names }) => memos.read(names),
    allowAgain: ({ id }) => memos.forgetBounces(id),
    forgetRecipient: createForgetRecipient(db),
    probeCommit() {
      // Random, since SQLite does not write a page that stays the same.
      writeMeta(db, 'probe', randomBytes(PROBE_BYTES))
      try {
        checkFiles()
      } catch {
        // A commit into a file that nobody finds again is worth nothing; the log says so once a minute.
        return false
      }
      return true
    },
  }
  return { apply, handlers }
}

function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  return prepareTransaction(db)(work, () => {})
}
