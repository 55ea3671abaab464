import { createLimitSearch, type LimitSearch, type LimitStep } from './limit-search.ts'
import { createRefusals, type Refusal, type Refusals } from './refusals.ts'

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
  /** No answer, no connection, no login. */
  | { readonly is: 'failed' }
  /** Says nothing about the provider: stopped by us, expired, or still waiting but not to be counted any more. */
  | { readonly is: 'void' }

type RefusedEnd = AttemptEnd & { readonly is: 'refused-connection' | 'throttled' }

export interface Place {
  readonly beganAt: number
  /** How many attempts were under way when this one began, itself included. */
  readonly nth: number
  readonly round: number
  /** It is the first time that so many are under way: its duration includes opening a connection. */
  readonly isNew: boolean
}

/** Why a limit is what it is; a closed list, for metrics. */
export const LIMIT_REASONS = [
  'start',
  'trying',
  'raised',
  'lowered',
  'kept',
  'failing',
  'most',
  'refused',
  'throttled',
  'paused',
] as const satisfies readonly (LimitStep['is'] | 'most' | 'refused' | 'throttled' | 'paused')[]

export type LimitReason = (typeof LIMIT_REASONS)[number]

export interface LimiterStatus {
  readonly limit: number
  readonly inFlight: number
  /** The upper bound, by the settings. */
  readonly most: number
  readonly reason: LimitReason
  /** The same in words, for the console. */
  readonly why: string
  /** When a refusal is forgotten, in the clock's ms; null without one. */
  readonly until: number | null
}

/** Where the search begins: few enough for any mail server to take. */
const START = 10
/** The load may fall while a refusal is on its way: then fewer attempts are under way when it comes than the provider had taken. */
const LOWEST_SHARE = 0.8
const FAILING_SHARE = 0.25
/** The weight of the latest attempt in the share of those that failed. */
const LATEST = 0.1
const WHEN_FAILING = 0.7

export type Limiter = ReturnType<typeof createLimiter>

/**
 * Limits how many attempts may be under way at once with one provider. Three things decide, each with a memory of its own:
 *
 * - a search by trial for the number that carries most (limit-search.ts, which says why it is not one of Netflix's or Envoy's limiters);
 * - the provider's refusals: refusals.ts remembers how many attempts it took, and when one more is to be tried;
 * - attempts that fail while at least half of the places are in use: once a quarter of them do, a third of the places go
 *   (TCP's multiplicative decrease, once for all that were under way together).
 *
 * Nothing decays with time: a limiter that was idle overnight knows what it knew. Time is an argument in ms, of a clock
 * that never goes back.
 * @param options.most the upper bound, by the settings.
 * @param options.start the first limit, when not 10.
 */
export function createLimiter({ most, start = START }: { most: number; start?: number }) {
  const search = createLimitSearch({ start, most })
  const refusals = createRefusals()
  const { bound, ceiling, boundingRefusal, limitAt } = createBounds(search, refusals, most)
  let inFlight = 0
  /** The most that ever were under way: so many connections have been opened. */
  let peak = 0
  const failures = createFailureShare()

  function recordAnswer(place: Place, allInUse: boolean, now: number): void {
    failures.recordAnswer()
    refusals.noteAnswer(place, search.limit, now)
    if (allInUse && place.round === search.round)
      search.measureAttempt({ tookMs: now - place.beganAt, isNew: place.isNew }, now, ceiling())
  }

  function recordRefusal(place: Place, end: RefusedEnd, allInUse: boolean, now: number): void {
    const known = end.is === 'refused-connection' ? end.accepted : undefined
    const accepted = known ?? Math.max(inFlight, allInUse ? 0 : Math.floor(place.nth * LOWEST_SHARE))
    // A refusal of the only connection says nothing about their number.
    if (end.is === 'refused-connection' && accepted === 0) return recordFailure(place, now)
    const retryAfterMs = end.is === 'throttled' ? (end.retryAfterMs ?? 0) : 0
    refusals.add(end.is === 'throttled' ? 'throttled' : 'refused', place, accepted, retryAfterMs, now)
    search.abandonTrial(ceiling())
  }

  function recordFailure(place: Place, now: number): void {
    // Few under way are not why it fails.
    if (place.nth * 2 >= bound() && failures.recordFailure(place.beganAt, now))
      search.lowerTo(Math.max(1, Math.floor(bound() * WHEN_FAILING)))
  }

  return {
    /** Says how many may be under way now; 0 while the provider asked for a pause. */
    limit(now: number): number {
      search.endIdleTrial(now)
      return limitAt(now)
    },
    /** Says when a pause ends that the provider asked for; null without one. */
    pausedUntil: (now: number): number | null => (now < refusals.pausedUntil ? refusals.pausedUntil : null),
    /**
     * Says when the limit rises though no attempt ends: after a pause, or when one more is tried than was refused; null: it
     * does not. There may be no attempt under way then whose end would begin the next one, so a timer has to begin it.
     */
    risesAt(now: number): number | null {
      const { pausedUntil } = refusals
      if (now < pausedUntil) return pausedUntil
      const until = boundingRefusal()?.until
      return until !== undefined && now < until ? until : null
    },
    /** How many attempts are under way. */
    get inFlight() {
      return inFlight
    },
    /** An attempt begins. @returns its place, to be given back to `end`, once. */
    takePlace(now: number): Place {
      inFlight += 1
      const place = { beganAt: now, nth: inFlight, round: search.round, isNew: inFlight > peak }
      peak = Math.max(peak, inFlight)
      return place
    },
    /** An attempt has ended, or shall count no longer. */
    releasePlace(place: Place, end: AttemptEnd, now: number): void {
      const allInUse = inFlight >= bound()
      inFlight -= 1
      if (end.is === 'answered') recordAnswer(place, allInUse, now)
      else if (end.is === 'throttled' || end.is === 'refused-connection')
        recordRefusal(place, end, allInUse, now)
      else if (end.is === 'failed') recordFailure(place, now)
    },
    status(now: number): LimiterStatus {
      const refused = boundingRefusal()
      const base = { limit: limitAt(now), inFlight, most, until: refused?.until ?? null }
      return { ...base, ...explainLimit(base, refusals.pausedUntil - now, refused, search.step, now) }
    },
  }
}

