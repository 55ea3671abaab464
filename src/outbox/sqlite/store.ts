import type { KeyObject } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { StoreCall, StoreReply } from '../calls.ts'
import { decryptPayload, encryptPayload } from '../encryption.ts'
import { StoreUnusable } from '../outbox.ts'
import { createAccept } from './accept.ts'
import { createAdminQueries, createOperatorActions } from './admin.ts'
import { createClaim } from './claim.ts'
import { correctClock } from './clock-correction.ts'
import { createCounts } from './counts.ts'
import { createGroupCommit } from './group-commit.ts'
import { createMaintenance, type Maintenance } from './maintenance.ts'
import { createMemos } from './memos.ts'
import { readMeta, writeMeta } from './open.ts'
import { createQuotas } from './quotas.ts'
import { createRowChanges } from './row-changes.ts'
import { createReceipt, createSettle } from './settle.ts'
import { createSummary } from './summary.ts'
import { createUnreportedEnds } from './unreported.ts'

export interface StoreDeps {
  readonly path: string
  readonly payloadKey: KeyObject
  readonly maxBacklog: number
  readonly retentionMs: number
  /** ms since the epoch, at the start. */
  readonly now: number
  readonly damaged: string
  readonly leaseToken: () => string
}

/** The embedded store behind its thread's port. */
export interface Store {
  /** Runs calls with one commit. */
  run(calls: readonly StoreCall[]): readonly StoreReply[]
  /** Prunes a step, and shortens a long WAL. */
  tend(): void
  readonly upkeep: Maintenance
}

/**
 * @param db from openStore.
 * @throws StoreUnusable when messages wait that were sealed with another secret.
 */
export function createStore(db: DatabaseSync, deps: StoreDeps): Store {
  const tally = createCounts(db)
  const aside = createUnreportedEnds()
  const quotas = createQuotas(db)
  const ending = createRowChanges(db, quotas, tally)
  const notes = createMemos(db)
  const shared = { ...deps, db, tally, aside, quotas, ending, notes }
  const accept = createAccept(shared)
  const claim = createClaim(shared)
  const settle = createSettle(db, ending)
  const receipt = createReceipt(db)
  const hand = createOperatorActions(db, ending)
  const desk = createAdminQueries(db)
  const summary = createSummary(db, tally, deps.path)
  const upkeep = createMaintenance(db, deps.retentionMs)
  let now = deps.now

  knowSecret(db, deps, tally.backlog())
  // Nobody but us can hold the file, so whoever was sending is dead: their leases are over.
  db.exec("UPDATE messages SET lease_until = 0 WHERE state = 'sending'")
  inTransaction(db, () => correctClock(db, tally, deps.now))

  function run(call: StoreCall): unknown {
    const takes = call[2]
    if ('now' in takes) now = takes.now
    switch (call[1]) {
      case 'accept':
        return accept(call[2])
      case 'claim':
        return claim(call[2])
      case 'settle':
        return settle(call[2])
      case 'receipt':
        return receipt(call[2])
      case 'retry':
        return hand.retry(call[2])
      case 'cancel':
        return hand.cancel(call[2])
      case 'probe':
        // As large as a callback of some recipients: a disk with room for less is as good as full.
        writeMeta(db, 'probe', new Uint8Array(PROBE_BYTES))
        return true
      case 'tend':
        return null
      case 'summary':
        return summary(call[2])
      case 'list':
        return desk.list(call[2])
      case 'find':
        return desk.find(call[2])
      case 'notes':
        return notes.read(call[2].names)
    }
  }

  const transaction = {
    db,
    run,
    reads: (call: StoreCall) => READS.has(call[1]),
    beforeCommit: () => tally.flush(),
    afterCommit: () => {
      tally.committed()
      aside.committed()
    },
    afterRollback: () => {
      tally.undone()
      aside.undone()
    },
    damaged: deps.damaged,
  }

  return {
    run: createGroupCommit(transaction),
    tend() {
      if (upkeep.due(now)) inTransaction(db, () => upkeep.prune(now))
      upkeep.shortenWal()
    },
    upkeep,
  }
}

const PROBE_BYTES = 64 * 1024

const READS: ReadonlySet<string> = new Set(['summary', 'list', 'find', 'notes', 'tend'])

function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    work()
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Notes with which secret the store is written, or refuses one with which what waits could not be read. */
function knowSecret(db: DatabaseSync, { payloadKey, path }: StoreDeps, waiting: number): void {
  const mark = { recipient: '', content: { params: {}, words: 'ours' } } as const
  const known = readMeta(db, 'mark')
  if (known instanceof Uint8Array) {
    try {
      decryptPayload(payloadKey, 'mark', known)
      return
    } catch (error) {
      if (waiting > 0) {
        throw new StoreUnusable(
          `${waiting} messages wait in the store ${path} that were stored with another secret: set STORE_SECRET, or restore the secret's file beside the store, to what it was`,
          { cause: error },
        )
      }
    }
  }
  writeMeta(db, 'mark', encryptPayload(payloadKey, 'mark', mark))
}
