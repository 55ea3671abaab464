import type { DatabaseSync } from 'node:sqlite'
import type { CountChanges } from '../unit.ts'

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
