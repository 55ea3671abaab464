import { say, type Words } from '../language/sentence.ts'
import { isUnanswered, type Outcome } from '../providers/provider.ts'
import { saysNothing } from './health.ts'

/** An attempt that is under way, and the place that it has. */
export interface Place {
  readonly destination: string
  readonly beganAt: number
  /** How many attempts were under way when this one began, itself included. */
  readonly nth: number
  /** It counts against the limit. */
  counts: boolean
  /** Nobody waits for it any more: its destination may have another place. */
  isOverdue: boolean
}

/** What the limit depends on that its reason tells. */
interface LimitState {
  readonly taken: number
  readonly heldMs: number
  readonly pausedMs: number
}

/** Why a limit is what it is: a closed list, for metrics, and a sentence for people. */
const WHY = {
  start: () => 'as many as at the start: more were never needed',
  raised: () => 'one more for each answer while all were in use',
  most: () => 'as many as the settings allow',
  refused({ taken, heldMs }) {
    const next =
      heldMs > 0
        ? say('one more is tried in {n} s', { n: Math.ceil(heldMs / 1000) })
        : say('one more is tried when it is needed')
    return say('the provider refused more than {taken} connections; {next}', { taken, next })
  },
  throttled: () => 'halved: the provider refused more requests at once',
  paused: ({ pausedMs }) =>
    say('the provider asked for a pause; it ends in {n} s', { n: Math.ceil(pausedMs / 1000) }),
} as const satisfies Readonly<Record<string, (state: LimitState) => Words>>

export type LimitReason = keyof typeof WHY

export const LIMIT_REASONS = Object.keys(WHY) as readonly LimitReason[]

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
const MOST_UNCOUNTED = 100
/** An attempt that has lasted so long, ms, gives its place to another destination that has none. */
const LONG_MS = 1000
/** A quarter of the places, one at least: it is kept for destinations that hold less than a quarter. */
const quarterOf = (limit: number): number => Math.max(1, limit / 4)
/** Of so many destinations it is remembered at most that an attempt was answered there. */
const MOST_ANSWERED = 1000

/** Which destinations have places with one provider. */
export interface HeldPlaces {
  /**
   * Says when a destination gets a place without the end of an attempt: now, where one is free for it, of which a quarter is kept for those
   * that hold less than a quarter; such a one also when an attempt of another one has lasted long enough. Infinity: not at all; ms since the epoch.
   * @param destination any unless given @param taken so many places are in use beside those that are.
   */
  placeAt(now: number, destination?: string, taken?: number): number
  /** Lists the destinations that hold a quarter of the places or more. */
  largeDestinations(now: number): readonly string[]
  /** Says how many attempts are under way for a destination. */
  underWay(destination: string): number
  /** Ranks a destination by what is under way there, the lowest is served next. */
  rankOf(destination: string): number
  /** Says whether an attempt there was answered, of late; and whether the latest one was. */
  wasAnswered(destination: string): boolean
  isKnown(destination: string): boolean
  /** Lists the destinations that have some. */
  destinations(): readonly string[]
  /** Says whether nothing more may begin, even beside those that count: not even what was refused elsewhere. */
  isFull(now: number): boolean
}

/**
 * Limits how many attempts may be under way at once with one provider, by one rule: one more for each answered attempt while all places
 * are in use, so that their number doubles in the time of an answer; down to what the provider took when it refuses a connection; half
 * of them, after a short pause, when it refuses a request. Failures leave it: with 19 % of random ones three places would be left.
 * Time is an argument in ms, of a clock that never goes back.
 * @param most the upper bound, by the settings.
 */
