export interface LimitStep {
  readonly is: 'start' | 'trying' | 'raised' | 'lowered' | 'kept' | 'failing'
  /** The number before, and the one that was tried. */
  readonly from: number
  readonly to: number
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
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000
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

type Search = ReturnType<typeof startSearch>

function startSearch(limit: number, most: number) {
  const step: LimitStep = { is: 'start', from: limit, to: limit }
  return {
    most,
    limit,
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
    step,
  }
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
  const search = startSearch(Math.min(start, most), most)
  return {
    /** How many places there are, proven or on trial. */
    get limit() {
      return search.limit
    },
    /** Changes whenever the limit does: what began in another round says nothing about this one. */
    get round() {
      return search.round
    },
    /** How the limit came about. */
    get step() {
      return search.step
    },
    /**
     * Takes how long an attempt took that began in this round and ended while all places were in use.
     * @param attempt.isNew its place had never been in use before, so that it had to open a connection.
     * @param ceiling the most that may be tried now.
     */
    measureAttempt: (
      attempt: { readonly tookMs: number; readonly isNew: boolean },
      now: number,
      ceiling: number,
    ): void => measureAttempt(search, attempt, now, ceiling),
    /** Ends a trial of fewer places when not all were needed for a while: the next burst shall find them all. */
    endIdleTrial(now: number): void {
      const { trial } = search
      if (trial?.more === false && isLull(search, now)) endTrial(search, trial, false, now)
    },
    /** There is another ceiling: ends the trial without a verdict, and measures anew. */
    abandonTrial: (ceiling: number): void => abandonTrial(search, ceiling),
    /** Goes down to so many places, because attempts fail, and opens anew from there. */
    lowerTo: (to: number): void => lowerTo(search, to),
  }
}

function setLimit(search: Search, to: number): void {
  search.limit = to
  search.round += 1
}

function newDurations({ opening }: Search, places: number): Durations {
  return durationsOf(Math.max(places, opening ? OPENING.batch : SMALLEST_BATCH))
}

function stopOpening(search: Search): void {
  if (!search.opening) return
  search.opening = false
  search.failedTrials = 0
  search.before = newDurations(search, search.limit)
}

function isLull({ measuredAt, before }: Search, now: number): boolean {
  return now - measuredAt > Math.max(LULL_MS, 3 * Math.exp(shortestMean(before)))
}

function measureAttempt(
  search: Search,
  { tookMs, isNew }: Parameters<LimitSearch['measureAttempt']>[0],
  now: number,
  ceiling: number,
): void {
  // While the search opens, every place is new, before and after a trial.
  if (isNew && !search.opening) return
  if (isLull(search, now)) search.measuredSinceLull = 0
  search.measuredAt = now
  search.measuredSinceLull += 1
  const { trial, before } = search
  // Half a millisecond is what a clock of whole ones cannot tell from nothing.
  addDuration(trial?.durations ?? before, Math.log(Math.max(tookMs, 0.5)))
  if (trial === undefined) return beginTrial(search, now, ceiling)
  const paid = judgeTrial(search, trial)
  if (paid !== undefined) endTrial(search, trial, paid, now)
}

function beginTrial(search: Search, now: number, ceiling: number): void {
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
  { limit, opening, before }: Search,
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

function endTrial(search: Search, ended: Trial, paid: boolean, now: number): void {
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
  const pause = failedTrials < 2 ? 0 : FIRST_PAUSE_MS * 2 ** (failedTrials - 2)
  search.nextTrialAt = now + Math.min(pause, LONGEST_PAUSE_MS)
  if (!more) search.nextFewerAt = now + PAUSE_PER_TRIAL * (now - beganAt)
}

function abandonTrial(search: Search, ceiling: number): void {
  const { trial, limit } = search
  if (trial !== undefined) search.step = { is: 'kept', from: trial.from, to: limit }
  setLimit(search, trial?.limitBefore ?? limit)
  search.trial = undefined
  search.before = newDurations(search, Math.min(search.limit, ceiling))
}

function lowerTo(search: Search, to: number): void {
  search.step = { is: 'failing', from: search.limit, to }
  search.trial = undefined
  search.opening = true
  search.nextMore = true
  search.failedTrials = 0
  search.nextTrialAt = Number.NEGATIVE_INFINITY
  setLimit(search, to)
  search.before = newDurations(search, to)
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
