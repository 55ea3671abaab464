import type { NewMessage, Purpose } from '../messages/message.ts'
import { type ClaimedMessage, type Lease, type Settlement, StoreUnavailable } from '../outbox/outbox.ts'
import { createAdaptiveLifo } from './adaptive-lifo.ts'
import {
  type AttemptResult,
  type AttemptsOptions,
  type ChannelSpec,
  createAttempts,
  type Job,
  type Rest,
  type RoutedJob,
} from './attempt.ts'
import type { Carrier, Standing } from './carrier.ts'
import type { HealthChange } from './health.ts'
import type { ChannelStatus, DestinationStatus, Handover, Verdicts } from './port.ts'
import { dueBeforeEnd } from './retry.ts'
import type { Settler } from './settle.ts'

export interface ChannelOptions extends AttemptsOptions {
  readonly verdicts: Verdicts
  readonly settler: Settler
  /** How long a claim holds, ms; longer than `attemptWithinMs`: nothing begins that its lease would not outlive. */
  readonly leaseMs: number
  /** How often the store is asked without a reason, ms (another replica may have put something there). */
  readonly pollMs: number
  /** How often it is asked when it had nothing at all; `pollMs` unless given. */
  readonly idlePollMs?: number
  /** Names a claim, unique for every claim ever made. */
  readonly leaseToken: () => string
  /** Counts what has begun and not ended: a drain waits for it. */
  readonly work: { begin(): void; end(): void }
}

/** How far ahead memory is filled from the store, ms of work: shorter than the wait after which the newest goes first (adaptive-lifo.ts). */
const AHEAD_MS = 500
/** The most codes that wait in memory, and the most messages when what comes is none. A destination has a quarter of what there is room for. */
const MOST_WAITING = 256
/** So many of those that wait may be of one destination. */
const MOST_OF_EACH = MOST_WAITING / 4
/** What has waited in memory for so long, ms, goes back: a newer code may wait in the store meanwhile. */
const LONGEST_WAIT_MS = 2000
/** So many places are remembered at most, and so many destinations passed over because they rest: anybody may invent some. */
const MOST_PLACES = 1000
const MOST_RESTING = 300
/** So many are claimed at most; and so many when one of them is to try the carriers, so that there is a choice. */
const CLAIM_LIMIT = 50
const CLAIM_FOR_TRIAL = 8
/** So many known destinations are claimed by name at most. */
const MOST_NAMED = 50
const STORE_RETRY_MS = 1000
/** An attempt that began within so long, ms, shows that messages go past a carrier that rests. */
const GO_PAST_MS = 2000

/** What the store has of codes, or of anything. */
interface Stored {
  /** When there is something for us; Infinity: nothing that we know of. ms since the epoch. */
  dueAt: number
  /** The destinations of which more may be due there: they rested, or had enough in memory, when they were passed over. */
  passed: Set<string>
  /** The known destinations of which something is due there, and since when: however many others wait, these are claimed by name. */
  readonly known: Map<string, number>
}

/**
 * One channel's messages between the store and the carriers: those that wait in memory, and those that are under way. Nothing else
 * writes this state. The store owns what waits: memory holds a short look-ahead of each destination. A message comes by `submit` or
 * by a claim, waits in the queue, is attempted (attempt.ts) when its carrier has a place for its destination, and is settled or given
 * back. A claim passes over destinations that have enough in memory, or rest: what waits there hides nobody.
 */
