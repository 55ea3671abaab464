import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallName, CallResult, SettledByStore, StoreCall, StoreReply } from '../calls.ts'
import {
  isSecretMissing,
  joinSecretChecks,
  type PayloadKeys,
  renewSecretChecks,
  splitSecretChecks,
  tryDecrypt,
} from '../encryption.ts'
import { BacklogFull, PROBE_BYTES, type StoreLoss, StoreUnusable } from '../outbox.ts'
import { beginUnit, type UnitOfWork } from '../unit.ts'
import { journalPath, readAttemptJournal } from './attempt-journal.ts'
import { correctClock } from './clock-correction.ts'
import { type Counts, createCounts } from './counts.ts'
import { createEventQueue } from './events.ts'
import { createGroupCommit } from './group-commit.ts'
import { createMaintenance, type Maintenance } from './maintenance.ts'
import { createMemos } from './memos.ts'
import { createMessages } from './messages.ts'
import { readMeta, writeMeta } from './open.ts'
import { createProgressCount, type ProgressCount, recordLoss } from './progress.ts'
import { createAdminQueries } from './queries.ts'
import { createQuotas } from './quotas.ts'
import { createReadSummary } from './summary.ts'
import { watermarkPath } from './watermark.ts'

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
  /** Runs calls with one commit. */
  runCalls(calls: readonly StoreCall[]): readonly StoreReply[]
  /** Prunes a step, and shortens a long WAL. */
  maintain(): void
  readonly maintenance: Maintenance
  /** @throws when the store's files are not where they were: what is stored now is gone with the process. */
  checkFiles(): void
  /** The loss that the watermark showed within the last day; null: none. */
  readonly loss: StoreLoss | null
  /** Closes the files beside the database. */
  close(): void
}

type Handlers = {
  readonly [N in CallName]: (call: CallArguments<N>, unit: UnitOfWork) => CallResult<N> | BacklogFull
}

const READS: ReadonlySet<CallName> = new Set<CallName>([
  'readSummary',
  'listMessages',
  'findMessage',
  'readMemos',
  'readEvents',
  'prune',
])

/**
 * @param db from openStore.
 * @throws StoreUnusable when messages wait that were encrypted with another secret, or its watermark cannot be written.
 */
export function createStore(db: DatabaseSync, deps: StoreDeps): Store {
  const counts = createCounts(db)
  const maintenance = createMaintenance(db, deps.retentionMs)
  inTransaction(db, () => keepSecretChecks(db, deps, counts.live('email') + counts.live('sms')))
  const loss = inTransaction(db, () => {
    const noted = recordLoss(db, deps.path, deps.now)
    // Only one process can hold the file, so the one that was sending is dead, and its leases are over. After a loss the journal
    // is not used: an attempt that it does not name may have ended in a commit that was lost.
    endLeases(db, noted.isNew ? null : readAttemptJournal(journalPath(deps.path)))
    return noted.loss
  })
  inTransaction(db, () => correctClock(db, counts, deps.now))
  counts.commit()

  const checkFiles = createFileCheck(deps.path)
  const progress = openProgress(db, deps.path, counts)
  const quotas = createQuotas(db)
  const { apply, handlers } = createHandlers(db, deps, counts, checkFiles)
  let { now } = deps
  /** Ends that no claim has reported yet: as they are committed, and as the open transaction leaves them. */
  let unreported: readonly SettledByStore[] = []
  let ended: SettledByStore[] = []
  function handle<N extends CallName>(name: N, call: CallArguments<N>): CallResult<N> {
    const at = 'now' in call ? call.now : 'at' in call ? call.at : now
    if ('now' in call) now = call.now
    const unit = beginUnit(at, {
      keepsEvents: deps.keepsEvents,
      marksAttempts: false,
      ended,
      counts: counts.changes,
      quotas,
    })
    const value = handlers[name](call, unit)
    if (value instanceof BacklogFull) throw value
    progress.addStored(unit.stored.length)
    apply(unit)
    return value
  }
  return {
    runCalls: createGroupCommit({
      db,
      run: ([, name, call]) => handle(name, call),
      reads: ([, name]) => READS.has(name),
      beforeCommit() {
        quotas.write()
        counts.write()
        progress.write(now)
      },
      afterCommit() {
        counts.commit()
        progress.commit()
        unreported = [...ended]
      },
      afterRollback() {
        quotas.rollBack()
        counts.rollBack()
        progress.rollBack()
        ended = [...unreported]
      },
      damaged: deps.damaged,
    }),
    maintain() {
      if (maintenance.isPruneDue(now)) inTransaction(db, () => maintenance.prune(now))
      maintenance.shortenWal()
    },
    maintenance,
    checkFiles,
    loss,
    close: () => progress.close(),
  }
}

