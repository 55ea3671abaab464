import type { DatabaseSync } from 'node:sqlite'
import type { Charge } from '../outbox.ts'
import { waitForRoom, windowStart } from '../quota.ts'

/** What a message was counted in: window's `gone_at` and name of each counter. Kept in its row, to be given back. */
export type Counters = readonly (readonly [goneAt: number, name: string])[]

/** Counts messages against their quotas, in the transaction that stores them. */
export interface Quotas {
  /** Counts one message in every counter, or in none when one is full; then the one that is full for longest. */
  take(charges: readonly Charge[], now: number): Counters | { readonly full: string; readonly waitMs: number }
  giveBack(counters: Counters): void
}

export function createQuotas(db: DatabaseSync): Quotas {
  const used = db.prepare('SELECT used FROM buckets WHERE gone_at = ? AND name = ?')
  const take = db.prepare('INSERT INTO buckets VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1')
  const back = db.prepare('UPDATE buckets SET used = used - 1 WHERE gone_at = ? AND name = ? AND used > 0')
  const read = (goneAt: number, name: string) => Number(used.get(goneAt, name)?.['used'] ?? 0)

  return {
    take(charges, now) {
      let full: { readonly full: string; readonly waitMs: number } | undefined
      const counters: [number, string][] = []
      for (const { quota, bucket, windowMs, limit } of charges) {
        const name = `${quota} ${windowMs} ${bucket}`
        // A window's counter is needed until the window after it has ended.
        const goneAt = windowStart(now, windowMs) + 2 * windowMs
        const waitMs = waitForRoom(read(goneAt - windowMs, name), read(goneAt, name), limit, windowMs, now)
        if (waitMs > (full?.waitMs ?? 0)) full = { full: quota, waitMs }
        counters.push([goneAt, name])
      }
      if (full !== undefined) return full
      for (const [goneAt, name] of counters) take.run(goneAt, name)
      return counters
    },
    giveBack(counters) {
      for (const [goneAt, name] of counters) back.run(goneAt, name)
    },
  }
}
