import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { say } from '../../language/sentence.ts'
import {
  isSecretMissing,
  type PayloadKeys,
  renewSecretChecks,
  splitSecretChecks,
  tryDecrypt,
} from '../encryption.ts'
import { StoreUnusable } from '../outbox.ts'
import type { CountChanges } from '../unit-of-work.ts'
import { readMeta, writeMeta } from './open.ts'

/** What a start makes of what the process before it has left. */

/** Keeps checks of the secrets that the store is written with, and refuses a start that could not read what waits. */
export function keepSecretChecks(
  db: DatabaseSync,
  { payloadKeys, path }: { readonly payloadKeys: PayloadKeys; readonly path: string },
  waiting: number,
): void {
  const kept = ['secret-check', 'secrets-replaced'].map(key => readMeta(db, key))
  const [current, replaced] = kept.map(each => (each instanceof Uint8Array ? each : undefined))
  const stored = splitSecretChecks(current, replaced)
  // The messages are tried only when a secret is missing: a single damaged one must not stop a start.
  if (waiting > 0 && isSecretMissing(payloadKeys, stored)) {
    const unreadable = countUnreadable(db, payloadKeys)
    if (unreadable > 0)
      throw new StoreUnusable(
        say(
          "{unreadable} messages wait in the store {path} that were stored with another secret: set STORE_SECRET, or restore the secret's file beside the store, to what it was, or name that one in STORE_SECRET_PREVIOUS",
          { unreadable, path },
        ),
      )
  }
  const [first = new Uint8Array(), ...others] = renewSecretChecks(payloadKeys, stored)
  writeMeta(db, 'secret-check', first)
  writeMeta(db, 'secrets-replaced', Buffer.concat(others))
}

function countUnreadable(db: DatabaseSync, payloadKeys: PayloadKeys): number {
  let count = 0
  for (const { id, payload } of db
    .prepare('SELECT id, payload FROM messages WHERE final_at IS NULL')
    .iterate())
    if (tryDecrypt(payloadKeys, String(id), payload) === null) count += 1
  return count
}

/** The kernel's random name for this run of the machine, where there is one. */
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id'

/** @returns another name each time where it cannot be read. */
function readBootId(): string {
  try {
    return readFileSync(BOOT_ID_FILE, 'latin1')
  } catch {
    return randomUUID()
  }
}

/**
 * Ends the leases of the process that ran before: only one can hold the file, so the one that was sending is dead.
 * @param isWhole all that it had committed is surely there. The marks of attempts that begin are not synced: otherwise, or in another
 *   run of the machine, each that was claimed may have begun.
 */
export function endLeases(db: DatabaseSync, isWhole: boolean): void {
  const boot = readBootId()
  const areMarked = isWhole && readMeta(db, 'boot') === boot
  writeMeta(db, 'boot', boot)
  db.prepare(
    "UPDATE messages SET lease_until = 0, begun = max(begun, ?) WHERE state = 'sending' AND lease_until > 0",
  ).run(areMarked ? 0 : 1)
}

/** No wait between two attempts is longer, ms. */
const LONGEST_WAIT_MS = 3_600_000

/**
 * Corrects messages after the clock was set back while the process was down, for lives and waits are kept in wall time.
 * A message that arrived "later" than now counts as arrived now, and none waits longer than it ever would: else a code
 * of ten minutes could be sent an hour after its life, a retry come hours late, and a code that comes now be taken for
 * older than one that waits.
 *
 * @param counts of the open transaction.
 * @param now ms since the epoch, at the start.
 */
export function correctClock(db: DatabaseSync, counts: CountChanges, now: number): void {
  // The statements go by channel and state or rank, so that each reads one stretch of an index, however many messages wait.
  const due = db.prepare(
    "UPDATE messages SET due_at = ? WHERE state = 'queued' AND channel = ? AND arrived_at > ?",
  )
  const late = db.prepare(
    'UPDATE messages SET due_at = ? WHERE ready = 0 AND channel = ? AND rank = ? AND due_at > ?',
  )
  const ahead = db.prepare(
    'SELECT arrived_at AS at, kind, count(*) AS n FROM messages WHERE state = ? AND channel = ? AND arrived_at > ? GROUP BY arrived_at, kind',
  )
  const arrived = db.prepare(
    'UPDATE messages SET expires_at = ?1 + expires_at - arrived_at, arrived_at = ?1 WHERE state = ?2 AND channel = ?3 AND arrived_at > ?1',
  )
  for (const channel of ['email', 'sms'] as const) {
    due.run(now, channel, now)
    for (const rank of [0, 1]) late.run(now, channel, rank, now + LONGEST_WAIT_MS)
    for (const state of ['queued', 'sending'] as const) {
      for (const { at, kind, n } of ahead.all(state, channel, now)) {
        counts.addRedated({ channel, kind: String(kind), arrivedAt: Number(at) }, state, now, Number(n))
      }
      arrived.run(now, state, channel)
    }
  }
}
