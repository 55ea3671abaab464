import { randomBytes } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { packWords, say, wordsOf } from '../../language/sentence.ts'
import type { PayloadKeys } from '../encryption.ts'
import { type Gives, isWriting, type OperationName, type Takes } from '../operations.ts'
import { BacklogFull, PROBE_BYTES, type SettledByStore, type StoreOptions } from '../outbox.ts'
import { beginWork, type UnitOfWork } from '../unit-of-work.ts'
import { createMaintenance } from './maintenance.ts'
import { createMessages } from './messages.ts'
import { adviseOnDamage, classifySqliteError, writeMeta } from './open.ts'
import { createAdminQueries, createReadSummary } from './queries.ts'
import { createCounters, createEventQueue, createForgetRecipient, createMemos } from './side-tables.ts'
import { correctClock, endLeases, keepSecretChecks } from './start.ts'
import type { BatchReplies, CallFailure, StoreCall } from './thread.ts'
import { createProgressCount, recordLoss } from './watermark.ts'

/** What the store's thread is given at its start. */
export interface StoreSettings extends Pick<StoreOptions, 'enterprise' | 'maxBacklog' | 'retentionDays'> {
  readonly path: string
  readonly payloadKeys: PayloadKeys
  /** Whether the store queues events for webhooks. */
  readonly keepsEvents: boolean
  /** ms since the epoch, by the service's clock, at the start. */
  readonly now: number
  /** How often the WAL is emptied, ms. */
  readonly emptyWalEveryMs: number
}

const DAY_MS = 24 * 3600_000

type Handlers = {
  readonly [N in OperationName]: (call: Takes<N>, work: UnitOfWork) => Gives<N> | BacklogFull
}

/**
 * The embedded store behind its thread's port.
 *
 * @param db from openStore.
 * @throws StoreUnusable when messages wait that were encrypted with another secret, or its watermark cannot be written.
 */
