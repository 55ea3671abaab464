import type { Accepted, Charge, ChargedWindows } from './outbox.ts'

/**
 * A sliding estimate over two fixed windows: the count of the current window, plus the share of the previous one that
 * a window ending now still overlaps, as if its messages had come evenly spread. A counter is two numbers, whatever the
 * limit; it is off by what was not evenly spread, which evens out over the next window.
 */

export interface QuotaCounter {
  /** Start of the current window, ms since the epoch. */
  readonly windowStart: number
  /** Counted in the current window. */
  readonly current: number
  /** Counted in the window before it. */
  readonly previous: number
  /** From this moment on it counts nothing: the end of the window after the current one, ms since the epoch. */
  readonly expiresAt: number
}

/** The columns of a counter, under its names; both stores have them. */
export const COUNTER_COLUMNS =
  'name, window_start AS "windowStart", current, previous, expires_at AS "expiresAt"'

/** A message that fits into all of its quotas, counted. */
interface Charged {
  readonly is: 'charged'
  readonly windows: ChargedWindows
  /** Quotas that have reached their `warnAt`. */
  readonly nearing: readonly string[]
  /** The use of what counts the message as a newcomer; undefined: nothing does. */
  readonly newcomers: number | undefined
}

type OverQuota = Extract<Accepted, { is: 'over-quota' }>

/** What decisions do with the counters of quotas. */
export interface Quotas {
  /** Counts one message in every counter, or in none when one is full; then the one that is full for longest answers. */
  charge(charges: readonly Charge[], now: number): Charged | OverQuota
  /** Takes a message that was not sent out of the windows that it was counted in. */
  refund(windows: ChargedWindows): void
}

export interface QuotaLedger extends Quotas {
  /** The counters that have changed, by name. */
  readonly changed: ReadonlyMap<string, QuotaCounter>
}

/**
 * Keeps the counters of quotas within a transaction, as it leaves them.
 * @param readStored gives what is stored under a name.
 */
export function createQuotaLedger(readStored: (name: string) => QuotaCounter | undefined): QuotaLedger {
  const changed = new Map<string, QuotaCounter>()
  const readCounter = (name: string) => changed.get(name) ?? readStored(name)
  return {
    changed,
    charge(charges, now) {
      const used = charges.map(charge => {
        const name = counterName(charge)
        return { charge, name, counter: rotateCounter(readCounter(name), charge.windowMs, now) }
      })
      let longest = { quota: '', waitMs: 0 }
      for (const { charge, counter } of used) {
        const waitMs = msUntilRoom(counter.previous, counter.current, charge.limit, charge.windowMs, now)
        if (waitMs > longest.waitMs) longest = { quota: charge.quota, waitMs }
      }
      if (longest.waitMs > 0) {
        return {
          is: 'over-quota',
          quota: longest.quota,
          // Rounded up: who comes back when it says so must find room.
          retryAfterSeconds: Math.ceil(longest.waitMs / 1000),
        }
      }
      const uses = used.map(({ charge, counter }) => {
        const overlap = 1 - (now - startOfWindow(now, charge.windowMs)) / charge.windowMs
        return { ...charge, use: counter.current + 1 + counter.previous * overlap }
      })
      for (const { name, counter } of used) changed.set(name, { ...counter, current: counter.current + 1 })
      return {
        is: 'charged',
        windows: used.map(({ name, counter }) => [name, counter.windowStart]),
        nearing: uses.flatMap(({ quota, warnAt = Infinity, use }) => (use >= warnAt ? [quota] : [])),
        newcomers: uses.find(({ newcomersOnly }) => newcomersOnly)?.use,
      }
    },
    refund(windows) {
      for (const [name, windowStart] of windows) {
        const counter = readCounter(name)
        if (counter !== undefined) changed.set(name, refundCounter(counter, windowStart))
      }
    },
  }
}

/** Names a charge's counter. The name begins with the bucket, so that the counters of a recipient lie together on disk. */
export function counterName({ quota, bucket, windowMs }: Charge): string {
  return `${bucket} ${quota} ${windowMs}`
}

/**
 * Moves a counter on to the window of `now`.
 *
 * A counter that is one window ahead is used as it is: a replica whose clock is a little ahead may be in the next
 * window already. One that is farther ahead was written before a clock was set back, and begins anew: its counts would
 * lock its bucket out until that time has come.
 */
export function rotateCounter(stored: QuotaCounter | undefined, windowMs: number, now: number): QuotaCounter {
  const windowStart = startOfWindow(now, windowMs)
  const windowsAhead = stored === undefined ? undefined : (stored.windowStart - windowStart) / windowMs
  if (stored !== undefined && (windowsAhead === 0 || windowsAhead === 1)) return stored
  const previous = windowsAhead === -1 ? (stored?.current ?? 0) : 0
  return { windowStart, current: 0, previous, expiresAt: windowStart + 2 * windowMs }
}

/**
 * Takes a message out of the window that it was counted in, if that window still counts.
 * @param windowStart of that window, ms since the epoch.
 */
export function refundCounter(counter: QuotaCounter, windowStart: number): QuotaCounter {
  const { current, previous } = counter
  const windowMs = (counter.expiresAt - counter.windowStart) / 2
  if (counter.windowStart === windowStart) return { ...counter, current: Math.max(0, current - 1) }
  if (counter.windowStart === windowStart + windowMs)
    return { ...counter, previous: Math.max(0, previous - 1) }
  return counter
}

/** How long a number is known after an SMS was delivered to it, ms. */
export const KNOWN_MS = 400 * 24 * 3_600_000

/** What is written of a number that is known already, in SQL: an earlier beginning, and a later end once a month. */
export const KNOWN_AGAIN = `ON CONFLICT (recipient_hash) DO UPDATE SET
  since = CASE WHEN excluded.since < known.since THEN excluded.since ELSE known.since END, expires_at = excluded.expires_at
  WHERE excluded.since < known.since OR excluded.expires_at > known.expires_at + ${30 * 86_400_000}`

/** Start of the fixed window that `now` is in, ms since the epoch. */
export function startOfWindow(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}

/**
 * Computes how long it takes until one more fits.
 *
 * @param previous counted in the window before the current one.
 * @param current counted in the current window.
 * @returns 0 when it fits, else after how many ms it would, if nothing else comes.
 */
export function msUntilRoom(
  previous: number,
  current: number,
  limit: number,
  windowMs: number,
  now: number,
): number {
  const elapsed = now - startOfWindow(now, windowMs)
  // The unit is counts times milliseconds, so that no rounding makes room where there is none.
  const room = (limit - 1 - current) * windowMs
  if (previous * (windowMs - elapsed) <= room) return 0
  if (limit < 1) return windowMs
  // Either enough of the previous window slides out within this one, or the current one must do so as the previous.
  if (room >= 0) return windowMs - Math.floor(room / previous) - elapsed
  return windowMs - elapsed + windowMs - Math.floor(((limit - 1) * windowMs) / current)
}
