import type { Charge } from '../outbox.ts'
import { estimateUse, msUntilRoom, startOfWindow } from '../quota.ts'
import { ask, type Client, type Result, type Statement, together } from './connect.ts'
import type { Counters } from './row.ts'

interface Bucket {
  since: number
  used: number
  before: number
  goneAt: number
}

/** Quotas' counters of one transaction: locked, counted in memory, written back. */
export interface Quotas {
  /** Reads and locks the counters of charges, and those that giving back would touch. */
  lock(charges: readonly Charge[], refunds: readonly Counters[]): Promise<void>
  /** Counts one message in every counter, or in none when one is full; then the one that is full for longest. */
  take(
    charges: readonly Charge[],
  ):
    | { readonly counters: Counters; readonly nearing: readonly string[] }
    | { readonly full: string; readonly waitMs: number }
  giveBack(charges: Counters): void
  write(): Promise<Result>[]
}

export function createQuotas(client: Client, now: number): Quotas {
  const known = new Map<string, Bucket>()
  const changed = new Set<string>()

  /** A charge's counter, moved on to the window of now. */
  function bucketOf(charge: Charge): Bucket {
    const name = nameOf(charge)
    const fresh = freshBucket(charge.windowMs, now)
    const bucket = known.get(name) ?? fresh
    known.set(name, bucket)
    // A replica whose clock is a little ahead may be in the next window already: then it is counted there too.
    if (bucket.since >= fresh.since) return bucket
    bucket.before = bucket.since === fresh.since - charge.windowMs ? bucket.used : 0
    bucket.used = 0
    bucket.since = fresh.since
    bucket.goneAt = fresh.goneAt
    return bucket
  }

  return {
    async lock(charges, refunds) {
      const wanted = new Map(charges.map(charge => [nameOf(charge), freshBucket(charge.windowMs, now)]))
      const names = new Set([...wanted.keys(), ...refunds.flat().map(([name]) => name)])
      if (names.size === 0) return
      const made = JSON.stringify([...wanted].map(([name, bucket]) => ({ name, ...bucket })))
      const [, read] = await together(ask(client, MAKE, made), ask(client, LOCK, [...names]))
      for (const row of read.rows) {
        const bucket = {
          since: row['since'],
          used: row['used'],
          before: row['before'],
          goneAt: row['gone_at'],
        }
        known.set(row['name'] as string, bucket as Bucket)
      }
    },
    take(charges) {
      let full: { readonly full: string; readonly waitMs: number } | undefined
      for (const each of charges) {
        const { before, used } = bucketOf(each)
        const waitMs = msUntilRoom(before, used, each.limit, each.windowMs, now)
        if (waitMs > (full?.waitMs ?? 0)) full = { full: each.quota, waitMs }
      }
      if (full !== undefined) return full
      const nearing: string[] = []
      const counters = charges.map((each): Counters[number] => {
        const bucket = bucketOf(each)
        bucket.used += 1
        changed.add(nameOf(each))
        const { quota, warnAt, windowMs } = each
        if (warnAt !== undefined && estimateUse(bucket.before, bucket.used, windowMs, now) >= warnAt)
          nearing.push(quota)
        return [nameOf(each), bucket.since]
      })
      return { counters, nearing }
    },
    giveBack(charges) {
      for (const [name, since] of charges) {
        const bucket = known.get(name)
        if (bucket === undefined) continue
        if (bucket.since === since && bucket.used > 0) bucket.used -= 1
        else if (bucket.since > since && bucket.before > 0) bucket.before -= 1
        changed.add(name)
      }
    },
    write() {
      if (changed.size === 0) return []
      return [ask(client, WRITE, JSON.stringify([...changed].map(name => ({ name, ...known.get(name) }))))]
    },
  }
}

/** Begins with the bucket, so that a recipient's counters lie together. */
function nameOf({ quota, bucket, windowMs }: Charge): string {
  return `${bucket} ${quota} ${windowMs}`
}

/** Its counts weigh until the window after it is over. */
function freshBucket(windowMs: number, now: number): Bucket {
  const since = startOfWindow(now, windowMs)
  return { since, used: 0, before: 0, goneAt: since + 2 * windowMs }
}

const RECORDS = `json_to_recordset($1::json) AS r(name text, since bigint, used integer, before integer, "goneAt" bigint)`

const MAKE: Statement = {
  name: 'make-buckets',
  text: `INSERT INTO courier_buckets (name, since, used, before, gone_at)
    SELECT name, since, used, before, "goneAt" FROM ${RECORDS} ORDER BY name ON CONFLICT DO NOTHING`,
}
const LOCK: Statement = {
  name: 'lock-buckets',
  text: 'SELECT * FROM courier_buckets WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
}
const WRITE: Statement = {
  name: 'write-buckets',
  // An insert for the one that was pruned between making and locking it.
  text: `INSERT INTO courier_buckets (name, since, used, before, gone_at)
    SELECT name, since, used, before, "goneAt" FROM ${RECORDS} ORDER BY name
    ON CONFLICT (name) DO UPDATE SET
      since = excluded.since, used = excluded.used, before = excluded.before, gone_at = excluded.gone_at`,
}
