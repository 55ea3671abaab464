import type { DatabaseSync } from 'node:sqlite'
import type { CallFailure, StoreCall, StoreReply } from '../calls.ts'
import { BacklogFull } from '../outbox.ts'
import { classifyError } from './errors.ts'

export interface GroupCommitDeps {
  readonly db: DatabaseSync
  /** Runs one call; one that writes, inside the open transaction. */
  readonly run: (call: StoreCall) => unknown
  /** Says whether a call only reads. */
  readonly reads: (call: StoreCall) => boolean
  /** For the values in memory that go with the transaction. */
  readonly beforeCommit: () => void
  readonly afterCommit: () => void
  readonly afterRollback: () => void
  /** Tells the operator what to do about a damaged file. */
  readonly damaged: string
}

/**
 * Runs calls that came together in one transaction: one commit, and so one fsync, for all of them. A commit that
 * fails undoes them all, and each is told.
 *
 * A call that fails for itself (a bug, or values that are refused) must not take the others along. A savepoint around each would copy every page
 * that it touches, always, for what should never happen: so the calls are run again instead, each on its own.
 */
export function createGroupCommit(
  deps: GroupCommitDeps,
): (calls: readonly StoreCall[]) => readonly StoreReply[] {
  const { run, reads, damaged } = deps
  const runTogether = createTransaction(deps)
  /** Set once damage was met: what is written into a damaged file may be lost with it, so nothing is written any more. */
  let ruined: CallFailure | undefined

  function write(calls: readonly StoreCall[]): readonly StoreReply[] {
    if (ruined !== undefined) return failed(calls, ruined)
    try {
      return runTogether(calls)
    } catch (error) {
      const fault = classifyError(error)
      if ((fault === null || fault === 'refused') && calls.length > 1)
        return calls.flatMap(call => write([call]))
      return failed(calls, failing(error))
    }
  }

  function failing(error: unknown): CallFailure {
    const failure = failureOf(error, damaged)
    if (classifyError(error) === 'corrupt') ruined = failure
    return failure
  }

  function read(call: StoreCall): StoreReply {
    try {
      return [call[0], run(call)]
    } catch (error) {
      return [call[0], null, failing(error)]
    }
  }

  return calls => {
    const writes = calls.filter(call => !reads(call))
    return [...(writes.length === 0 ? [] : write(writes)), ...calls.filter(reads).map(read)]
  }
}

/** @returns what runs calls in one transaction. It throws when that fails, and then all of them are undone. */
function createTransaction(deps: GroupCommitDeps): (calls: readonly StoreCall[]) => readonly StoreReply[] {
  const { db, run, damaged } = deps
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')

  function runInside(call: StoreCall): StoreReply {
    try {
      return [call[0], run(call)]
    } catch (error) {
      // Thrown before anything was written, so there is nothing to undo.
      if (error instanceof BacklogFull) return [call[0], null, failureOf(error, damaged)]
      throw error
    }
  }

  return calls => {
    try {
      begin.run()
      const replies = calls.map(runInside)
      deps.beforeCommit()
      commit.run()
      deps.afterCommit()
      return replies
    } catch (error) {
      // After some faults SQLite has rolled back by itself.
      if (db.isTransaction) rollback.run()
      deps.afterRollback()
      throw error
    }
  }
}

function failed(calls: readonly StoreCall[], failure: CallFailure): readonly StoreReply[] {
  return calls.map(([n]): StoreReply => [n, null, failure])
}

function failureOf(error: unknown, damaged: string): CallFailure {
  const message = error instanceof Error ? error.message : 'unknown fault'
  if (error instanceof BacklogFull) return { is: 'backlog', message }
  switch (classifyError(error)) {
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
