import { restAfter } from '../runtime/backoff.ts'

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

/** Fewer places than before, because attempts fail, until it is known whether fewer fail then. */
interface TrialOfFewer {
  readonly from: number
  /** The share that failed before. */
  readonly share: number
  readonly beganAt: number
  /** When the latest of them ended, and how many of them ended, and failed. */
  readonly endedAt: number
  readonly ended: number
  readonly failed: number
}

interface LimitStep {
  readonly is: 'start' | 'trying' | 'raised' | 'lowered' | 'kept' | 'failing'
  /** The number before, and the one that was tried. */
  readonly from: number
  readonly to: number
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

/** How many may be under way at a moment. Moments are in ms of the clock. */
export interface LimiterStanding {
  /** 0 while the provider asked for a pause. */
  readonly limit: number
  /** When a pause ends that the provider asked for; null without one. */
  readonly pausedUntil: number | null
  /**
   * When the limit rises though no attempt ends: after a pause, or when one more is tried than was refused; null: it does
   * not. There may be no attempt under way then whose end would begin the next one, so a timer has to begin it.
   */
  readonly risesAt: number | null
}

/** Where the search begins: few enough for any mail server to take. */
const START = 10
/** The load may fall while a refusal is on its way: then fewer attempts are under way when it comes than the provider had taken. */
const LOWEST_SHARE = 0.8
/** When this share of the attempts fails that did not before, half of the places are tried. */
const FAILING_SHARE = 0.25
/** The weight of the latest attempt in the share of those that fail, and of that share in what is tolerated once it is lower. */
const LATEST = 0.05
const LATEST_TOLERATED = 0.01
/** So many attempts end before fewer places are judged. */
const JUDGED = 40
/** While this share fails in spite of that, half of them again is tried: there is little to lose. */
const MOST_FAIL = 0.5

export type Limiter = ReturnType<typeof createLimiter>

/**
 * Limits how many attempts may be under way at once with one provider. Three things decide, each with a memory of its own:
 *
 * - a search by trial for the number that carries most (see `createLimitSearch`, which says why it is not one of Netflix's or Envoy's limiters);
 * - the provider's refusals: `createRefusals` remembers how many attempts it took, and when one more is to be tried;
 * - attempts that fail while at least half of the places are in use: once a quarter of them do, half of the places are tried, as
 *   TCP's multiplicative decrease would have it. They stay fewer only if fewer attempts fail then: a carrier that cuts every fifth
 *   request cuts every fifth of two, too.
 *
 * Nothing decays with time: a limiter that was idle overnight knows what it knew. Time is an argument in ms, of a clock
 * that never goes back.
 * @param options.most the upper bound, by the settings.
 * @param options.start the first limit, when not 10.
 */
export function createLimiter({ most, start = START }: { most: number; start?: number }) {
  const search = createLimitSearch({ start, most })
  const refusals = createRefusals()
  /** The most that ever were under way: so many connections have been opened. */
  let peak = 0
  /** The share of attempts that fail, among the latest. */
  let failing = 0
  /** The share that fails however few are under way. */
  let tolerated = 0
  /** The trial of fewer places because attempts fail. */
  let fewer: TrialOfFewer | undefined
  /** What was computed last, and the moment from which on time alone may have changed it. */
  let standing: LimiterStanding = { limit: 0, pausedUntil: null, risesAt: null }
  let holdsUntil = Number.NEGATIVE_INFINITY

  /** The number that is known to be accepted. */
  const bound = (): number => Math.min(search.limit, refusals.latest?.accepted ?? most)
  /** The most that the search may try. */
  const ceiling = (): number => Math.max(1, refusals.latest?.accepted ?? most)

  /** Finds the refusal that bounds the limit, unless the search's own limit is lower. */
  function findBoundingRefusal(): Refusal | undefined {
    const { latest } = refusals
    return latest !== undefined && search.limit >= latest.accepted ? latest : undefined
  }

  function recordRefusal(place: Place, end: RefusedEnd, allInUse: boolean, now: number): void {
    const known = end.is === 'refused-connection' ? end.accepted : undefined
    const accepted = known ?? Math.max(limiter.inFlight, allInUse ? 0 : Math.floor(place.nth * LOWEST_SHARE))
    // A refusal of the only connection says nothing about their number.
    if (end.is === 'refused-connection' && accepted === 0) return noteEnd(place, true, now)
    const retryAfterMs = end.is === 'throttled' ? (end.retryAfterMs ?? 0) : 0
    refusals.add(end.is === 'throttled' ? 'throttled' : 'refused', place, accepted, retryAfterMs, now)
    abandonTrial(search, ceiling())
  }

  /** Notes whether an attempt failed; when more fail than did, fewer at once are tried. */
  function noteEnd({ nth, beganAt }: Place, failed: boolean, now: number): void {
    if (fewer !== undefined) {
      // Those that began before are why it is tried.
      if (beganAt < fewer.beganAt) return
      fewer = { ...fewer, endedAt: now, ended: fewer.ended + 1, failed: fewer.failed + (failed ? 1 : 0) }
      if (fewer.ended >= JUDGED) judgeFewer(fewer, now)
      return
    }
    // Few under way are not why it fails.
    if (failed && nth * 2 < bound()) return
    failing += ((failed ? 1 : 0) - failing) * LATEST
    tolerated += Math.min(0, failing - tolerated) * LATEST_TOLERATED
    if (failing > tolerated + (1 - tolerated) * FAILING_SHARE && bound() > 1) tryFewer(bound(), failing, now)
  }

  function tryFewer(from: number, share: number, now: number): void {
    fewer = { from, share, beganAt: now, endedAt: now, ended: 0, failed: 0 }
    lowerTo(search, Math.max(1, Math.floor(bound() / 2)))
  }

  function judgeFewer({ from, share, ended, failed }: TrialOfFewer, now: number): void {
    const left = failed / ended
    // Of half as many, a server that takes a fixed number fails `max(0, 2 * share - 1)`; one that fails at random the same share.
    const hasPaid = left < (share + Math.max(0, 2 * share - 1)) / 2
    if (!hasPaid && left >= MOST_FAIL && search.limit > 1) return tryFewer(from, Math.max(share, left), now)
    failing = left
    if (!hasPaid) {
      tolerated = Math.max(share, left)
      returnTo(search, from)
    }
    fewer = undefined
  }

  const limiter = {
    /** How many attempts are under way. */
    inFlight: 0,
    /** Says how many may be under way now. It is computed when an attempt has ended since, or time may have changed it. */
    standing(now: number): LimiterStanding {
      if (now < holdsUntil) return standing
      const trialEndsAt = search.trial === undefined ? Number.POSITIVE_INFINITY : endIdleTrial(search, now)
      const { pausedUntil } = refusals
      const refused = findBoundingRefusal()
      if (now < pausedUntil) standing = { limit: 0, pausedUntil, risesAt: pausedUntil }
      else if (refused === undefined) standing = { limit: search.limit, pausedUntil: null, risesAt: null }
      else if (now < refused.until)
        standing = { limit: refused.accepted, pausedUntil: null, risesAt: refused.until }
      else standing = { limit: refused.accepted + 1, pausedUntil: null, risesAt: null }
      holdsUntil = Math.min(standing.risesAt ?? Number.POSITIVE_INFINITY, trialEndsAt)
      return standing
    },
    /** An attempt begins. @returns its place, to be given back to `releasePlace`, once. */
    takePlace(now: number): Place {
      // The load was over before they were judged: the next one shall find all places.
      if (fewer !== undefined && limiter.inFlight === 0 && now - fewer.endedAt > LULL_MS) {
        returnTo(search, fewer.from)
        fewer = undefined
        failing = 0
        holdsUntil = Number.NEGATIVE_INFINITY
      }
      limiter.inFlight += 1
      const place = {
        beganAt: now,
        nth: limiter.inFlight,
        round: search.round,
        isNew: limiter.inFlight > peak,
      }
      peak = Math.max(peak, limiter.inFlight)
      return place
    },
    /** An attempt has ended, or shall count no longer. */
    releasePlace(place: Place, end: AttemptEnd, now: number): void {
      const allInUse = limiter.inFlight >= bound()
      limiter.inFlight -= 1
      holdsUntil = Number.NEGATIVE_INFINITY
      if (end.is === 'answered') {
        noteEnd(place, false, now)
        refusals.noteAnswer(place, search.limit, now)
        if (allInUse && fewer === undefined && place.round === search.round)
          measureAttempt(search, { tookMs: now - place.beganAt, isNew: place.isNew }, now, ceiling())
      } else if (end.is === 'failed') noteEnd(place, true, now)
      else if (end.is !== 'void') recordRefusal(place, end, allInUse, now)
    },
    /** Says why the limit is what it is. */
    explain(now: number): { readonly reason: LimitReason; readonly why: string } {
      const pausedMs = refusals.pausedUntil - now
      const refused = findBoundingRefusal()
      const { step } = search
      if (pausedMs > 0)
        return {
          reason: 'paused',
          why: `the provider asked for a pause; it ends in ${formatSeconds(pausedMs)}`,
        }
      if (refused !== undefined)
        return { reason: refused.by, why: describeRefusal(refused, refused.until - now) }
      if (search.limit >= most) return { reason: 'most', why: 'as many as the settings allow' }
      return { reason: step.is, why: STEPS[step.is](step) }
    },
  }
  return limiter
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

function formatSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}

/** A refusal of one attempt too many: how many the provider took, and when one more may be tried. */
interface Refusal {
  readonly by: 'refused' | 'throttled'
  readonly accepted: number
  /** The time from which one more may be tried. */
  readonly until: number
  /** How often in a row one more was refused. */
  readonly times: number
}

const HOLD_MS = { first: 60_000, most: 30 * 60_000 }
/** The same of a provider that allows so many a second: the next second is another one. */
const RATE_HOLD_MS = { ...HOLD_MS, first: 1500 }
/** The pause after a provider refused the only request and asked for none, ms. */
const REFUSED_PAUSE_MS = 1000
/**
 * The longest pause of all messages, ms: then one asks again. What the provider asked for beyond it holds for the message
 * that it answered. A provider that goes on refusing is left alone by the breaker.
 */
const LONGEST_REFUSED_PAUSE_MS = 2000

/**
 * Refusals for too much at once ("421 too many connections", 429). The number that the provider took is remembered, as in KumoMTA's
 * traffic shaping, and after a minute one more is tried, then after two, four … 30 minutes; once one is taken, one more
 * at a time, TCP's additive increase. A provider that throttles as many as it took before allows so many a second: it
 * is given one more after 1.5 s, and then after three, six …, unless that one is taken.
 */
function createRefusals() {
  let refusedAt = Number.NEGATIVE_INFINITY
  /** The most at once that were answered, of those that began after a refusal. */
  let taken = 0
  /** The provider throttled as many at once as it had taken before, so it counts requests in a second. */
  let isRateLimited = false

  const holdMs = (times: number): number => restAfter(times, isRateLimited ? RATE_HOLD_MS : HOLD_MS)

  const refusals = {
    /** The refusal that holds; undefined when there was none, or the provider has taken more since. */
    latest: undefined as Refusal | undefined,
    /** When the pause ends that the provider asked for; in the past without one. */
    pausedUntil: Number.NEGATIVE_INFINITY,
    /** An attempt was answered. @param useful beyond so many at once nothing is left to remember. */
    noteAnswer({ beganAt, nth }: Place, useful: number, now: number): void {
      const { latest } = refusals
      if (beganAt >= refusedAt) taken = Math.max(taken, nth)
      if (latest === undefined || beganAt < latest.until || nth <= latest.accepted) return
      // The provider takes one more now than before.
      const until = isRateLimited ? now + holdMs(1) : latest.until
      refusals.latest = nth > useful ? undefined : { ...latest, accepted: nth, until, times: 1 }
    },
    /** One more was refused. @param accepted how many it took; 0: it takes nothing now. */
    add(by: Refusal['by'], { nth }: Place, accepted: number, retryAfterMs: number, now: number): void {
      if (by === 'throttled' && !isRateLimited && nth <= taken) {
        isRateLimited = true
        refusals.latest = undefined
      }
      const { latest } = refusals
      const times = latest === undefined ? 1 : latest.times + (now >= latest.until ? 1 : 0)
      refusedAt = now
      if (accepted > 0) {
        const least = Math.min(latest?.accepted ?? accepted, accepted)
        refusals.latest = { by, accepted: least, until: now + Math.max(holdMs(times), retryAfterMs), times }
      } else {
        // It takes nothing at all, which says nothing about how many it takes at other times.
        refusals.pausedUntil = now + Math.min(retryAfterMs || REFUSED_PAUSE_MS, LONGEST_REFUSED_PAUSE_MS)
        refusals.latest = { by, accepted: 0, until: refusals.pausedUntil, times: 1 }
      }
    },
  }
  return refusals
}

/** The part of a change of the limit by which the rate must change (1: all of it) for a higher limit to be kept, or a lower one to be given up. */
const WORTH_MORE = 0.1
const WORTH_KEEPING = 0.05
/**
 * At first the number doubles at the first sign that it pays, because a burst is over before there are better signs. That ends
 * when so many such trials in a row have failed: a single one may have met a hiccup of a process that has just started.
 */
const OPENING = { factor: 2, worth: 0.5, batch: 8, trials: 3 }
const MORE = 1.5
const FEWER = 0.75
/** Batches of attempts that are measured before a trial, and in it. */
const BATCHES = 5
const SMALLEST_BATCH = 16
/**
 * Trials pause after two have failed, 1 s, doubling to 30 s, unless the duration has changed by this factor since. Fewer
 * places, which cost rate, are not tried again for ten times as long as that took.
 */
const PAUSE_MS = { first: 1000, most: 30_000 }
const PAUSE_PER_TRIAL = 10
const SHIFT = Math.log(1.5)
/** A load is over when not all places were needed for so long. Bursts add up to a measurement; fewer are not tried in them. */
const LULL_MS = 1000

interface Trial {
  readonly beganAt: number
  /** Places in use before, and the limit to go back to, which is higher when a refusal bounded their use. */
  readonly from: number
  readonly limitBefore: number
  readonly more: boolean
  readonly durations: Durations
}

export type LimitSearch = ReturnType<typeof createLimitSearch>

/**
 * The search for the number of attempts at once that a provider answers most of.
 *
 * It climbs by trial, as BBR probes for bandwidth and .NET's thread pool for threads: it measures how long attempts take
 * while all places are in use, tries more places or fewer, measures again, and keeps what was tried if that paid. By
 * Little's law the rate is places ÷ duration, so the two durations tell how much of the change arrived as rate.
 *
 * The better known limiters compare with a remembered duration instead, and that did not do here. In a simulation (50
 * callers, 20 ms a mail with a coefficient of variation of 0.5) Vegas and Envoy's gradient, which remember the shortest,
 * take jitter for a queue: 7 places, 0.15 of the best rate. Gradient2 of Netflix's concurrency-limits remembers a mean,
 * which is sound, but opens by one place a second (0.81 over a minute), and under lasting load its memory drifts to what
 * the overloaded server does. AIMD opens at once and never notices that a server is busy. A trial needs no memory, so
 * nothing goes stale in it, neither overnight nor when the provider becomes slower for reasons of its own.
 * @param most the highest limit; @param start the first one.
 */
export function createLimitSearch({ start, most }: { start: number; most: number }) {
  const limit = Math.min(start, most)
  const step: LimitStep = { is: 'start', from: limit, to: limit }
  return {
    most,
    /** How many places there are, proven or on trial. */
    limit,
    /** Changes whenever the limit does: what began in another round says nothing about this one. */
    round: 0,
    opening: true,
    /** Measured at the present limit, or at the one before the trial. */
    before: durationsOf(Math.max(limit, OPENING.batch)),
    trial: undefined as Trial | undefined,
    nextMore: true,
    failedTrials: 0,
    nextTrialAt: Number.NEGATIVE_INFINITY,
    nextFewerAt: Number.NEGATIVE_INFINITY,
    durationAtLastTrial: undefined as number | undefined,
    measuredAt: Number.NEGATIVE_INFINITY,
    measuredSinceLull: 0,
    /** How the limit came about. */
    step,
  }
}

function setLimit(search: LimitSearch, to: number): void {
  search.limit = to
  search.round += 1
}

function newDurations({ opening }: LimitSearch, places: number): Durations {
  return durationsOf(Math.max(places, opening ? OPENING.batch : SMALLEST_BATCH))
}

function stopOpening(search: LimitSearch): void {
  if (!search.opening) return
  search.opening = false
  search.failedTrials = 0
  search.before = newDurations(search, search.limit)
}

/** Says until when a load goes on of which nothing more is measured. */
function loadEndsAt({ measuredAt, before }: LimitSearch): number {
  return measuredAt + Math.max(LULL_MS, 3 * Math.exp(shortestMean(before)))
}

/**
 * Ends a trial of fewer places when not all were needed for a while: the next burst shall find them all.
 * @returns when the trial that goes on would end so; Infinity without one.
 */
export function endIdleTrial(search: LimitSearch, now: number): number {
  const { trial } = search
  if (trial === undefined || trial.more) return Number.POSITIVE_INFINITY
  const endsAt = loadEndsAt(search)
  if (now <= endsAt) return endsAt
  endTrial(search, trial, false, now)
  return Number.POSITIVE_INFINITY
}

/**
 * Takes how long an attempt took that began in this round and ended while all places were in use.
 * @param attempt.isNew its place had never been in use before, so that it had to open a connection.
 * @param ceiling the most that may be tried now.
 */
export function measureAttempt(
  search: LimitSearch,
  { tookMs, isNew }: { readonly tookMs: number; readonly isNew: boolean },
  now: number,
  ceiling: number,
): void {
  // While the search opens, every place is new, before and after a trial.
  if (isNew && !search.opening) return
  if (now > loadEndsAt(search)) search.measuredSinceLull = 0
  search.measuredAt = now
  search.measuredSinceLull += 1
  const { trial, before } = search
  // Half a millisecond is what a clock of whole ones cannot tell from nothing.
  addDuration(trial?.durations ?? before, Math.log(Math.max(tookMs, 0.5)))
  if (trial === undefined) return beginTrial(search, now, ceiling)
  const paid = judgeTrial(search, trial)
  if (paid !== undefined) endTrial(search, trial, paid, now)
}

function beginTrial(search: LimitSearch, now: number, ceiling: number): void {
  const { limit, durationAtLastTrial } = search
  const from = Math.min(limit, ceiling)
  const highest = Math.min(search.most, ceiling)
  if (from >= highest) stopOpening(search)
  const { opening, before } = search
  if (before.batches.length < (opening ? 1 : BATCHES)) return
  const shifted =
    durationAtLastTrial !== undefined && Math.abs(shortestMean(before) - durationAtLastTrial) > SHIFT
  if (now < search.nextTrialAt && !shifted) return
  if (shifted) search.failedTrials = 0
  const higher = Math.min(highest, Math.ceil(from * (opening ? OPENING.factor : MORE)))
  // When refusals bound the number, and not the search, the first trial of fewer is as rare as those after it.
  const isRefused = from === ceiling && ceiling < search.most
  const enough = BATCHES * (isRefused ? PAUSE_PER_TRIAL * before.batchSize : from)
  const mayTryFewer = now >= search.nextFewerAt && search.measuredSinceLull >= enough
  const lower = mayTryFewer ? Math.ceil(from * FEWER) : from
  const more = higher > from && (search.nextMore || lower === from)
  const to = more ? higher : lower
  if (to === from) return
  search.durationAtLastTrial = shortestMean(before)
  const durations = newDurations(search, opening ? from : to)
  search.trial = { beganAt: now, from, limitBefore: limit, more, durations }
  search.step = { is: 'trying', from, to }
  setLimit(search, to)
}

/** Says whether the trial has paid; undefined: not known yet. */
function judgeTrial(
  { limit, opening, before }: LimitSearch,
  { from, more, durations }: Trial,
): boolean | undefined {
  if (durations.batches.length === 0) return undefined
  const change = Math.log(limit / from)
  const arrived = 1 - (shortestMean(durations) - shortestMean(before)) / change
  if (opening && arrived > OPENING.worth) return true
  if (durations.batches.length < BATCHES) return undefined
  const error = Math.hypot(measureSpread(before), measureSpread(durations)) / Math.abs(change)
  // An unsure result does not raise the limit, or it would wander upwards; nor does it lower it when all may be lost.
  if (more) return !opening && arrived - error > WORTH_MORE
  return arrived < WORTH_KEEPING && arrived + error < 1
}

function endTrial(search: LimitSearch, ended: Trial, paid: boolean, now: number): void {
  const { beganAt, from, limitBefore, more, durations } = ended
  const to = search.limit
  search.trial = undefined
  if (paid) {
    search.before = durations
    search.failedTrials = 0
    search.nextTrialAt = now
    search.step = { is: more ? 'raised' : 'lowered', from, to }
    return
  }
  setLimit(search, limitBefore)
  search.step = { is: 'kept', from, to }
  search.failedTrials += 1
  const { opening, failedTrials } = search
  if (opening) {
    if (failedTrials >= OPENING.trials) stopOpening(search)
    return
  }
  search.nextMore = !more
  search.nextTrialAt = now + restAfter(failedTrials - 1, PAUSE_MS)
  if (!more) search.nextFewerAt = now + PAUSE_PER_TRIAL * (now - beganAt)
}

/** There is another ceiling: ends the trial without a verdict, and measures anew. */
function abandonTrial(search: LimitSearch, ceiling: number): void {
  const { trial, limit } = search
  if (trial !== undefined) search.step = { is: 'kept', from: trial.from, to: limit }
  setLimit(search, trial?.limitBefore ?? limit)
  search.trial = undefined
  search.before = newDurations(search, Math.min(search.limit, ceiling))
}

/** Goes down to so many places, because attempts fail, and opens anew from there. */
export function lowerTo(search: LimitSearch, to: number): void {
  search.step = { is: 'failing', from: search.limit, to }
  search.trial = undefined
  search.opening = true
  search.nextMore = true
  search.failedTrials = 0
  search.nextTrialAt = Number.NEGATIVE_INFINITY
  setLimit(search, to)
  search.before = newDurations(search, to)
}

/** Goes back to so many places: as many attempts fail with fewer. */
function returnTo(search: LimitSearch, from: number): void {
  const to = search.limit
  lowerTo(search, from)
  search.step = { is: 'kept', from, to }
}

/**
 * Logarithms of durations in ms, so that twice and half weigh alike and the change of a rate is a difference. They are
 * taken in batches as large as the number of places: attempts that are under way together are slow together. Of the
 * latest batches the one with the shortest mean counts: a hiccup of the provider, or of this process, lengthens some.
 */
interface Durations {
  readonly batchSize: number
  /** Means of the latest batches, the oldest first. */
  readonly batches: number[]
  count: number
  sum: number
}

function durationsOf(batchSize: number): Durations {
  return { batchSize, batches: [], count: 0, sum: 0 }
}

function addDuration(durations: Durations, logarithm: number): void {
  const { batches, batchSize } = durations
  durations.count += 1
  durations.sum += logarithm
  if (durations.count < batchSize) return
  batches.push(durations.sum / durations.count)
  if (batches.length > BATCHES) batches.shift()
  durations.count = 0
  durations.sum = 0
}

/** The mean of the shortest batch; 0 before there is one. */
function shortestMean({ batches }: Durations): number {
  return batches.length === 0 ? 0 : Math.min(...batches)
}

/** Measures how far the median batch is from the shortest one. */
function measureSpread({ batches }: Durations): number {
  const sorted = batches.toSorted((a, b) => a - b)
  return (sorted[Math.floor(sorted.length / 2)] ?? 0) - (sorted[0] ?? 0)
}
