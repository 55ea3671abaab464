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
import type { ChannelStatus, DestinationStatus, Handover, StoredCode, Verdicts } from './port.ts'
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

/**
 * How far ahead memory is filled for a destination, ms of its work. A newer code that finds no place goes to the store, and waits there
 * behind all of it. So this is shorter than the wait after which the newest goes first (adaptive-lifo.ts).
 */
const AHEAD_MS = 500
/** The most messages that wait in memory, of one destination and of all; and how many of one whose pace is not known. */
const MOST_AHEAD = 128
const MOST_WAITING = 256
const FIRST_AHEAD = 8
/** The weight of the latest attempt in the mean of their durations, and the longest that counts, ms. */
const LATEST = 0.2
const MOST_COUNTED_MS = 20_000
/** So many destinations are remembered at most, and so many of them passed over because they rest: anybody may invent some. */
const MOST_KNOWN = 1000
const MOST_RESTING = 300
/** So many are claimed at most, and at first: twice as many each time that there are more. */
const CLAIM_LIMIT = 100
const FIRST_CLAIM = 8
const STORE_RETRY_MS = 1000
/** How often the store is asked for codes though memory is full, ms: they take the places of others. */
const PEEK_MS = 500
/** How often it is looked whether carriers that rest are back, ms. */
const WATCH_MS = 1000
/** How often the store is asked to tidy, at least, ms. */
const TIDY_MS = 5000

/** What is known of a destination. */
interface Destination {
  /** The domain of its mailboxes, or what masked numbers show of a country. */
  readonly place: string
  /** The mean duration of its attempts, ms. */
  paceMs?: number
}

/** One channel's part of the delivery. */
export interface DeliveryChannel {
  reservePlace(purpose: Purpose, destination: string): Lease | undefined
  releasePlace(destination: string): void
  submit(handover: Handover): void
  isVerdictFar(destination: string): boolean
  wake(code?: StoredCode, destination?: string): void
  tryNow(): void
  /** Reports each carrier. What waits belongs to the channel: it is reported with the first one. */
  status(): readonly ChannelStatus[]
  /** Begins and claims what may be, and looks again when that changes without the end of an attempt. */
  fill(): void
  /**
   * Ends or gives back messages that have waited too long: their life is over, or their lease would not outlive an attempt. When
   * nothing was claimed for a while, lets the store end what has outlived its life there.
   */
  sweep(): void
  /** Begins nothing more, and gives back what has not begun. */
  stop(): void
  /** Aborts the attempts that are under way. */
  abort(): void
}

/**
 * One channel's messages between the store and the carriers: those that wait in memory, and those that are under way. Nothing else
 * writes this state. The store owns what waits: memory holds a short look-ahead of each destination. A message comes by `submit` or
 * by a claim, waits in the queue, is attempted (attempt.ts) when its carrier has a place for its destination, and is settled or given
 * back. A claim passes over destinations that have enough in memory, or rest: what waits there hides nobody.
 */
