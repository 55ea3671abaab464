import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import { createCountChanges } from '../counts.ts'

export type Counts = ReturnType<typeof createCounts>

/**
 * Counts messages by minute of arrival, channel, kind and state, and the live ones by channel. Counting goes with the
 * transaction: `write` before its commit, then `commit` or `rollBack`.
 */
export function createCounts(db: DatabaseSync) {
  const add = db.prepare(
    'INSERT INTO counts (minute, channel, kind, state, count) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const countLive = db.prepare(
    "SELECT count(*) AS n FROM messages WHERE state IN ('queued', 'sending') AND channel = ?",
  )
  const committed = { email: Number(countLive.get('email')?.['n']), sms: Number(countLive.get('sms')?.['n']) }
  const changes = createCountChanges()
  return {
    /** The changes of the open transaction. */
    changes,
    /** Live messages of a channel, committed ones only. */
    live: (channel: Channel) => committed[channel],
    write(): void {
      for (const { minute, channel, kind, state, by } of changes.changes())
        add.run(minute, channel, kind, state, by)
    },
    commit(): void {
      const { email, sms } = changes.live()
      committed.email += email
      committed.sms += sms
      changes.clear()
    },
    rollBack: changes.clear,
  }
}
