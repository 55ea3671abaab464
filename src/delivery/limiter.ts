import { say, type Words } from '../language/sentence.ts'

/** How an attempt ended, as far as that tells how many may be under way. */
export type AttemptEnd =
  /** The provider dealt with the message: took it, refused it, or asked to come again with it. */
  | { readonly is: 'answered' }
  /**
   * It takes no more connections than it has.
   * @param accepted how many connections the provider had when it refused one more, if that is known.
   */
  | { readonly is: 'refused-connection'; readonly accepted?: number }
  /** It takes no more requests, and may have said for how long. */
  | { readonly is: 'throttled'; readonly retryAfterMs?: number }
  /** Says nothing about their number: it failed, or was stopped by us. */
  | { readonly is: 'void' }

export interface Place {
  readonly beganAt: number
  /** How many attempts were under way when this one began, itself included. */
  readonly nth: number
  /** It counts against the limit. */
  counts: boolean
}

/** Why a limit is what it is; a closed list, for metrics. */
export const LIMIT_REASONS = ['start', 'raised', 'most', 'refused', 'throttled', 'paused'] as const

export type LimitReason = (typeof LIMIT_REASONS)[number]

/** How many may be under way at a moment. */
export interface LimiterStanding {
  /** 0 during a pause. */
  readonly limit: number
  /** When the latest pause ends, or ended, after the provider refused a request; 0: there was none. */
  readonly pausedUntil: number
}

/** Where it begins: few enough for any mail server to take. */
const START = 10
/**
 * How long no more connections are opened than the provider took when it refused one more, ms; then one more is tried, and another
 * one for each that is taken. Mail servers and their guards shut out whoever is refused five times or so within ten minutes.
 * A process that starts anew knows nothing of it.
 */
const HELD_MS = 10 * 60_000
/** The pause of all messages after a provider refused a request, ms: a carrier that allows so many a second has another second soon. */
const PAUSE_MS = 100
/** The same when a single request was too much, unless the provider asked for another one; beyond the longest one that holds for its message alone. */
const REFUSED_PAUSE_MS = { usual: 1000, most: 2000 }

/** So many attempts may be under way beside those that count; each has a connection. */
export const MOST_UNCOUNTED = 100

export interface Limiter {
  /** How many attempts are under way and count, and how many do not count any more. */
  readonly inFlight: number
  readonly uncounted: number
  /** Something waits that had no place: set by who looks for one, until the next place is taken. */
  isWanted: boolean
  /** Says how many may be under way now. */
  standing(now: number): LimiterStanding
  /** Says whether nothing more may begin, even beside those that count. */
  isFull(now: number): boolean
  /** An attempt begins; it does not count when there is no place. @returns its place, to be given back to `releasePlace`, once. */
  takePlace(now: number): Place
  /** An attempt goes on and counts no longer, if there is room beside those that count. @returns whether it counts no longer */
  stopCounting(place: Place): boolean
  /** An attempt has ended. */
  releasePlace(place: Place, end: AttemptEnd, now: number): void
  /** Says why the limit is what it is. */
  explain(now: number): { readonly reason: LimitReason; readonly why: Words }
}

/**
 * Limits how many attempts may be under way at once with one provider, by one rule: one more for each answered attempt while all places
 * are in use, so that their number doubles in the time of an answer; down to what the provider took when it refuses a connection; half
 * of them, after a short pause, when it refuses a request. Failures leave it: with 19 % of random ones three places would be left.
 * Time is an argument in ms, of a clock that never goes back.
 * @param most the upper bound, by the settings.
 */
