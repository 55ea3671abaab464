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
  /** Writes the values that are kept in memory and belong to the transaction. */
  readonly beforeCommit: () => void
  readonly afterCommit: () => void
  readonly afterRollback: () => void
  /** Tells the operator what to do about a damaged file. */
  readonly damaged: string
}

/**
 * Runs calls that came together in one transaction: one commit, and so one fsync, for all of them. A commit that
 * fails undoes them all, and each call gets the failure.
 *
 * A call that fails by its own fault (a bug, or values that are refused) must not make the others fail. A savepoint around each
 * call would copy every page that it touches, always, for what should never happen: so the calls are run again instead, each in
 * a transaction of its own.
 */
export function createGroupCommit(
  deps: GroupCommitDeps,
): (calls: readonly StoreCall[]) => readonly StoreReply[] {
  const { run, reads, damaged } = deps
  const runTogether = createTransaction(deps)
  /** Set once damage was met: what is written into a damaged file may be lost with it, so nothing is written any more. */
  let damage: CallFailure | undefined

  function runWrites(calls: readonly StoreCall[]): readonly StoreReply[] {
    if (damage !== undefined) return failAll(calls, damage)
    try {
      return runTogether(calls)
    } catch (error) {
      const fault = classifyError(error)
      if ((fault === null || fault === 'refused') && calls.length > 1)
        return calls.flatMap(call => runWrites([call]))
      return failAll(calls, noteFailure(error))
    }
  }

  function noteFailure(error: unknown): CallFailure {
    const failure = toCallFailure(error, damaged)
    if (classifyError(error) === 'corrupt') damage = failure
    return failure
  }

  function runRead(call: StoreCall): StoreReply {
    try {
      return [call[0], run(call)]
    } catch (error) {
      return [call[0], null, noteFailure(error)]
    }
  }

  return calls => {
    const writes = calls.filter(call => !reads(call))
    return [...(writes.length === 0 ? [] : runWrites(writes)), ...calls.filter(reads).map(runRead)]
  }
}

/** Makes the function that runs calls in one transaction. It throws when that fails, and then all of them are undone. */
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
      if (error instanceof BacklogFull) return [call[0], null, toCallFailure(error, damaged)]
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

function failAll(calls: readonly StoreCall[], failure: CallFailure): readonly StoreReply[] {
  return calls.map(([n]): StoreReply => [n, null, failure])
}

function toCallFailure(error: unknown, damaged: string): CallFailure {
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