export function createChannel(spec: ChannelSpec, options: ChannelOptions) {
  const { channel, carriers, reports } = spec
  const { outbox, clock, verdicts, emit, settler, leaseMs, attemptWithinMs, pollMs, run, work } = options
  const { idlePollMs = pollMs } = options
  const queue = createAdaptiveLifo<RoutedJob>()
  const attempts = createAttempts(spec, options, noteFreed)
  /** How many places are kept for messages that are about to be accepted. */
  let reserved = 0
  /** Where a message of each destination went, the latest last: the domain of its mailboxes, or what masked numbers show of a country. */
  const places = new Map<string, string>()
  /** The destinations that rest at all their carriers. */
  const resting = new Map<string, Rest>()
  /** A process that died may have left codes. */
  const codes: Stored = { dueAt: 0, passed: new Set(), known: new Map() }
  const anything: Stored = { dueAt: Infinity, passed: new Set(), known: new Map() }
  /** The store is to be asked without a reason: another process may have put something there. */
  let isPollDue = true
  let poller: NodeJS.Timeout | undefined
  /** What the claim that is under way was made to find: for codes nothing else begins. */
  let claiming: Stored | undefined
  /** The latest claim was by name. */
  let wasNamed = false
  /** Runs until something may begin or be claimed without the end of an attempt. */
  let nextLook: NodeJS.Timeout | undefined
  /** When an attempt began last, ms since the epoch. */
  let attemptedAt = Number.NEGATIVE_INFINITY

  // ---- What may be done now

  /** Says whether nothing may be claimed or begun: the process ends, or the store has not taken what became of messages. */
  const isHalted = (): boolean => run.isStopping || settler.isBehind

  const look = (now: number): Standing => combineStandings(carriers.map(each => each.standing(now)))

  /** Says whether the latest attempt of a message that goes there was answered. */
  const isKnown = (destination: string): boolean => carriers.some(each => each.places.isKnown(destination))

  const rests = (destination: string, now: number): boolean => (resting.get(destination)?.until ?? 0) > now

  /** Counts what waits in memory for a destination, codes alone if so asked. */
  function countOf(destination: string, codesOnly = false): number {
    const { all = 0, codes: ofCodes = 0 } = queue.waiting.get(destination) ?? {}
    return codesOnly ? ofCodes : all
  }

  /** Says how many messages are claimed ahead: until the pace of a carrier is known, as many as may be under way. */
  function mostAhead(now: number): number {
    const usualMs = Math.min(AHEAD_MS, ...carriers.map(each => each.usualMs() ?? AHEAD_MS))
    return Math.min(Math.ceil((Math.max(1, look(now).limit) * AHEAD_MS) / usualMs), MOST_WAITING)
  }

  const aheadOfEach = (now: number): number => Math.ceil(mostAhead(now) / 4)

  /**
   * Counts what waits in memory, codes alone if so asked: `most` of a destination, so that one does not hide others in the store, and
   * nothing that waits for places that its own destination holds.
   * @param knownOnly what goes to destinations that are not known hides nothing either.
   */
  function countWaiting(now: number, codesOnly: boolean, most: number, knownOnly = false): number {
    const large = carriers.flatMap(each => each.places.largeDestinations(now))
    let count = 0
    for (const destination of queue.waiting.keys())
      if ((!knownOnly || isKnown(destination)) && !large.includes(destination))
        count += Math.min(countOf(destination, codesOnly), most)
    return count
  }

  /** Says when a destination is to be asked for: not while it rests, or has enough in memory. ms since the epoch */
  function wantedAt(destination: string, stored: Stored, now: number, most = aheadOfEach(now)): number {
    if (rests(destination, now)) return resting.get(destination)?.until ?? now
    return 2 * countOf(destination, stored === codes) > most ? Infinity : now
  }

  /** Says when the store has something for us, ms since the epoch. */
  function dueOf(stored: Stored, now: number): number {
    if (stored.passed.size === 0) return stored.dueAt
    const most = aheadOfEach(now)
    return Math.min(stored.dueAt, ...[...stored.passed].map(each => wantedAt(each, stored, now, most)))
  }

  /** Says whether codes in the store come first, or are looked for: nothing else begins until then. */
  const areCodesFirst = (now: number): boolean => claiming === codes || dueOf(codes, now) <= now

  /** Says whether memory has room for a message that comes now: in a backlog the newest is sent first. */
  function hasRoom(purpose: Purpose, destination: string, now: number): boolean {
    const isCode = purpose === 'code'
    if (countOf(destination, isCode) >= MOST_OF_EACH) return false
    const most = isKnown(destination) ? MOST_WAITING : MOST_WAITING - MOST_OF_EACH
    // As long as all that waits has room, nobody need look what of it counts.
    if (queue.length + reserved < most) return true
    return countWaiting(now, isCode, MOST_OF_EACH) + reserved < most
  }

  // ---- Into memory

  /** Takes a message into memory; an older code of its group that waits there is superseded. */
  function add(job: Job): void {
    // A retry waits since now: it was not due before.
    const waitingSince = job.attempts > 1 ? clock.now() : job.message.arrivedAt
    const older = queue.add(attempts.route(job), waitingSince)
    if (older !== undefined) endWaiting(older, 'superseded')
  }

  /** Takes note of a message that was left to the store: an older code of its group that waits in memory is superseded. */
  function leaveToStore({ message, groupKey }: Handover): void {
    const now = clock.now()
    const { id, destination, arrivedAt } = message
    const older = groupKey === undefined ? undefined : queue.removeByGroup(groupKey, arrivedAt)
    if (older !== undefined) endWaiting(older, 'superseded')
    noteStored(message, now)
    fill()
    // Nobody hears of it soon.
    if (look(now).circuit !== 'closed' || rests(destination, now) || !hasRoom('plain', destination, now))
      verdicts.announce(id, { is: 'pending' })
  }

  function notePlace({ destination, recipient, masked }: NewMessage): void {
    const place = channel === 'email' ? recipient.slice(recipient.lastIndexOf('@') + 1) : masked.split('*')[0]
    places.delete(destination)
    places.set(destination, place ?? '')
    const [oldest = ''] = places.keys()
    if (places.size > MOST_PLACES) places.delete(oldest)
  }

  // ---- Out of memory

  /** Begins and claims what may be, and looks again when that changes without the end of an attempt. */
  function fill(): void {
    clearTimeout(nextLook)
    if (isHalted()) return
    const now = clock.now()
    const at = Math.min(beginDue(now), claimDue(now))
    nextLook = setTimeout(fill, Math.min(at - now, pollMs))
  }

  /** Begins what may begin. @returns when something gets a place without the end of an attempt, ms since the epoch */
  function beginDue(now: number): number {
    let standing = look(now)
    let nextAt = standing.pausedUntil > now ? standing.pausedUntil : Infinity
    const noteNext = (at: number): void => {
      nextAt = Math.min(nextAt, at)
    }
    // While every carrier is tried by a message, nothing else begins: how that ends says whether the rest goes out, or back.
    while (standing.circuit !== 'half-open') {
      const job = takeNext(standing, now, noteNext)
      if (job === undefined) break
      if (mayNoLongerBegin(job, now, attemptWithinMs)) endOrGiveBack(job, now)
      else {
        attemptedAt = now
        void track(attempt(job))
      }
      standing = look(now)
    }
    return nextAt
  }

  /**
   * Takes out the next to be sent that has a place with its carrier; nothing but a code while codes wait in the store and no circuit is
   * open. Carriers that rest are tried by one to a known destination, if there is one, that is no code, and was not refused before.
   * @param noteNext is told when something gets a place that has none now.
   */
  function takeNext(
    { circuit }: Standing,
    now: number,
    noteNext: (at: number) => void,
  ): RoutedJob | undefined {
    if (queue.length === 0) return undefined
    if (circuit !== 'closed') {
      const tryOne = (isRight: (destination: string) => boolean): RoutedJob | undefined =>
        queue.takeNext(now, 'codes-last', ({ message, attempts: tried }) =>
          isRight(message.destination) ? Math.min(tried - 1, 1) : Infinity,
        )
      return tryOne(isKnown) ?? tryOne(() => true)
    }
    const roomAt = Math.min(...carriers.map(each => each.places.placeAt(now)))
    if (roomAt > now) {
      noteNext(roomAt)
      return undefined
    }
    /** Many wait for few destinations: a carrier is asked about each once. */
    const ranks = new Map<string, number>()
    return queue.takeNext(now, areCodesFirst(now) ? 'codes-alone' : 'codes-first', job => {
      const { destination } = job.message
      const first = firstToAsk(job, now)
      if (first === undefined) return 0
      const name = `${first.provider.name} ${destination}`
      const known = ranks.get(name)
      if (known !== undefined) return known
      const at = first.places.placeAt(now, destination)
      const rank = at > now ? Infinity : first.places.rankOf(destination)
      if (at > now) noteNext(at)
      ranks.set(name, rank)
      return rank
    })
  }

  async function attempt(job: RoutedJob): Promise<void> {
    notePlace(job.message)
    const result = await attempts.run(job)
    await settle(job, letRest(job, result), result.ran)
  }

  /** Notes that the destination of a message rests. With too many that do, the message waits for the end of the rest by itself. */
  function letRest({ message }: RoutedJob, { settlement, rest }: AttemptResult): Settlement {
    if (rest === undefined || settlement.to !== 'queued') return settlement
    const now = clock.now()
    const { destination, expiresAt } = message
    if (resting.size >= MOST_RESTING)
      for (const [each, { until }] of resting) if (until <= now) resting.delete(each)
    if (resting.size >= MOST_RESTING && !resting.has(destination))
      return { ...settlement, dueAt: dueBeforeEnd(rest.until, expiresAt, now) }
    resting.set(destination, rest)
    return settlement
  }

  /** A part of an attempt has ended, or lasts for longer than it may: its place is for the next message at once. */
  function noteFreed({ circuit, faults }: HealthChange): void {
    if (circuit === 'closed' || faults.some(({ is }) => is === 'over')) endRests()
    else fill()
  }

  /** Something that rested is back, or may be: what waits for it is looked for in the store, codes first. */
  function endRests(): void {
    resting.clear()
    codes.dueAt = clock.now()
    fill()
  }

  /**
   * While something waits, or goes past a carrier that rests to the next one: looks whether a carrier that could not be reached can be
   * again, and whether one approves again of what it refused. Otherwise nobody is asked anything but the store what waits there.
   */
  function watchRests(now: number): void {
    const troubled = carriers.filter(each => each.isTroubled())
    if (troubled.length === 0) return
    const holds = [codes, anything].some(({ dueAt, passed }) => dueAt < Infinity || passed.size > 0)
    const goPast = carriers.length > 1 && now - attemptedAt < GO_PAST_MS
    if (holds || goPast || queue.length > 0)
      for (const carrier of troubled) {
        void tryAfter(carrier.isBack())
        void tryAfter(carrier.hasApproved())
      }
    isPollDue = true
    fill()
  }

  async function tryAfter(look: Promise<boolean>): Promise<void> {
    if (await look) endRests()
  }

  /** Tracks a task, so that a drain waits for it, and goes on with the channel afterwards. */
  async function track(task: Promise<unknown>): Promise<void> {
    work.begin()
    try {
      await task
    } finally {
      fill()
      work.end()
    }
  }

  // ---- Back to the store

  async function settle(job: Job, settlement: Settlement, ran: boolean): Promise<void> {
    const settled = await settler.settle(job, settlement, ran)
    if (settled?.state === 'queued' && settlement.to === 'queued') noteStored(job.message, settlement.dueAt)
  }

  /** Gives back a message that waited. It waits since it came: the store tells a backlog by that. */
  function giveBack(job: Job): void {
    const now = clock.now()
    const dueAt = job.attempts > 1 ? now : Math.min(job.message.arrivedAt, now)
    void track(settle(job, { to: 'queued', dueAt, uncounted: true }, false))
  }

  /** Ends the claim of a message that waited. */
  function endWaiting(job: Job, state: 'superseded' | 'expired' | 'unknown'): void {
    void track(settle(job, { to: 'final', state, answer: null }, false))
  }

  /** Says whether a message's life is over, or less than that is left of its lease, or it was taken over by another process. */
  function mayNoLongerBegin({ message, lease }: Job, now: number, leftMs: number): boolean {
    if (now >= message.expiresAt || lease.until - now < leftMs) return true
    return outbox.sharedLeases?.isHeld(lease) === false
  }

  function endOrGiveBack(job: Job, now: number): void {
    if (now < job.message.expiresAt) return giveBack(job)
    // A message that was ambiguous before and has no time left is unknown, not expired: it may have been sent.
    endWaiting(job, job.ambiguous > 0 ? 'unknown' : 'expired')
  }

  function giveBackAll(): void {
    for (const job of queue.removeWhere(() => true)) giveBack(job)
  }

  // ---- Claims: retries, what a dead process left, and what had no place in memory

  /** Notes that the store has a message that is due then. Of which enough waits in memory, or which rests, that is asked for later. */
  function noteStored({ purpose, destination }: NewMessage, due: number): void {
    const now = clock.now()
    const stored = purpose === 'code' ? codes : anything
    if (isKnown(destination) && stored.known.size < MOST_NAMED)
      stored.known.set(destination, Math.min(stored.known.get(destination) ?? Infinity, due))
    if (due <= now && wantedAt(destination, stored, now) > now) stored.passed.add(destination)
    else stored.dueAt = Math.min(stored.dueAt, due)
  }

  /** Claims when something is due and memory has room. @returns when that is to be looked at again, ms since the epoch */
  function claimDue(now: number): number {
    const standing = look(now)
    if (standing.openUntil > now && !isPollDue) return standing.openUntil
    const codesAt = isPollDue ? now : dueOf(codes, now)
    const at = Math.min(codesAt, dueOf(anything, now))
    if (at > now) return at
    const stored = codesAt <= now ? codes : anything
    const limit = countClaimable(standing, stored, now)
    const most = aheadOfEach(now)
    const named = [...stored.known].flatMap(([each, dueSince]) =>
      dueSince <= now && wantedAt(each, stored, now, most) <= now ? each : [],
    )
    const limitOfNamed = named.length === 0 ? 0 : countClaimable(standing, stored, now, true)
    const isByName = limitOfNamed > 0 && (limit === 0 || !wasNamed)
    // Without room the store says what it has, and ends what is over.
    if ((limit > 0 || isByName || isPollDue) && claiming === undefined) {
      wasNamed = isByName
      void track(claimBatch(isByName ? limitOfNamed : limit, stored, standing, isByName ? named : []))
    }
    // What is due and has no room is asked for when something has left.
    return Infinity
  }

  function pollAfter(ms: number): void {
    clearTimeout(poller)
    poller = setTimeout(() => {
      isPollDue = true
      fill()
    }, ms).unref()
  }

  /** Says how many to claim now. */
  function countClaimable(
    { circuit, openUntil }: Standing,
    stored: Stored,
    now: number,
    byName = false,
  ): number {
    // While one message tries the provider nothing else is claimed: it would only be given back.
    if (circuit === 'half-open') return 0
    // The provider is tried by one message, not by a hundred.
    if (circuit === 'open') return openUntil <= now ? CLAIM_FOR_TRIAL : 0
    const most = mostAhead(now)
    const free = most - countWaiting(now, stored === codes, aheadOfEach(now), byName) - reserved
    return 2 * free < most ? 0 : Math.min(free, CLAIM_LIMIT)
  }

  /**
   * Claims codes, or anything; anything for a trial, too, which is not a code's if something else waits.
   * @param named the destinations of which some is claimed; any unless there are some.
   */
  async function claimBatch(
    limit: number,
    stored: Stored,
    { circuit }: Standing,
    named: readonly string[],
  ): Promise<void> {
    const now = clock.now()
    const most = aheadOfEach(now)
    const names = limit === 0 ? [] : [...resting.keys(), ...queue.waiting.keys()]
    const passed = names.filter(each => wantedAt(each, stored, now, most) > now)
    claiming = stored
    isPollDue = false
    // What the store says of codes, it says of anything. What is stored meanwhile is noted beside.
    for (const each of stored === codes ? [codes, anything] : [anything]) {
      each.dueAt = Infinity
      each.passed = new Set(passed)
    }
    for (const each of named) stored.known.delete(each)
    try {
      const codesOnly = stored === codes && circuit === 'closed'
      const claim = await outbox.claim(channel, limit, leaseMs, passed, codesOnly, named)
      settler.reportEnded(claim.settled)
      anything.dueAt = Math.min(anything.dueAt, claim.nextDueAt ?? Infinity)
      if (stored === codes) codes.dueAt = Math.min(codes.dueAt, claim.nextCodeAt ?? Infinity)
      pollAfter(anything.dueAt === Infinity ? idlePollMs : pollMs)
      // Of whom a claim that is not full brings nothing the store has no more.
      const served = new Set(claim.messages.map(({ destination }) => destination))
      for (const each of named)
        if (claim.messages.length >= limit || served.has(each)) stored.known.set(each, now)
      for (const message of claim.messages) add(toJob(message))
      // They were claimed while the process was told to end.
      if (run.isStopping) giveBackAll()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // Nobody can tell when the store can be asked again: until then, messages in memory do not wait for codes in the store.
      emit({ type: 'store-failed', doing: 'claim', error })
      for (const each of [codes, anything]) {
        each.dueAt = Infinity
        each.passed.clear()
      }
      pollAfter(STORE_RETRY_MS)
    } finally {
      claiming = undefined
    }
  }

  /** @param isFirst what waits and rests is told with the first carrier. */
  function describeDestinations(carrier: Carrier, isFirst: boolean): readonly DestinationStatus[] {
    const others = isFirst ? [...queue.waiting.keys(), ...resting.keys()] : []
    return [...new Set([...carrier.places.destinations(), ...others])].map(destination => ({
      destination,
      place: places.get(destination) ?? null,
      inFlight: carrier.places.underWay(destination),
      waiting: isFirst ? countOf(destination) : 0,
      rest: isFirst && rests(destination, clock.now()) ? (resting.get(destination) ?? null) : null,
    }))
  }

  return {
    reservePlace(purpose: Purpose, destination: string): Lease | undefined {
      if (isHalted()) return undefined
      const now = clock.now()
      const { circuit } = look(now)
      // While it rests, a message is better left to the store, where people can see and cancel it.
      if (circuit !== 'closed' || rests(destination, now)) return undefined
      // Codes in the store come before what is no code, and so may what else is due there.
      const isBehind = (): boolean =>
        areCodesFirst(now) || anything.passed.has(destination) || anything.dueAt <= now
      if (purpose !== 'code' && isBehind()) return undefined
      if (!hasRoom(purpose, destination, now)) return undefined
      const begins =
        queue.length === 0 && (carriers[0]?.places.placeAt(now, destination, reserved) ?? Infinity) <= now
      const lease = { token: options.leaseToken(), until: now + leaseMs, begins }
      if (outbox.sharedLeases?.isHeld(lease) === false) return undefined
      reserved += 1
      work.begin()
      return lease
    },
    releasePlace(): void {
      reserved -= 1
      fill()
      work.end()
    },
    submit(handover: Handover): void {
      const { lease, ...handed } = handover
      if (lease === undefined) return leaveToStore(handover)
      reserved -= 1
      add({ ...handed, lease, attempts: 1, ambiguous: 0 })
      if (run.isStopping) giveBackAll()
      else fill()
      work.end()
    },
    wake(): void {
      codes.dueAt = clock.now()
      fill()
    },
    tryNow(): void {
      for (const carrier of carriers) carrier.allowTrialNow(clock.now())
      endRests()
    },
    /** Reports each carrier. What waits belongs to the channel: it is reported with the first one. */
    status(): readonly ChannelStatus[] {
      const now = clock.now()
      return carriers.map((carrier, at) => ({
        ...carrier.status(now),
        waiting: at === 0 ? queue.length : 0,
        secondIn: reports?.secondIn(carrier.provider.name) ?? [],
        destinations: describeDestinations(carrier, at === 0),
      }))
    },
    fill,
    /** Ends or gives back what has waited too long in memory, and looks whether carriers that rest are back. Called each second. */
    tidy(): void {
      const now = clock.now()
      const leftMs = Math.max(attemptWithinMs, leaseMs - LONGEST_WAIT_MS)
      for (const job of queue.removeWhere(each => mayNoLongerBegin(each, now, leftMs)))
        endOrGiveBack(job, now)
      watchRests(now)
    },
    /** Begins nothing more, and gives back what has not begun. */
    stop(): void {
      clearTimeout(nextLook)
      clearTimeout(poller)
      giveBackAll()
    },
    /** Aborts the attempts that are under way. */
    abort: attempts.abort,
  }
}

/** Takes all carriers of a channel as one: whether anything may begin at all, and nothing without any. */
function combineStandings(each: readonly Standing[]): Standing {
  // Most channels have one, and this is asked several times for each message.
  if (each.length === 1) return each[0] as Standing
  const circuit = (['closed', 'open'] as const).find(state => each.some(one => one.circuit === state))
  return {
    limit: each.reduce((sum, { limit }) => sum + limit, 0),
    circuit: circuit ?? 'half-open',
    openUntil: Math.min(...each.map(({ openUntil }) => openUntil)),
    pausedUntil: Math.min(...each.map(({ pausedUntil }) => pausedUntil)),
  }
}

/** Finds the carrier that a message would go to now; undefined: it comes back at once, and learns why. */
function firstToAsk({ carriers }: RoutedJob, now: number): Carrier | undefined {
  return (
    carriers.find(each => each.mayAsk(undefined, now) === null) ??
    carriers.find(each => each.standing(now).circuit === 'closed')
  )
}

function toJob({ lease, attempts, ambiguous, ambiguousAt, groupKey, ...message }: ClaimedMessage): Job {
  return { message, lease, attempts, ambiguous, ambiguousAt, groupKey }
}