export function createChannel(spec: ChannelSpec, options: ChannelOptions): DeliveryChannel {
  const { channel, carriers, reports } = spec
  const { outbox, clock, verdicts, emit, settler, leaseMs, attemptWithinMs, pollMs, run, work } = options
  const { idlePollMs = pollMs } = options
  const queue = createAdaptiveLifo<RoutedJob>()
  const attempts = createAttempts(spec, options, noteFreed)
  /** Places kept for messages that are about to be accepted, by destination, and all of them. */
  const reserved = new Map<string, number>()
  let reservedCount = 0
  /** The destinations that a message went to last, the latest last. */
  const known = new Map<string, Destination>()
  /** Those that rest at all their carriers. */
  const resting = new Map<string, Rest>()
  /**
   * Those of which more may be due in the store, since the latest claim passed over them, or had enough in memory when it was stored;
   * and whether codes may be among it.
   */
  let passed = new Map<string, boolean>()
  /** The claim that is under way; `codes`: it was made to find codes, and nothing else begins. */
  let claiming: 'codes' | 'anything' | undefined
  /** When something was claimed last, ms since the epoch. */
  let claimedAt = Number.NEGATIVE_INFINITY
  /** How many to ask for when nobody knows how many there are. */
  let nextClaim = FIRST_CLAIM
  /** When the store has something for us, of destinations that are not passed over; Infinity: nothing that we know of. ms since the epoch. */
  let dueAt = Infinity
  /** From when on codes may be due there. A process that died may have left some. */
  let codesAt = 0
  /** Something waits in the store, as was seen when it was tidied last. */
  let storeHolds = true
  /** Runs while a carrier, or a part of one, rests. */
  let watcher: NodeJS.Timeout | undefined
  /** Runs until something may begin or be claimed without the end of an attempt. */
  let nextLook: NodeJS.Timeout | undefined
  /** When an attempt began last, ms since the epoch. */
  let attemptedAt = Number.NEGATIVE_INFINITY

  // ---- What may be done now

  /** Says whether nothing may be claimed or begun: the process ends, or the store has not taken what became of messages. */
  const isHalted = (): boolean => run.isStopping || settler.isBehind

  const look = (now: number): Standing => combineStandings(carriers.map(each => each.standing(now)))

  const rests = (destination: string, now: number): boolean => (resting.get(destination)?.until ?? 0) > now

  /** Counts what waits in memory for a destination, codes alone if so asked. */
  function countOf(destination: string, codesOnly = false): number {
    const { all = 0, codes = 0 } = queue.waiting.get(destination) ?? {}
    return codesOnly ? codes : all
  }

  /** Says how many messages are half a second of work, at so many ms each. */
  const workAhead = (eachMs: number, now: number): number =>
    Math.ceil((Math.max(1, look(now).limit) * AHEAD_MS) / Math.max(eachMs, 1))

  /** Says how many messages to a destination wait in memory at most. */
  function aheadOf(destination: string, now: number): number {
    const { paceMs } = known.get(destination) ?? {}
    return paceMs === undefined ? FIRST_AHEAD : Math.min(workAhead(paceMs, now), MOST_AHEAD)
  }

  /** Says how many messages wait in memory at most. A provider is taken for a quick one until its pace is known. */
  function mostWaiting(now: number): number {
    const usualMs = Math.min(...carriers.map(each => each.usualMs() ?? 0))
    return Math.min(Math.max(workAhead(usualMs, now), look(now).limit), MOST_WAITING)
  }

  /** Counts what waits in memory, codes alone if so asked; but not what waits for places that its own destination holds. */
  function countWaiting(now: number, codesOnly = false): number {
    const [first = [], ...others] = carriers.map(each => each.largeDestinations(now))
    const large = first.filter(destination => others.every(each => each.includes(destination)))
    const all = codesOnly ? queue.codes : queue.length
    return large.reduce((count, destination) => count - countOf(destination, codesOnly), all)
  }

  /** Says whether the store is not asked for a destination now: it rests, or enough of its messages, or codes, wait in memory. */
  function isServed(destination: string, now: number, forCodes: boolean): boolean {
    return rests(destination, now) || 2 * countOf(destination, forCodes) > aheadOf(destination, now)
  }

  /** Says whether the store may have codes for us: nothing else begins until it was asked. */
  function mayHoldCodes(now: number): boolean {
    if (codesAt <= now) return true
    for (const [destination, hasCodes] of passed)
      if (hasCodes && !isServed(destination, now, true)) return true
    return false
  }

  /** Says whether codes in the store come first, or are looked for. */
  const areCodesFirst = (now: number): boolean => claiming === 'codes' || mayHoldCodes(now)

  /** Says whether memory has room for a message. A code takes the place of one that is none. */
  function hasRoom(purpose: Purpose, destination: string, now: number): boolean {
    const isCode = purpose === 'code'
    const mine = countOf(destination, isCode) + (reserved.get(destination) ?? 0)
    if (mine >= aheadOf(destination, now) || queue.length >= MOST_WAITING) return false
    return countWaiting(now, isCode) + reservedCount < mostWaiting(now)
  }

  // ---- Into memory

  /** Takes a message into memory; an older code of its group that waits there is superseded. */
  function add(job: Job): void {
    // A retry waits since now: it was not due before.
    const waitingSince = job.attempts > 1 ? clock.now() : job.message.arrivedAt
    const older = queue.add(attempts.route(job), waitingSince)
    if (older !== undefined) endWaiting(older, 'superseded')
  }

  function learn({ destination, recipient, masked }: NewMessage): Destination {
    let found = known.get(destination)
    if (found === undefined) {
      const place =
        channel === 'email' ? recipient.slice(recipient.lastIndexOf('@') + 1) : masked.split('*')[0]
      found = { place: place ?? '' }
      const [first = ''] = known.keys()
      if (known.size >= MOST_KNOWN) known.delete(first)
    } else known.delete(destination)
    known.set(destination, found)
    return found
  }

  // ---- Out of memory

  function fill(): void {
    clearTimeout(nextLook)
    if (isHalted()) return
    const now = clock.now()
    const at = Math.min(beginDue(now), claimDue(now))
    nextLook = setTimeout(
      () => {
        // Another process may have put something into the store, or given it back.
        dueAt = Math.min(dueAt, clock.now())
        fill()
      },
      Math.min(Math.max(at - now, 1), dueAt === Infinity ? idlePollMs : pollMs),
    )
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
      if (mayNoLongerBegin(job, now)) endOrGiveBack(job, now)
      else {
        attemptedAt = now
        void track(attempt(job))
      }
      standing = look(now)
    }
    return queue.length > 0 ? nextAt : Infinity
  }

  /**
   * Takes out the next to be sent that has a place with its carrier; nothing but a code while codes wait in the store and no circuit is
   * open. Carriers that rest are tried by one that was not refused before, if there is one.
   * @param noteNext is told when something gets a place that has none now.
   */
  function takeNext(
    { circuit }: Standing,
    now: number,
    noteNext: (at: number) => void,
  ): RoutedJob | undefined {
    if (queue.length === 0) return undefined
    if (circuit !== 'closed')
      return queue.takeNext(now, false, ({ attempts: tried, message }) =>
        tried > 1 ? 1 : message.purpose === 'code' ? 0.5 : 0,
      )
    const roomAt = Math.min(...carriers.map(each => each.placeAt(now)))
    if (roomAt > now) {
      noteNext(roomAt)
      return undefined
    }
    /** Many wait for few destinations: a carrier is asked about each once. */
    const ranks = new Map<string, number>()
    return queue.takeNext(now, areCodesFirst(now), job => {
      const { destination } = job.message
      const first = firstToAsk(job, now)
      if (first === undefined) return 0
      const name = `${first.provider.name} ${destination}`
      const known = ranks.get(name)
      if (known !== undefined) return known
      const at = first.placeAt(now, destination)
      const rank = at > now ? Infinity : first.underWay(destination)
      if (at > now) noteNext(at)
      ranks.set(name, rank)
      return rank
    })
  }

  async function attempt(job: RoutedJob): Promise<void> {
    learn(job.message)
    const result = await attempts.run(job)
    const { settlement, ran } = result
    // The callback may be answered before the verdict is written: the message itself is committed already, and after a crash
    // in between it counts as ambiguous, as it must.
    const { id } = job.message
    if (settlement.to === 'queued') verdicts.announce(id, { is: 'pending' })
    else verdicts.announce(id, { is: 'final', state: settlement.state, answer: settlement.answer })
    if (ran) fill()
    await settle(job, letRest(job, result), ran)
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

  function noteFreed(message: NewMessage, { circuit, faults }: HealthChange, tookMs?: number): void {
    // What is overdue lasts for long.
    const countedMs = Math.min(tookMs ?? MOST_COUNTED_MS, MOST_COUNTED_MS)
    const found = learn(message)
    found.paceMs = found.paceMs === undefined ? countedMs : found.paceMs + (countedMs - found.paceMs) * LATEST
    giveBackSurplus(message.destination)
    if (circuit === 'open' || faults.some(({ is }) => is === 'begun')) watch()
    if (circuit === 'closed' || faults.some(({ is }) => is === 'over')) endRests()
    // The attempt may go on for long: its place is for the next message at once.
    if (carriers.length > 1 || tookMs === undefined) fill()
  }

  /** Something that rested is back, or may be: what waits for it is looked for in the store, codes first. */
  function endRests(): void {
    resting.clear()
    dueAt = codesAt = clock.now()
  }

  function watch(): void {
    storeHolds = true
    if (!run.isStopping) watcher ??= setInterval(watchRests, WATCH_MS).unref()
  }

  /**
   * While something waits, or goes past a carrier that rests to the next one: looks whether a carrier that could not be reached can be
   * again, and whether one approves again of what it refused. Otherwise nobody is asked anything.
   */
  function watchRests(): void {
    const troubled = carriers.filter(each => each.isTroubled())
    if (troubled.length === 0) {
      clearInterval(watcher)
      watcher = undefined
      return
    }
    const goPast = carriers.length > 1 && clock.now() - attemptedAt < 2 * WATCH_MS
    if (storeHolds || queue.length > 0 || goPast)
      for (const carrier of troubled) {
        void tryAfter(carrier.isBack())
        void tryAfter(carrier.hasApproved())
      }
    void track(tidy())
  }

  async function tryAfter(look: Promise<boolean>): Promise<void> {
    if (!(await look)) return
    endRests()
    fill()
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
    if (settled?.state !== 'queued' || settlement.to !== 'queued') return
    noteStored(settlement.dueAt, job.message.purpose === 'code', job.message.destination)
  }

  function giveBack(job: Job, due: number): void {
    verdicts.announce(job.message.id, { is: 'pending' })
    void track(settle(job, { to: 'queued', dueAt: due, uncounted: true }, false))
  }

  /** Ends the claim of a message that waited. */
  function endWaiting(job: Job, state: 'superseded' | 'expired' | 'unknown'): void {
    void track(settle(job, { to: 'final', state, answer: null }, false))
  }

  /** Says whether a message's life is over, its lease too short for an attempt, or taken over by another process. */
  function mayNoLongerBegin({ message, lease }: Job, now: number): boolean {
    if (now >= message.expiresAt || lease.until - now < attemptWithinMs) return true
    return outbox.sharedLeases?.isHeld(lease) === false
  }

  function endOrGiveBack(job: Job, now: number): void {
    if (now < job.message.expiresAt) return giveBack(job, now)
    // A message that was ambiguous before and has no time left is unknown, not expired: it may have been sent.
    endWaiting(job, job.ambiguous > 0 ? 'unknown' : 'expired')
  }

  /** Gives back what waits beyond the room of a destination, and of the channel: what would be sent last. */
  function giveBackSurplus(destination: string): void {
    const now = clock.now()
    const giveBackLast = (each?: string): void => {
      const job = queue.removeLast(now, each)
      // It waits since it came: the store tells a backlog by that.
      if (job !== undefined) giveBack(job, job.attempts > 1 ? now : Math.min(job.message.arrivedAt, now))
    }
    const ahead = aheadOf(destination, now)
    while (countOf(destination) > ahead) giveBackLast(destination)
    for (let more = countWaiting(now) - mostWaiting(now); more > 0; more -= 1) giveBackLast()
  }

  function giveBackAll(): void {
    const now = clock.now()
    for (const job of queue.removeWhere(() => true)) giveBack(job, now)
  }

  // ---- Claims: retries, what a dead process left, and what had no place in memory

  function reserve(destination: string, more: 1 | -1): void {
    reservedCount += more
    const count = (reserved.get(destination) ?? 0) + more
    if (count > 0) reserved.set(destination, count)
    else reserved.delete(destination)
  }

  /** Notes that the store has something that is due then. Of which enough waits in memory, or which rests, that is asked for later. */
  function noteStored(due: number, isCode: boolean, destination?: string): void {
    const now = clock.now()
    if (destination !== undefined && due <= now && isServed(destination, now, isCode)) {
      passed.set(destination, isCode || passed.get(destination) === true)
      return
    }
    dueAt = Math.min(dueAt, due)
    if (isCode) codesAt = Math.min(codesAt, due)
  }

  /** Claims when memory has room and something is due. @returns when that is to be looked at again, ms since the epoch */
  function claimDue(now: number): number {
    if (claiming !== undefined) return Infinity
    const standing = look(now)
    const forCodes = mayHoldCodes(now)
    const isDue = Math.min(dueAt, codesAt) <= now
    const wanted = Math.max(isDue ? nextClaim : 0, countWanted(now, forCodes))
    const limit = countClaimable(standing, wanted, forCodes, now)
    if (limit > 0) {
      void track(claimBatch(limit, forCodes))
      return Infinity
    }
    if (standing.openUntil > now) return standing.openUntil
    const restsEnd = [...passed.keys()].map(each => resting.get(each)?.until ?? Infinity)
    const moments = [dueAt, codesAt, ...restsEnd].filter(at => at > now)
    // What is due and has no room is asked for when something has left, and now and then.
    return Math.min(isDue ? now + PEEK_MS : Infinity, ...moments)
  }

  /** Counts the messages for which memory has room of destinations that were passed over, and need not be now. */
  function countWanted(now: number, forCodes: boolean): number {
    const wanted = [...passed.keys()].filter(each => !isServed(each, now, forCodes))
    return wanted.reduce((count, each) => count + aheadOf(each, now) - countOf(each, forCodes), 0)
  }

  /** Says how many to claim now. @param wanted how many there may be */
  function countClaimable(
    { circuit, openUntil }: Standing,
    wanted: number,
    forCodes: boolean,
    now: number,
  ): number {
    // While one message tries the provider nothing else is claimed: it would only be given back.
    if (circuit === 'half-open') return 0
    // The provider is tried by one message, not by a hundred; a few are claimed so that there is a choice.
    if (circuit === 'open') return openUntil <= now && queue.length === 0 ? FIRST_CLAIM : 0
    const most = mostWaiting(now)
    // A code takes the place of a waiting message that is none, and is sent before it.
    const room = forCodes ? Infinity : MOST_WAITING - queue.length
    const free = Math.min(most - countWaiting(now, forCodes), room) - reservedCount
    return 2 * free < most ? 0 : Math.min(free, wanted, CLAIM_LIMIT)
  }

  async function claimBatch(limit: number, forCodes: boolean): Promise<void> {
    const now = (claimedAt = clock.now())
    claiming = forCodes ? 'codes' : 'anything'
    const known = passed
    const served = [...resting.keys(), ...queue.waiting.keys()].filter(each => isServed(each, now, forCodes))
    passed = new Map(served.map(each => [each, codesAt <= now || known.get(each) === true]))
    if (dueAt <= now) dueAt = Infinity
    if (codesAt <= now) codesAt = Infinity
    try {
      const { messages, settled, nextDueAt } = await outbox.claim(channel, limit, leaseMs, [...passed.keys()])
      settler.reportEnded(settled)
      const areMore = messages.length === limit
      noteStored(areMore ? clock.now() : (nextDueAt ?? Infinity), false)
      for (const message of messages) add(toJob(message))
      const waiting = queue.length
      for (const destination of new Set(messages.map(each => each.destination))) giveBackSurplus(destination)
      nextClaim = areMore && queue.length === waiting ? Math.min(2 * nextClaim, CLAIM_LIMIT) : FIRST_CLAIM
      // Codes are claimed first. What becomes due behind what is left there is looked for.
      if (areMore && messages.some(({ purpose }) => purpose === 'code')) codesAt = clock.now()
      else if (!areMore && nextDueAt !== null) codesAt = Math.min(codesAt, nextDueAt)
      if ((areMore || passed.size > 0) && queue.length > queue.codes)
        codesAt = Math.min(codesAt, clock.now() + PEEK_MS)
      // They were claimed while the process was told to end.
      if (run.isStopping) giveBackAll()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      // Nobody can tell when the store can be asked again: until then, messages in memory do not wait for codes in the store.
      emit({ type: 'store-failed', doing: 'claim', error })
      dueAt = codesAt = clock.now() + STORE_RETRY_MS
      passed.clear()
    } finally {
      claiming = undefined
    }
  }

  /** Lets the store end what is over, and say whether anything waits there. */
  async function tidy(): Promise<void> {
    if (!isHalted()) storeHolds = (await settler.endOver(channel, leaseMs)).doesWait
  }

  /** @param isFirst what waits and rests is told with the first carrier. */
  function describeDestinations(carrier: Carrier, isFirst: boolean): readonly DestinationStatus[] {
    const others = isFirst ? [...queue.waiting.keys(), ...resting.keys()] : []
    return [...new Set([...carrier.destinations(), ...others])].map(destination => ({
      destination,
      place: known.get(destination)?.place ?? null,
      inFlight: carrier.underWay(destination),
      waiting: isFirst ? countOf(destination) : 0,
      rest: isFirst && rests(destination, clock.now()) ? (resting.get(destination) ?? null) : null,
    }))
  }

  return {
    reservePlace(purpose, destination) {
      if (isHalted()) return undefined
      const now = clock.now()
      const { circuit } = look(now)
      // While it rests, a message is better left to the store, where people can see and cancel it.
      if (circuit !== 'closed' || rests(destination, now)) return undefined
      // Codes in the store come before what is no code, and so may what else is due there.
      if (purpose !== 'code' && (areCodesFirst(now) || passed.has(destination) || dueAt <= now))
        return undefined
      if (!hasRoom(purpose, destination, now)) return undefined
      const begins =
        queue.length === 0 && (carriers[0]?.placeAt(now, destination, reservedCount) ?? Infinity) <= now
      const lease = { token: options.leaseToken(), until: now + leaseMs, begins }
      if (outbox.sharedLeases?.isHeld(lease) === false) return undefined
      reserve(destination, 1)
      work.begin()
      return lease
    },
    releasePlace(destination) {
      reserve(destination, -1)
      fill()
      work.end()
    },
    submit({ message, lease, groupKey, outgoing }) {
      reserve(message.destination, -1)
      add({ message, lease, groupKey, outgoing, attempts: 1, ambiguous: 0 })
      if (run.isStopping) giveBackAll()
      else fill()
      // A code may have taken the place of something else.
      giveBackSurplus(message.destination)
      work.end()
    },
    isVerdictFar(destination) {
      const now = clock.now()
      return look(now).circuit !== 'closed' || rests(destination, now) || !hasRoom('plain', destination, now)
    },
    wake(code, destination) {
      const now = clock.now()
      if (code !== undefined) {
        const older = queue.removeByGroup(code.groupKey, code.arrivedAt)
        if (older !== undefined) endWaiting(older, 'superseded')
      }
      noteStored(now, code !== undefined, destination)
      fill()
    },
    tryNow() {
      for (const carrier of carriers) carrier.allowTrialNow(clock.now())
      endRests()
      fill()
    },
    status() {
      const now = clock.now()
      return carriers.map((carrier, at) => ({
        ...carrier.status(now),
        waiting: at === 0 ? queue.length : 0,
        secondIn: reports?.secondIn(carrier.provider.name) ?? [],
        destinations: describeDestinations(carrier, at === 0),
      }))
    },
    fill,
    sweep() {
      const now = clock.now()
      for (const job of queue.removeWhere(each => mayNoLongerBegin(each, now))) endOrGiveBack(job, now)
      if (now - claimedAt >= TIDY_MS) void track(tidy())
    },
    stop() {
      clearTimeout(nextLook)
      clearInterval(watcher)
      giveBackAll()
    },
    abort: attempts.abort,
  }
}

/** Takes all carriers of a channel as one: whether anything may begin at all. */
function combineStandings(each: readonly Standing[]): Standing {
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
