import type { DatabaseSync } from 'node:sqlite'
import type { Charge, ChargedWindows } from '../outbox.ts'
import { chargeQuotas, type QuotaCounter, refundCounter, toCounter } from '../quota.ts'

export type Quotas = ReturnType<typeof createQuotas>

/**
 * Counts messages against their quotas, in the transaction that stores them: `write` before its commit, which is once for
 * a counter that all of them share, or `rollBack`.
 */
export function createQuotas(db: DatabaseSync) {
  const read = db.prepare(
    'SELECT window_start, current, previous, expires_at FROM quota_counters WHERE name = ?',
  )
  const write = db.prepare(
    `INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET window_start = excluded.window_start, current = excluded.current,
         previous = excluded.previous, expires_at = excluded.expires_at`,
  )

  /** The counters as the open transaction leaves them. */
  const counted = new Map<string, QuotaCounter>()

  function readCounter(name: string): QuotaCounter | undefined {
    const known = counted.get(name)
    if (known !== undefined) return known
    const row = read.get(name)
    return row === undefined ? undefined : toCounter(row)
  }

  return {
    /** Counts one message in every counter, or in none when one is full. */
    charge(charges: readonly Charge[], now: number) {
      const charged = chargeQuotas(charges, readCounter, now)
      if (charged.is === 'charged') for (const [name, counter] of charged.counters) counted.set(name, counter)
      return charged
    },
    /** Takes a message that was not sent out of the windows that it was counted in. */
    refund(windows: ChargedWindows): void {
      for (const [name, windowStart] of windows) {
        const counter = readCounter(name)
        if (counter !== undefined) counted.set(name, refundCounter(counter, windowStart))
      }
    },
    write(): void {
      for (const [name, { windowStart, current, previous, expiresAt }] of counted)
        write.run(name, windowStart, current, previous, expiresAt)
      counted.clear()
    },
    rollBack: () => counted.clear(),
  }
}