/** The bounds that the search and the refusals come to. */
function createBounds(search: Pick<LimitSearch, 'limit'>, refusals: Refusals, most: number) {
  /** The number that is known to be accepted. */
  function bound(): number {
    return Math.min(search.limit, refusals.latest?.accepted ?? most)
  }

  /** The refusal that bounds the limit, unless the search's own limit is lower. */
  function boundingRefusal(): Refusal | undefined {
    const { latest } = refusals
    return latest !== undefined && search.limit >= latest.accepted ? latest : undefined
  }

  return {
    bound,
    boundingRefusal,
    /** The most that the search may try. */
    ceiling: (): number => Math.max(1, refusals.latest?.accepted ?? most),
    limitAt(now: number): number {
      if (now < refusals.pausedUntil) return 0
      const refused = boundingRefusal()
      return bound() + (refused !== undefined && now >= refused.until ? 1 : 0)
    },
  }
}

/** Measures the share of attempts that fail, among the latest. */
function createFailureShare() {
  let share = 0
  let loweredAt = Number.NEGATIVE_INFINITY
  return {
    recordAnswer(): void {
      share *= 1 - LATEST
    },
    /** @returns whether so many fail that fewer are to be under way; those that began before it said so have been counted. */
    recordFailure(beganAt: number, now: number): boolean {
      if (beganAt < loweredAt) return false
      share += (1 - share) * LATEST
      if (share <= FAILING_SHARE) return false
      share = 0
      loweredAt = now
      return true
    },
  }
}

/** Says why a limit is what it is. @param pausedMs how long a pause still takes, ms; 0 or less without one */
function explainLimit(
  { limit, most }: { readonly limit: number; readonly most: number },
  pausedMs: number,
  refused: Refusal | undefined,
  step: LimitStep,
  now: number,
): Pick<LimiterStatus, 'reason' | 'why'> {
  if (pausedMs > 0) return { reason: 'paused', why: describePause(pausedMs) }
  if (refused !== undefined) return { reason: refused.by, why: describeRefusal(refused, refused.until - now) }
  if (limit >= most) return { reason: 'most', why: 'as many as the settings allow' }
  return { reason: step.is, why: STEPS[step.is](step) }
}

const STEPS: Readonly<Record<LimitStep['is'], (step: LimitStep) => string>> = {
  start: () => 'not measured yet: they were never all in use for long enough',
  trying: ({ from, to }) => `trying ${to} instead of ${from}`,
  raised: ({ from, to }) => `raised from ${from} to ${to}: all were in use, and more was answered`,
  lowered: ({ from, to }) => `lowered from ${from} to ${to}: as much was answered`,
  kept: ({ from, to }) =>
    to > from ? `kept: with ${to} no more was answered` : `kept: with ${to} less was answered`,
  failing: ({ from, to }) => `lowered from ${from} to ${to}: attempts failed while most were in use`,
}

function describeRefusal({ by, accepted }: Refusal, left: number): string {
  const what = by === 'refused' ? 'connections' : 'requests at once'
  if (accepted === 0) return 'the provider refused every request; one more at a time is tried'
  const next =
    left > 0 ? `one more is tried in ${formatSeconds(left)}` : 'one more is tried when it is needed'
  return `the provider refused more than ${accepted} ${what}; ${next}`
}

function describePause(left: number): string {
  return `the provider asked for a pause; it ends in ${formatSeconds(left)}`
}

function formatSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}
