import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import { type CountChanges, createCountChanges } from '../counts.ts'
import { createQuotaLedger, type QuotaLedger, toCounter } from '../quota.ts'

/** How many messages of each channel live. */
export type LiveMessages = Record<Channel, number>

/** What a transaction has counted: it is written before the commit, and left alone when the transaction is undone. */
export interface Counted {
  readonly counts: CountChanges
  readonly quotas: QuotaLedger
}

/**
 * The counters beside the messages: how many are of a minute, channel, kind and state, and how much of each quota is used. They are
 * counted in memory, so that one which many calls of a transaction share is written once.
 */
export function createCounters(db: DatabaseSync) {
  const addCount = db.prepare(
    'INSERT INTO counts (minute, channel, kind, state, count) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const countLive = db.prepare(
    "SELECT count(*) AS n FROM messages WHERE state IN ('queued', 'sending') AND channel = ?",
  )
  const readQuota = db.prepare(
    'SELECT window_start, current, previous, expires_at FROM quota_counters WHERE name = ?',
  )
  const writeQuota = db.prepare(
    `INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET window_start = excluded.window_start, current = excluded.current,
         previous = excluded.previous, expires_at = excluded.expires_at`,
  )
  return {
    begin: (): Counted => ({
      counts: createCountChanges(),
      quotas: createQuotaLedger(name => {
        const row = readQuota.get(name)
        return row === undefined ? undefined : toCounter(row)
      }),
    }),
    /** Writes what was counted, in the open transaction. */
    write({ counts, quotas }: Counted): void {
      for (const { minute, channel, kind, state, by } of counts.changes())
        addCount.run(minute, channel, kind, state, by)
      for (const [name, { windowStart, current, previous, expiresAt }] of quotas.changed)
        writeQuota.run(name, windowStart, current, previous, expiresAt)
    },
    /** Counts the live messages of each channel, which takes some time when many are. */
    countLive: (): LiveMessages => ({
      email: Number(countLive.get('email')?.['n']),
      sms: Number(countLive.get('sms')?.['n']),
    }),
  }
}