export function createLimiter(most: number): Limiter {
  let limit = Math.min(START, most)
  let changed: 'start' | 'raised' | 'throttled' = 'start'
  /** The most connections that the provider took when it refused one more, and until when none is tried beyond them. */
  let taken = Infinity
  let heldUntil = Number.NEGATIVE_INFINITY
  let halvedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = 0

  /** The most connections that may be open now. */
  const mostOpen = (now: number): number => (now < heldUntil ? taken : taken + 1)

  function noteAnswer({ beganAt, nth }: Place, allInUse: boolean, now: number): void {
    if (beganAt >= heldUntil) taken = Math.max(taken, nth)
    // What began before it was halved says nothing of what came after.
    if (!allInUse || beganAt <= halvedAt) return
    if (limit >= Math.min(most, mostOpen(now))) return
    limit += 1
    changed = 'raised'
  }

  function noteRefusedConnection(
    { nth }: Place,
    accepted: number | undefined,
    allInUse: boolean,
    now: number,
  ): void {
    // The load may have fallen while the refusal was on its way: then fewer are under way than it took.
    const count = accepted ?? (allInUse ? limiter.inFlight + limiter.uncounted : nth - 1)
    // A refusal of the only connection says nothing about their number.
    if (count === 0) return
    taken = Math.min(taken, count)
    heldUntil = now + HELD_MS
    limit = Math.min(limit, taken)
  }

  function noteThrottled({ beganAt, nth }: Place, retryAfterMs: number | undefined, now: number): void {
    const askedMs = Math.min(retryAfterMs || REFUSED_PAUSE_MS.usual, REFUSED_PAUSE_MS.most)
    pausedUntil = now + (nth > 1 ? PAUSE_MS : askedMs)
    // Once for all that were under way.
    if (beganAt <= halvedAt) return
    halvedAt = now
    limit = Math.max(1, Math.min(limit, Math.max(nth, limiter.inFlight + 1)) >> 1)
    changed = 'throttled'
  }

  const limiter = {
    inFlight: 0,
    uncounted: 0,
    isWanted: false,
    standing(now: number): LimiterStanding {
      const open = now < pausedUntil ? 0 : Math.min(limit, mostOpen(now) - limiter.uncounted)
      return { limit: Math.max(0, open), pausedUntil }
    },
    isFull: (now: number): boolean =>
      limiter.inFlight + limiter.uncounted >= Math.min(most + MOST_UNCOUNTED, mostOpen(now)),
    takePlace(now: number): Place {
      const counts = limiter.inFlight < limit
      limiter[counts ? 'inFlight' : 'uncounted'] += 1
      limiter.isWanted = false
      return { beganAt: now, nth: limiter.inFlight + limiter.uncounted, counts }
    },
    stopCounting(place: Place): boolean {
      if (!place.counts || limiter.uncounted >= MOST_UNCOUNTED) return !place.counts
      place.counts = false
      limiter.inFlight -= 1
      limiter.uncounted += 1
      return true
    },
    releasePlace(place: Place, end: AttemptEnd, now: number): void {
      const allInUse = limiter.isWanted || limiter.inFlight >= limit
      if (place.counts) limiter.inFlight -= 1
      else limiter.uncounted -= 1
      if (end.is === 'answered') noteAnswer(place, allInUse, now)
      else if (end.is === 'refused-connection') noteRefusedConnection(place, end.accepted, allInUse, now)
      else if (end.is === 'throttled') noteThrottled(place, end.retryAfterMs, now)
    },
    explain(now: number): { readonly reason: LimitReason; readonly why: Words } {
      if (now < pausedUntil)
        return {
          reason: 'paused',
          why: say('the provider asked for a pause; it ends in {n} s', { n: secondsOf(pausedUntil - now) }),
        }
      if (limit >= taken) {
        const next =
          now < heldUntil
            ? say('one more is tried in {n} s', { n: secondsOf(heldUntil - now) })
            : say('one more is tried when it is needed')
        return {
          reason: 'refused',
          why: say('the provider refused more than {taken} connections; {next}', { taken, next }),
        }
      }
      if (limit >= most) return { reason: 'most', why: 'as many as the settings allow' }
      return { reason: changed, why: WHY[changed] }
    },
  }
  return limiter
}

const WHY = {
  start: 'as many as at the start: more were never needed',
  raised: 'one more for each answer while all were in use',
  throttled: 'halved: the provider refused more requests at once',
} as const

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000)
}
