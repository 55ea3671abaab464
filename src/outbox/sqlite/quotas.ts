import type { DatabaseSync } from 'node:sqlite'
import type { Charge, ChargedWindows } from '../outbox.ts'
import { chargeQuotas, type QuotaCounter, readUse, refundCounter } from '../quota.ts'

/**
 * Counts messages against their quotas, in the transaction that stores them: `write` before its commit, which is once for
 * a counter that all of them share, or `rollBack`.
 */
export interface Quotas {
  /** Counts one message in every counter, or in none when one is full. */
  charge(charges: readonly Charge[], now: number): ReturnType<typeof chargeQuotas>
  /** Takes a message that was not sent out of the windows that it was counted in. */
  refund(windows: ChargedWindows): void
  /** Says how much of each is used in the window that ends now. */
  readUse(charges: readonly Charge[], now: number): readonly number[]
  write(): void
  rollBack(): void
}

export function createQuotas(db: DatabaseSync): Quotas {
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
    if (row === undefined) return undefined
    return {
      windowStart: row['window_start'] as number,
      current: row['current'] as number,
      previous: row['previous'] as number,
      expiresAt: row['expires_at'] as number,
    }
  }

  return {
    charge(charges, now) {
      const charged = chargeQuotas(charges, readCounter, now)
      if (charged.is === 'charged') for (const [name, counter] of charged.counters) counted.set(name, counter)
      return charged
    },
    refund(windows) {
      for (const [name, windowStart, amount] of windows) {
        const counter = readCounter(name)
        if (counter !== undefined) counted.set(name, refundCounter(counter, windowStart, amount))
      }
    },
    readUse: (charges, now) => readUse(charges, readCounter, now),
    write() {
      for (const [name, { windowStart, current, previous, expiresAt }] of counted)
        write.run(name, windowStart, current, previous, expiresAt)
      counted.clear()
    },
    rollBack: () => counted.clear(),
  }
}