function openProgress(db: DatabaseSync, path: string, { live }: Counts): ProgressCount {
  try {
    return createProgressCount(db, path, () => live('email') + live('sms'))
  } catch (error) {
    throw new StoreUnusable(
      `${watermarkPath(path)} cannot be written: make it and its directory writable for the service's user`,
      { cause: error },
    )
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

/**
 * Ends the leases of the process that ran before. Those that ended at an earlier start stay as they are: the journal
 * says nothing of them any more.
 * @param begun ids of the messages whose attempt had begun, and whom it went to; null: all of them may have.
 */
function endLeases(db: DatabaseSync, begun: ReadonlyMap<string, string> | null): void {
  const endLease = db.prepare(
    'UPDATE messages SET lease_until = 0, begun = ?, attempted_by = ? WHERE seq = ?',
  )
  for (const { seq, id } of db
    .prepare("SELECT seq, id FROM messages WHERE state = 'sending' AND lease_until > 0")
    .all())
    endLease.run(begun === null || begun.has(String(id)) ? 1 : 0, begun?.get(String(id)) || null, Number(seq))
}

function createHandlers(
  db: DatabaseSync,
  deps: StoreDeps,
  counts: Counts,
  checkFiles: () => void,
): { readonly apply: (unit: UnitOfWork) => void; readonly handlers: Handlers } {
  const memos = createMemos(db)
  const events = createEventQueue(db)
  const { apply, operations } = createMessages({
    ...deps,
    db,
    backlog: () => counts.live('email') + counts.live('sms'),
    writeMemo: memos.write,
    addEvent: events.addEvent,
  })
  const handlers: Handlers = {
    ...operations,
    ...createAdminQueries(db),
    ...events.handlers,
    readSummary: createReadSummary(db, counts.live, deps.path),
    readMemos: ({ names }) => memos.read(names),
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
    // The thread prunes after every batch of calls; this call does nothing, but makes sure that there is a batch.
    prune: () => null,
  }
  return { apply, handlers }
}

function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Keeps checks of the secrets that the store is written with, and refuses a start that could not read what waits. */
function keepSecretChecks(db: DatabaseSync, { payloadKeys, path }: StoreDeps, waiting: number): void {
  const current = readMeta(db, 'secret-check')
  const replaced = readMeta(db, 'secrets-replaced')
  const stored =
    current instanceof Uint8Array
      ? { current, replaced: replaced instanceof Uint8Array ? splitSecretChecks(replaced) : [] }
      : null
  // The messages are tried only when a secret is missing: a single damaged one must not stop a start.
  if (waiting > 0 && isSecretMissing(payloadKeys, stored)) {
    const unreadable = countUnreadable(db, payloadKeys)
    if (unreadable > 0)
      throw new StoreUnusable(
        `${unreadable} messages wait in the store ${path} that were stored with another secret: set STORE_SECRET, or restore the secret's file beside the store, to what it was, or name that one in STORE_SECRET_PREVIOUS`,
      )
  }
  const checks = renewSecretChecks(payloadKeys, stored)
  if (checks === null) return
  writeMeta(db, 'secret-check', checks.current)
  writeMeta(db, 'secrets-replaced', joinSecretChecks(checks.replaced))
}

function countUnreadable(db: DatabaseSync, payloadKeys: PayloadKeys): number {
  let count = 0
  for (const { id, payload } of db
    .prepare('SELECT id, payload FROM messages WHERE final_at IS NULL')
    .iterate())
    if (tryDecrypt(payloadKeys, String(id), payload) === null) count += 1
  return count
}