export function createLimiter(most: number) {
  /** The attempts that are under way, in the order in which they began. What is asked for each message is counted beside. */
  const running: Place[] = []
  let uncounted = 0
  /** How many attempts of each destination are under way, and how many of them are not overdue. */
  const held = new Map<string, { all: number; waitedFor: number }>()
  /**
   * Where an attempt was answered, in the order of the latest answers, and whether the latest attempt was. If so the destination is known.
   * Anybody may invent destinations: unknown ones share turns and places.
   */
  const answered = new Map<string, boolean>()
  /** How many attempts of all unknown destinations are under way, and how many of them are not overdue. */
  const unknown = { all: 0, waitedFor: 0 }
  /** Something waits that found no place, until the next one is taken. */
  let isWanted = false
  let limit = Math.min(START, most)
  let changed: 'start' | 'raised' | 'throttled' = 'start'
  /** The most connections that the provider took when it refused one more, and until when none is tried beyond them. */
  let taken = Infinity
  let heldUntil = Number.NEGATIVE_INFINITY
  let halvedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = 0

  const isKnown = (destination: string): boolean => answered.get(destination) === true

  /** How many attempts count. */
  const counted = (): number => running.length - uncounted

  /** The most connections that may be open now. */
  const mostOpen = (now: number): number => (now < heldUntil ? taken : taken + 1)

  /** How many may be under way now; 0 during a pause. */
  const limitAt = (now: number): number =>
    now < pausedUntil ? 0 : Math.max(0, Math.min(limit, mostOpen(now) - uncounted))

  function hold(destination: string, all: number, waitedFor: number): void {
    const count = held.get(destination) ?? { all: 0, waitedFor: 0 }
    for (const each of isKnown(destination) ? [count] : [count, unknown]) {
      each.all += all
      each.waitedFor += waitedFor
    }
    if (count.all > 0) held.set(destination, count)
    else held.delete(destination)
  }

  const holdsLittle = (destination: string | undefined, open: number): boolean =>
    destination === undefined || (held.get(destination)?.waitedFor ?? 0) < quarterOf(open)

  /** Says how many places a destination leaves free: a quarter when it holds much, an eighth when it is unknown and such ones hold much. */
  function leftBy(destination: string | undefined, open: number): number {
    if (!holdsLittle(destination, open)) return quarterOf(open)
    const areMany = unknown.waitedFor >= quarterOf(open)
    return areMany && destination !== undefined && !isKnown(destination) ? open / 8 : 0
  }

  const hasPlace = (open: number, destination?: string, reserved = 0): boolean =>
    counted() + reserved + leftBy(destination, open) < open

  /** Says whether one more may go on beside those that count: half of that is for destinations that are known. */
  const mayGoOn = (destination?: string): boolean =>
    uncounted < (destination === undefined || isKnown(destination) ? MOST_UNCOUNTED : MOST_UNCOUNTED / 2)

  /** The attempt that has lasted longest, counts, and is of another destination. */
  const findOldest = (destination?: string): Place | undefined =>
    mayGoOn(destination) ? running.find(each => each.counts && each.destination !== destination) : undefined

  /** An attempt goes on and counts no longer. */
  function stopCounting(place: Place): void {
    if (!place.counts) return
    place.counts = false
    uncounted += 1
  }

  /** What a destination holds counts as that of an unknown one from now on, or no more. */
  function countAsUnknown(destination: string, sign: 1 | -1): void {
    const { all, waitedFor } = held.get(destination) ?? { all: 0, waitedFor: 0 }
    unknown.all += sign * all
    unknown.waitedFor += sign * waitedFor
  }

  /** An attempt there was answered. */
  function noteKnown(destination: string): void {
    if (!isKnown(destination)) countAsUnknown(destination, -1)
    answered.delete(destination)
    answered.set(destination, true)
    const [oldest = ''] = answered.keys()
    if (answered.size <= MOST_ANSWERED) return
    forgetKnown(oldest)
    answered.delete(oldest)
  }

  /** An attempt there was not answered, or not in time. */
  function forgetKnown(destination: string): void {
    if (!isKnown(destination)) return
    answered.set(destination, false)
    countAsUnknown(destination, 1)
  }

  function noteAnswer({ beganAt, nth }: Place, allInUse: boolean, now: number): void {
    if (beganAt >= heldUntil) taken = Math.max(taken, nth)
    // What began before it was halved says nothing of what came after.
    if (!allInUse || beganAt <= halvedAt) return
    if (limit >= Math.min(most, mostOpen(now))) return
    limit += 1
    changed = 'raised'
  }

  /** @param accepted how many connections the provider had when it refused one more, if that is known. */
  function noteRefusedConnection(
    { nth }: Place,
    accepted: number | undefined,
    allInUse: boolean,
    now: number,
  ): void {
    // The load may have fallen while the refusal was on its way: then fewer are under way than it took.
    const count = accepted ?? (allInUse ? running.length : nth - 1)
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
    limit = Math.max(1, Math.min(limit, Math.max(nth, counted() + 1)) >> 1)
    changed = 'throttled'
  }

  return {
    placeAt(now: number, destination?: string, reserved?: number): number {
      const open = limitAt(now)
      if (hasPlace(open, destination, reserved)) return now
      isWanted = true
      if (open === 0 || !holdsLittle(destination, open)) return Infinity
      return (findOldest(destination)?.beganAt ?? Infinity) + LONG_MS
    },
    largeDestinations(now: number): readonly string[] {
      const quarter = quarterOf(limitAt(now))
      return [...held].flatMap(([destination, { waitedFor }]) => (waitedFor >= quarter ? [destination] : []))
    },
    underWay: (destination: string): number => held.get(destination)?.all ?? 0,
    rankOf(destination: string): number {
      const own = held.get(destination)?.all ?? 0
      return isKnown(destination) ? own : unknown.all + own / (unknown.all + 1)
    },
    isKnown,
    wasAnswered: (destination: string): boolean => answered.has(destination),
    destinations: (): readonly string[] => [...held.keys()],
    isFull: (now: number): boolean => running.length >= Math.min(most + MOST_UNCOUNTED, mostOpen(now)),
    /** How many attempts are under way and count, and how many do not count any more. */
    counted,
    uncounted: (): number => uncounted,
    /** Says how many may be under way now. */
    standing: (now: number) => ({ limit: limitAt(now), pausedUntil }),
    /** An attempt begins, in the place of one of another destination if there is no other one. @returns its place, to be given to `release`, once */
    take(now: number, destination: string): Place {
      if (!hasPlace(limitAt(now), destination)) {
        const oldest = findOldest(destination)
        if (oldest !== undefined && oldest.beganAt + LONG_MS <= now) stopCounting(oldest)
      }
      const counts = counted() < limit
      const place: Place = { destination, beganAt: now, nth: running.length + 1, counts, isOverdue: false }
      running.push(place)
      if (!counts) uncounted += 1
      hold(destination, 1, 1)
      isWanted = false
      return place
    },
    /** An attempt goes on and nobody waits for it: as long as there are some to spare, its place is another's. */
    stopWaiting(place: Place): void {
      forgetKnown(place.destination)
      // With the hundred used up it keeps its place.
      if (place.counts && !mayGoOn(place.destination)) return
      stopCounting(place)
      place.isOverdue = true
      hold(place.destination, 0, -1)
    },
    /** An attempt has ended; without an outcome it never began. */
    release(place: Place, outcome: Outcome | undefined, now: number): void {
      const allInUse = isWanted || counted() >= limit
      running.splice(running.indexOf(place), 1)
      if (!place.counts) uncounted -= 1
      hold(place.destination, -1, place.isOverdue ? 0 : -1)
      if (outcome === undefined) return
      if (outcome.is === 'retry' && outcome.overload === 'connections')
        noteRefusedConnection(place, outcome.accepted, allInUse, now)
      else if (outcome.is === 'retry' && outcome.overload === 'requests')
        noteThrottled(place, outcome.retryAfterMs, now)
      else if (isAnswer(outcome)) {
        noteKnown(place.destination)
        noteAnswer(place, allInUse, now)
      } else if (outcome.is === 'ambiguous' || (outcome.is === 'retry' && isUnanswered(outcome)))
        forgetKnown(place.destination)
    },
    /** Says why the limit is what it is. */
    explain(now: number): { readonly reason: LimitReason; readonly why: Words } {
      const reason =
        now < pausedUntil ? 'paused' : limit >= taken ? 'refused' : limit >= most ? 'most' : changed
      return { reason, why: WHY[reason]({ taken, heldMs: heldUntil - now, pausedMs: pausedUntil - now }) }
    },
  }
}

/**
 * Says whether the provider dealt with the message: took it, refused it, or asked to come again with it. What fails, or is stopped by us,
 * is no sign of how many it takes; nor is a wrong password, or what a look-up does not find yet.
 */
export function isAnswer(outcome: Outcome): boolean {
  if (outcome.is === 'limit') return outcome.scope === 'recipient'
  if (outcome.is !== 'retry') return outcome.is !== 'ambiguous'
  const { whose, overload } = outcome
  return overload === undefined && whose !== 'ours' && !saysNothing(outcome) && !isUnanswered(outcome)
}
