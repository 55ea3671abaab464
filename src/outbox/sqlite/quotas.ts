import type { DatabaseSync } from 'node:sqlite'
import type { Charge } from '../outbox.ts'
import { estimateUse, msUntilRoom, startOfWindow } from '../quota.ts'

/** What a message was counted in: counter's name and start of the window. Kept in its row, to be given back. */
export type Counters = readonly (readonly [name: string, since: number])[]

/** What counting came to: the counters, and which quotas are used up to where their operator wants to know. */
export interface QuotaUse {
  readonly counters: Counters
  readonly nearing: readonly string[]
}

/** Counts messages against their quotas, in the transaction that stores them. */
export interface Quotas {
  /** Counts one message in every counter, or in none when one is full; then the one that is full for longest. */
  take(charges: readonly Charge[], now: number): QuotaUse | { readonly full: string; readonly waitMs: number }
  giveBack(counters: Counters): void
}

interface Counter {
  readonly name: string
  readonly since: number
  readonly used: number
  readonly before: number
  readonly goneAt: number
}

export function createQuotas(db: DatabaseSync): Quotas {
  const read = db.prepare('SELECT since, used, before FROM buckets WHERE name = ?')
  const write = db.prepare(
    `INSERT INTO buckets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       since = excluded.since, used = excluded.used, before = excluded.before, gone_at = excluded.gone_at`,
  )
  const back = db.prepare('UPDATE buckets SET used = used - 1 WHERE name = ? AND since = ? AND used > 0')
  const backBefore = db.prepare(
    'UPDATE buckets SET before = before - 1 WHERE name = ? AND since > ? AND before > 0',
  )

  /** A bucket's counter as it stands in the window of `now`. */
  function counterOf({ quota, bucket, windowMs }: Charge, now: number): Counter {
    const name = `${bucket} ${quota} ${windowMs}`
    const since = startOfWindow(now, windowMs)
    // Its counts weigh until the window after it is over.
    const goneAt = since + 2 * windowMs
    const row = read.get(name)
    const known = Number(row?.['since'])
    if (known === since)
      return { name, since, used: Number(row?.['used']), before: Number(row?.['before']), goneAt }
    const before = known === since - windowMs ? Number(row?.['used']) : 0
    return { name, since, used: 0, before, goneAt }
  }

  return {
    take(charges, now) {
      let full: { readonly full: string; readonly waitMs: number } | undefined
      const counters = charges.map(charge => {
        const counter = counterOf(charge, now)
        const waitMs = msUntilRoom(counter.before, counter.used, charge.limit, charge.windowMs, now)
        if (waitMs > (full?.waitMs ?? 0)) full = { full: charge.quota, waitMs }
        return counter
      })
      if (full !== undefined) return full
      for (const { name, since, used, before, goneAt } of counters)
        write.run(name, since, used + 1, before, goneAt)
      const nearing = charges.flatMap(({ quota, warnAt, windowMs }, at) => {
        const { used = 0, before = 0 } = counters[at] ?? {}
        return warnAt !== undefined && estimateUse(before, used + 1, windowMs, now) >= warnAt ? [quota] : []
      })
      return { counters: counters.map(({ name, since }) => [name, since]), nearing }
    },
    giveBack(counters) {
      for (const [name, since] of counters) {
        if (back.run(name, since).changes === 0) backBefore.run(name, since)
      }
    },
  }
}