export function createStore(db: DatabaseSync, settings: StoreSettings, newLeaseToken: () => string) {
  const { path, payloadKeys, maxBacklog, keepsEvents, retentionDays } = settings
  const maintenance = createMaintenance(db, retentionDays * DAY_MS)
  const transaction = prepareTransaction(db)
  const counters = createCounters(db)
  /** Live messages, committed ones only. */
  const live = counters.countLive()
  transaction(() => keepSecretChecks(db, settings, live.email + live.sms))
  const loss = transaction(() => {
    const noted = recordLoss(db, path, settings.now)
    endLeases(db, noted.isWhole)
    return noted.loss
  })
  transaction(() => {
    const corrected = counters.begin()
    correctClock(db, corrected.counts, settings.now)
    counters.write(corrected)
  })

  // 1.1.0 has noted there which attempts had begun. If it is started again, it must not believe what was noted before.
  rmSync(`${path}-attempts`, { force: true })
  const checkFiles = createFileCheck(path)
  const progress = createProgressCount(db, path, () => live.email + live.sms)
  const memos = createMemos(db)
  const events = createEventQueue(db)
  const { apply, operations } = createMessages({
    db,
    payloadKeys,
    maxBacklog,
    newLeaseToken,
    backlog: () => live.email + live.sms,
    memos,
    addEvent: events.addEvent,
  })
  const handlers: Handlers = {
    ...operations,
    ...createAdminQueries(db),
    ...events,
    readSummary: createReadSummary(db, live, path),
    writeMemo: memos.write,
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
  /** Ends that no claim has reported yet. */
  let unreported: readonly SettledByStore[] = []
  let { now } = settings
  /** Set once damage was met: what is written into a damaged file may be lost with it, so nothing is written any more. */
  let damage: CallFailure | undefined

  /**
   * Marks attempts that begin. What is written survives the death of the process, and a power cut shows in the machine's boot id
   * (start.ts): nobody waits for the disk. The pragma is no prepared statement: SQLite sets it when that is prepared, and not each time it is run.
   */
  function markBegun(calls: readonly StoreCall[]): readonly unknown[] {
    db.exec('PRAGMA synchronous = NORMAL')
    try {
      return transaction(() => calls.map(([name, call]) => handle(name, call, reading)))
    } finally {
      db.exec('PRAGMA synchronous = FULL')
    }
  }

  /** Runs calls with one commit. What they count is theirs until then: nothing of it need be undone when they are. */
  function runWrites(calls: readonly StoreCall[]): readonly unknown[] {
    const counted = counters.begin()
    const ended = [...unreported]
    let stored = 0
    const values = transaction(() => {
      const handled = calls.map(([name, call]) => {
        // It changes its row itself, and counts nothing.
        if (name === 'beginAttempt') return handle(name, call, reading)
        if ('now' in call) now = call.now
        const at = 'at' in call ? call.at : now
        const work = beginWork(at, { keepsEvents, ended, ...counted })
        const value = handle(name, call, work)
        stored += work.stored.length
        apply(work)
        return value
      })
      counters.write(counted)
      progress.write(now, stored)
      return handled
    })
    const { email, sms } = counted.counts.live()
    live.email += email
    live.sms += sms
    unreported = ended
    progress.commit()
    return values
  }

  /** Reads change nothing. */
  const reading = beginWork(0, { keepsEvents, ended: [], ...counters.begin() })
  function handle<N extends OperationName>(name: N, call: Takes<N>, work: UnitOfWork): unknown {
    return handlers[name](call, work)
  }

  function noteFailure(error: unknown): CallFailure {
    const failure = toCallFailure(error, path)
    if (classifySqliteError(error) === 'corrupt') damage = failure
    return failure
  }

  return {
    /** Runs calls: those that write with one commit, then those that only read. */
    runCalls(calls: readonly StoreCall[]): BatchReplies {
      const places = [...calls.keys()]
      const writing = places.filter(at => isWriting((calls[at] as StoreCall)[0]))
      const values: unknown[] = calls.map(() => null)
      const failures: (readonly [number, CallFailure])[] = []
      const failAll = (failure: CallFailure) =>
        void failures.push(...writing.map(at => [at, failure] as const))
      if (damage !== undefined) failAll(damage)
      else if (writing.length > 0) {
        try {
          const asked = writing.map(at => calls[at] as StoreCall)
          const written = asked.every(([name]) => name === 'beginAttempt')
            ? markBegun(asked)
            : runWrites(asked)
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
        if (isWriting(name)) continue
        try {
          values[at] = handle(name, call, reading)
        } catch (error) {
          failures.push([at, noteFailure(error)])
        }
      }
      return { values, failures }
    },
    /** Prunes a step, and shortens a long WAL. Claims come every few seconds, and with them the time. */
    maintain(): void {
      if (maintenance.isPruneDue(now)) transaction(() => maintenance.prune(now))
      maintenance.shortenWal()
    },
    maintenance,
    checkFiles,
    /** Says how many synced commits there have been; the marks of attempts that begin are none. */
    commits: progress.commits,
    /** The loss that the watermark showed within the last day; null: none. */
    loss,
    /** Closes the files beside the database. */
    close: progress.close,
  }
}

/** Makes the function that does some work with one commit. It throws when that fails, and then nothing is done. */
function prepareTransaction(db: DatabaseSync) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  return <T>(work: () => T): T => {
    try {
      begin.run()
      const value = work()
      commit.run()
      return value
    } catch (error) {
      // After some faults SQLite has rolled back by itself.
      if (db.isTransaction) rollback.run()
      throw error
    }
  }
}

function toCallFailure(error: unknown, path: string): CallFailure {
  const message = error instanceof Error ? error.message : 'unknown fault'
  switch (classifySqliteError(error)) {
    case null:
      return { is: 'fault', message, cause: error }
    case 'refused':
      return { is: 'refused', message: `the store cannot hold it: ${message}` }
    case 'corrupt':
      return { is: 'unavailable', message: packWords(adviseOnDamage(path)), cause: error }
    default:
      return {
        is: 'unavailable',
        message: packWords(say('the store cannot commit now: {why}', { why: wordsOf(error) })),
        cause: error,
      }
  }
}

/**
 * Makes the check that the store's files are still where they were: it throws when what is stored now is gone with the process.
 * A process that has a file open can write it even when it was deleted or replaced, and nobody finds it afterwards.
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
