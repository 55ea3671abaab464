/** A refusal of one attempt too many: how many the provider took, and when one more may be tried. */
export interface Refusal {
  readonly by: 'refused' | 'throttled'
  readonly accepted: number
  /** The time from which one more may be tried. */
  readonly until: number
  readonly holdMs: number
}

/** An attempt: when it began, and how many were under way then, itself included. */
interface Begun {
  readonly beganAt: number
  readonly nth: number
}

const HOLD_MS = 60_000
/** The same of a provider that allows so many a second: the next second is another one. */
const RATE_HOLD_MS = 1500
const LONGEST_HOLD_MS = 30 * 60_000
/** The pause after a provider refused the only request and asked for none, ms. */
const PAUSE_MS = 1000
/**
 * The longest pause of all messages, ms: then one asks again. What the provider asked for beyond it holds for the message
 * that it answered. A provider that goes on refusing is left alone by the breaker.
 */
const LONGEST_PAUSE_MS = 2000

export type Refusals = ReturnType<typeof createRefusals>

/**
 * Refusals for too much at once ("421 too many connections", 429). The number that the provider took is remembered, as in KumoMTA's
 * traffic shaping, and after a minute one more is tried, then after two, four … 30 minutes; once one is taken, one more
 * at a time, TCP's additive increase. A provider that throttles as many as it took before allows so many a second: it
 * is given one more after 1.5 s, and then after three, six …, unless that one is taken.
 */
export function createRefusals() {
  let latest: Refusal | undefined
  let refusedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY
  /** The most at once that were answered, of those that began after a refusal. */
  let taken = 0
  /** The provider throttled as many at once as it had taken before, so it counts requests in a second. */
  let isRateLimited = false

  const firstHoldMs = (): number => (isRateLimited ? RATE_HOLD_MS : HOLD_MS)

  return {
    /** The refusal that holds; undefined when there was none, or the provider has taken more since. */
    get latest() {
      return latest
    },
    /** When the pause ends that the provider asked for; in the past without one. */
    get pausedUntil() {
      return pausedUntil
    },
    /** An attempt was answered. @param useful beyond so many at once nothing is left to remember. */
    noteAnswer({ beganAt, nth }: Begun, useful: number, now: number): void {
      if (beganAt >= refusedAt) taken = Math.max(taken, nth)
      if (latest === undefined || beganAt < latest.until || nth <= latest.accepted) return
      // The provider takes one more now than before.
      const until = isRateLimited ? now + firstHoldMs() : latest.until
      latest = nth > useful ? undefined : { ...latest, accepted: nth, until, holdMs: firstHoldMs() }
    },
    /** One more was refused. @param accepted how many it took; 0: it takes nothing now. */
    add(by: Refusal['by'], { nth }: Begun, accepted: number, retryAfterMs: number, now: number): void {
      if (by === 'throttled' && !isRateLimited && nth <= taken) {
        isRateLimited = true
        latest = undefined
      }
      const again = latest !== undefined && now >= latest.until
      const holdMs = Math.min((latest?.holdMs ?? firstHoldMs()) * (again ? 2 : 1), LONGEST_HOLD_MS)
      refusedAt = now
      if (accepted > 0) {
        const least = Math.min(latest?.accepted ?? accepted, accepted)
        latest = { by, accepted: least, until: now + Math.max(holdMs, retryAfterMs), holdMs }
      } else {
        // It takes nothing at all, which says nothing about how many it takes at other times.
        pausedUntil = now + Math.min(retryAfterMs || PAUSE_MS, LONGEST_PAUSE_MS)
        latest = { by, accepted: 0, until: pausedUntil, holdMs: firstHoldMs() }
      }
    },
  }
}
