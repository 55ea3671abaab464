import type { Purpose } from '../messages/message.ts'
import { type ClaimedMessage, type Lease, type Settlement, StoreUnavailable } from '../outbox/outbox.ts'
import { createStringMap } from '../runtime/collections.ts'
import { createAdaptiveLifo } from './adaptive-lifo.ts'
import {
  type AttemptResult,
  type AttemptsOptions,
  type ChannelSpec,
  createAttempts,
  type Job,
  type RoutedJob,
} from './attempt.ts'
import type { Standing } from './carrier.ts'
import type { HealthChange } from './health.ts'
import type { ChannelStatus, Handover, StoredCode, Verdicts } from './port.ts'
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

/** A message that waits in the store, as far as this process knows. */
interface MessageInStore {
  readonly purpose: Purpose
  readonly waitsFor?: AttemptResult['waitsFor']
  /** ms since the epoch. */
  readonly expiresAt: number
}

/** How a channel stands at a moment: all its carriers as one, and the places in memory. */
interface ChannelStanding extends Standing {
  /** The most messages in memory: waiting, reserved and in flight. */
  readonly capacity: number
  /** Places of them for codes only: a code that comes is next then, without a detour by the store. */
  readonly forCodes: number
  /** Places that are free for a code: it may take the place of whatever waits and is no code. */
  readonly freeForCode: number
  /** Places that are free for anything else: nothing waits in them. */
  readonly freeForOther: number
}

/**
 * How far ahead memory is filled, ms of the provider's work. A newer code that finds no place goes to the store, and waits there
 * behind all of it. So this is shorter than the wait after which the newest goes first (adaptive-lifo.ts).
 */
const AHEAD_MS = 500
const MOST_WAITING = 256
/** The weight of the latest attempt in the mean of their durations, and the longest that counts, ms. */
const LATEST = 0.2
const MOST_COUNTED_MS = 20_000
const CLAIM_LIMIT = 100
const STORE_RETRY_MS = 1000
/** How often one message is claimed though memory is full, ms: it may be a code, which takes the place of another. */
const PEEK_MS = 500
/** So many are claimed while all carriers rest, or made due for a trial, so that one that was not refused before can try them. */
const TRIAL_CHOICE = 8
/** So many are made due at once when they may be sent again; more come by their own time, within a minute or so. */
const MOST_BROUGHT = 1000
/** So many that are no codes are remembered at most while they wait in the store. */
const MOST_IN_STORE = 10_000
/** How often it is looked whether carriers that rest are back, ms. */
const WATCH_MS = 1000
/** A last trial is made so long before the life of a waiting message ends, ms. */
const LAST_TRIAL_MS = 3000
/** How often the store is asked to tidy, at least, ms. */
const TIDY_MS = 5000

/** One channel's part of the delivery. */
export interface DeliveryChannel {
  reservePlace(purpose: Purpose): Lease | undefined
  releasePlace(): void
  submit(handover: Handover): void
  isVerdictFar(): boolean
  wake(code?: StoredCode): void
  tryNow(): void
  /** Reports each carrier. What waits belongs to the channel: it is reported with the first one. */
  status(): readonly ChannelStatus[]
  /** Begins what may begin, then claims. */
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
 * One channel's messages between the store and the carriers: those that wait in memory, those that are under way, and what is
 * known of those in the store. Nothing else writes this state. A message comes by `submit` or by a claim, waits in the queue,
 * is attempted (attempt.ts) when a carrier has a place, and is settled or given back.
 */
export function createChannel(spec: ChannelSpec, options: ChannelOptions): DeliveryChannel {
  const { channel, carriers, reports } = spec
  const { outbox, clock, verdicts, emit, settler, leaseMs, attemptWithinMs, pollMs, run, work } = options
  const { idlePollMs = pollMs } = options
  const queue = createAdaptiveLifo<RoutedJob>()
  const attempts = createAttempts(spec, options, noteFreed)
  /** Places kept for messages that are about to be accepted. */
  let reserved = 0
  /** The mean duration of an attempt, ms. */
  let paceMs: number | undefined
  /** The latest turn of a message that was refused for a fault of its own (`repair`), ms since the epoch. */
  let latestRepairAt = Number.NEGATIVE_INFINITY
  let isClaiming = false
  /** When the store was asked last, ms since the epoch. */
  let claimedAt = 0
  /** When the store has something for us; null: nothing that we know of. ms since the epoch. */
  let dueAt: number | null = null
  /**
   * Reasons to think that codes wait in the store. The next claim clears those from before it, and until there are none, nothing
   * else begins. The first one: a process that died may have left some.
   */
  let codeHints = 1
  /** The codes that wait in the store, as far as we know, and what waits there until a carrier may be asked, by their ids. */
  const inStore = createStringMap<MessageInStore>()
  /** Runs while a carrier rests, or messages wait until one may be asked. */
  let watcher: NodeJS.Timeout | undefined
  let claimTimer: NodeJS.Timeout | undefined
  /** The timer for the end of a pause. */
  let pauseTimer: NodeJS.Timeout | undefined
  /** When an attempt began last, ms since the epoch. */
  let attemptedAt = Number.NEGATIVE_INFINITY

  // ---- What may be done now

  /** Says whether nothing may be claimed or begun: the process ends, or the store has not taken what became of messages. */
  const isHalted = (): boolean => run.isStopping || settler.isBehind

  function look(now: number): ChannelStanding {
    const standing = carriers.map(carrier => carrier.standing(now)).reduce(combineStandings)
    const attemptsAtOnce = Math.max(1, standing.limit)
    const capacity = attemptsAtOnce + countWaitingPlaces(attemptsAtOnce, paceMs)
    const free = capacity - standing.inFlight - reserved
    return {
      ...standing,
      capacity,
      forCodes: Math.ceil(capacity / 4),
      freeForCode: free - queue.codes,
      freeForOther: free - queue.length,
    }
  }

  // ---- Into memory

  /** Takes a message into memory; an older code of its group that waits there is superseded. */
  function add(job: Job): void {
    // A retry waits since now: it was not due before.
    const waitingSince = job.attempts > 1 ? clock.now() : job.message.arrivedAt
    inStore.delete(job.message.id)
    const older = queue.add(attempts.route(job), waitingSince)
    if (older !== undefined) endWaiting(older, 'superseded')
  }

  // ---- Out of memory

  /** Begins what may begin, then claims. */
  function fill(): void {
    const now = clock.now()
    let standing = look(now)
    // While every carrier is tried by a message, nothing else begins: how that ends says whether the rest goes out, or back.
    while (!isHalted() && standing.inFlight < standing.limit && standing.circuit !== 'half-open') {
      const job = takeNext(standing, now)
      if (job === undefined) break
      if (mayNoLongerBegin(job, now)) endOrGiveBack(job, now)
      else {
        attemptedAt = now
        void track(attempt(job))
      }
      standing = look(now)
    }
    clearTimeout(pauseTimer)
    // Nothing may be in flight then whose end would begin the next attempt.
    if (standing.pausedUntil !== null)
      pauseTimer = setTimeout(fill, Math.max(standing.pausedUntil - now, 1)).unref()
    claimWhenDue()
  }

  /** The store may have codes that are due, which come before all that waits here. */
  function expectCodes(now: number): void {
    dueAt = now
    codeHints += 1
  }

  /**
   * Takes out the next to be sent that has a place with its carrier; nothing but a code while codes wait in the store and
   * no circuit is open. Carriers that rest are tried by one that was not refused before, if there is one.
   */
  function takeNext({ circuit }: ChannelStanding, now: number): RoutedJob | undefined {
    const codesOnly = codeHints > 0 && circuit === 'closed'
    const fresh = circuit === 'closed' ? undefined : queue.takeNext(now, false, job => job.attempts === 1)
    if (fresh !== undefined) return fresh
    return queue.takeNext(now, codesOnly, carriers.length === 1 ? undefined : job => hasPlace(job, now))
  }

  async function attempt(job: RoutedJob): Promise<void> {
    const { settlement, ran, waitsFor } = await attempts.run(job)
    // The callback may be answered before the verdict is written: the message itself is committed already, and after a crash
    // in between it counts as ambiguous, as it must.
    const { id } = job.message
    if (settlement.to === 'queued') verdicts.announce(id, { is: 'pending' })
    else verdicts.announce(id, { is: 'final', state: settlement.state, answer: settlement.answer })
    if (ran) fill()
    if (waitsFor !== 'repair' || settlement.to !== 'queued') return settle(job, settlement, ran, waitsFor)
    const repairAt = Math.min(nextRepairAt(), job.message.expiresAt - LAST_TRIAL_MS)
    await settle(job, { ...settlement, dueAt: Math.max(settlement.dueAt, repairAt) }, ran)
  }

  /** Gives a message that was refused for a fault of its own its next turn: all of them together take a quarter of the places at most. */
  function nextRepairAt(): number {
    const now = clock.now()
    latestRepairAt = Math.max(now, latestRepairAt) + (4 * (paceMs ?? 0)) / Math.max(1, look(now).limit)
    return Math.round(latestRepairAt)
  }

  function noteFreed({ circuit, faults }: HealthChange, tookMs?: number): void {
    if (tookMs !== undefined) {
      const countedMs = Math.min(tookMs, MOST_COUNTED_MS)
      paceMs = paceMs === undefined ? countedMs : paceMs + (countedMs - paceMs) * LATEST
      giveBackSurplus()
    }
    // Nothing was claimed while it was open.
    if (circuit === 'closed') expectCodes(clock.now())
    if (circuit === 'open') watch()
    if (circuit === 'closed' || faults.some(({ is }) => is === 'over')) bringForward(MOST_BROUGHT)
    // The attempt may go on for long: its place is for the next message at once.
    if (carriers.length > 1 || tookMs === undefined) fill()
  }

  function watch(): void {
    if (!run.isStopping) watcher ??= setInterval(watchRests, WATCH_MS).unref()
  }

  /**
   * Shortens the rests of carriers for the messages that wait for them, or go another way meanwhile. A last trial is made before the
   * first code expires, a carrier that can be reached again is tried at once, and so is what a carrier approves of again. Without such
   * messages nobody is asked anything.
   */
  function watchRests(): void {
    const now = clock.now()
    const resting = carriers.filter(carrier => carrier.standing(now).circuit !== 'closed')
    let firstEnd = Infinity
    let areWaiting = false
    for (const id of inStore.names()) {
      const message = inStore.get(id)
      if (message === undefined || message.expiresAt <= now) continue
      if (message.waitsFor !== undefined) areWaiting = true
      if (message.purpose === 'code') firstEnd = Math.min(firstEnd, message.expiresAt)
    }
    if (resting.length === 0 && !areWaiting) {
      clearInterval(watcher)
      watcher = undefined
    }
    if (firstEnd < Infinity) for (const carrier of resting) carrier.allowTrialBy(firstEnd - LAST_TRIAL_MS)
    // Codes wait for one that rests, or messages go past it to the next.
    const isMissed = firstEnd < Infinity || (carriers.length > 1 && now - attemptedAt < 2 * WATCH_MS)
    if (isMissed) for (const carrier of resting) void tryAfter(carrier.isBack())
    if (areWaiting) for (const carrier of carriers) void tryAfter(carrier.hasApproved())
    if (resting.some(carrier => (carrier.standing(now).openUntil ?? Infinity) <= now))
      bringForward(TRIAL_CHOICE)
    fill()
  }

  async function tryAfter(look: Promise<boolean>): Promise<void> {
    if (!(await look)) return
    bringForward(TRIAL_CHOICE)
    wake()
  }

  /** A carrier may be asked again: makes due what waits for one. Codes come first, and of them those that none has refused. */
  function bringForward(most: number): void {
    // What waits for a `repair` may have met the fault that is over now: their turns begin anew.
    latestRepairAt = Number.NEGATIVE_INFINITY
    const rankOf = (id: string): number => {
      const { purpose, waitsFor } = inStore.get(id) ?? {}
      return (purpose === 'code' ? 0 : 2) + (waitsFor === 'rest' ? 0 : 1)
    }
    const waiting = inStore.names().filter(id => inStore.get(id)?.waitsFor !== undefined)
    const ids = waiting.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, most)
    for (const id of ids) inStore.delete(id)
    if (ids.length > 0) void track(makeDue(ids))
  }

  async function makeDue(ids: readonly string[]): Promise<void> {
    try {
      for (let at = 0; at < ids.length && !isHalted(); at += TRIAL_CHOICE) {
        await Promise.all(ids.slice(at, at + TRIAL_CHOICE).map(id => outbox.actions.retryMessage(id)))
        expectCodes(clock.now())
        claimWhenDue()
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'claim', error })
    }
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

  async function settle(
    job: Job,
    settlement: Settlement,
    ran: boolean,
    waitsFor?: AttemptResult['waitsFor'],
  ): Promise<void> {
    const settled = await settler.settle(job, settlement, ran)
    if (settled?.state !== 'queued' || settlement.to !== 'queued') return
    noteDueAt(settlement.dueAt)
    const { id, purpose, expiresAt } = job.message
    if (purpose === 'code' || (waitsFor !== undefined && inStore.size < MOST_IN_STORE))
      inStore.set(id, { purpose, expiresAt, waitsFor })
    if (waitsFor !== undefined) watch()
    if (purpose === 'code' && settlement.dueAt <= clock.now()) codeHints += 1
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

  /** Gives back what waits beyond the places of the channel: what would be sent last. */
  function giveBackSurplus(): void {
    if (queue.length === 0) return
    const now = clock.now()
    const { limit } = look(now)
    const surplus = queue.length - countWaitingPlaces(Math.max(1, limit), paceMs)
    if (surplus > 0) for (const job of queue.removeLast(surplus, now)) giveBack(job, now)
  }

  function giveBackAll(): void {
    const now = clock.now()
    for (const job of queue.removeWhere(() => true)) giveBack(job, now)
  }

  // ---- Claims: retries, what a dead process left, and what had no place in memory

  /** Notes that the store has something that is due then. */
  function noteDueAt(due: number): void {
    dueAt = dueAt === null ? due : Math.min(dueAt, due)
  }

  /** Claims when memory has room and something is due; otherwise sets the timer for it. */
  function claimWhenDue(): void {
    if (isHalted() || isClaiming) return
    const now = clock.now()
    const standing = look(now)
    const places = countClaimable(standing)
    // A code that has become due in the store, such as a retry, may wait behind others that fill memory.
    const mayHideCode = dueAt !== null && queue.length > queue.codes && standing.circuit === 'closed'
    if (places === 0 && !mayHideCode) return
    clearTimeout(claimTimer)
    const worthWhileAt = Math.max(places === 0 ? claimedAt + PEEK_MS : 0, standing.openUntil ?? 0)
    const at = dueAt === null ? now + idlePollMs : Math.max(dueAt, worthWhileAt)
    if (dueAt !== null && at <= now) {
      isClaiming = true
      void track(claimBatch(Math.max(places, 1)))
      return
    }
    claimTimer = setTimeout(
      () => {
        // Due or not as far as we know: another process may have put something there, or given it back.
        dueAt = clock.now()
        claimWhenDue()
      },
      Math.min(Math.max(at - now, 1), dueAt === null ? idlePollMs : pollMs),
    )
  }

  /** Says how many to claim now. */
  function countClaimable(standing: ChannelStanding): number {
    const { circuit, limit, inFlight, freeForCode, freeForOther, capacity, forCodes } = standing
    const idle = Math.max(0, Math.max(1, limit) - inFlight - reserved - queue.length)
    // While one message tries the provider nothing else is claimed: it would only be given back.
    if (circuit === 'half-open') return 0
    // The provider is tried by one message, not by a hundred; a few are claimed so that there is a choice.
    if (circuit === 'open') return Math.min(idle, TRIAL_CHOICE)
    // Codes may be among the claimed ones. Each takes the place of a waiting message that is no code, and is sent before it.
    const free = codeHints > 0 ? freeForCode : freeForOther
    return free * 2 < capacity ? 0 : Math.min(free - forCodes, CLAIM_LIMIT)
  }

  /** @param limit 0: the store ends what is over, and nothing is claimed. */
  async function claimBatch(limit: number): Promise<void> {
    dueAt = null
    claimedAt = clock.now()
    const hints = codeHints
    try {
      const { messages, settled, nextDueAt } = await outbox.claim(channel, limit, leaseMs)
      settler.reportEnded(settled)
      const now = clock.now()
      const again = messages.length === limit ? now : nextDueAt
      if (again !== null) noteDueAt(again)
      if (limit > 0) {
        // Codes that came during the claim may be among those it took, or not: they stay counted.
        codeHints -= hints
        // Codes are claimed first, so the last message tells whether there may be more of them.
        const endsWithCode = messages.length === 0 ? hints > 0 : messages.at(-1)?.purpose === 'code'
        if (again !== null && again <= now && endsWithCode) codeHints += 1
      }
      for (const job of inOrderOfArrival(messages.map(toJob))) add(job)
      // The limit may have changed while they were being claimed: there are fewer places now.
      giveBackSurplus()
      // They were claimed while the process was told to end.
      if (run.isStopping) giveBackAll()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'claim', error })
      dueAt = clock.now() + STORE_RETRY_MS
      // Nobody can tell when the store can be asked again: until then, messages in memory do not wait for codes in the store.
      codeHints -= hints
    } finally {
      isClaiming = false
    }
  }

  function wake(code?: StoredCode): void {
    if (code !== undefined) {
      inStore.set(code.id, { purpose: 'code', expiresAt: code.expiresAt })
      const older = queue.removeByGroup(code.groupKey, code.arrivedAt)
      if (older !== undefined) endWaiting(older, 'superseded')
      codeHints += 1
    }
    dueAt = clock.now()
    claimWhenDue()
  }

  return {
    reservePlace(purpose) {
      if (isHalted()) return undefined
      const now = clock.now()
      const standing = look(now)
      // While it rests, a message is better left to the store, where people can see and cancel it.
      if (standing.circuit !== 'closed') return undefined
      if (purpose === 'code') {
        if (standing.freeForCode < 1) return undefined
      } else {
        // Codes in the store come before it, and so may what else is due there.
        if (codeHints > 0 || (dueAt !== null && dueAt <= now)) return undefined
        if (standing.freeForOther <= standing.forCodes) return undefined
      }
      const begins = queue.length === 0 && standing.inFlight + reserved < standing.limit
      const lease = { token: options.leaseToken(), until: now + leaseMs, begins }
      if (outbox.sharedLeases?.isHeld(lease) === false) return undefined
      reserved += 1
      work.begin()
      return lease
    },
    releasePlace() {
      reserved -= 1
      claimWhenDue()
      work.end()
    },
    submit({ message, lease, groupKey, outgoing }) {
      reserved -= 1
      add({ message, lease, groupKey, outgoing, attempts: 1, ambiguous: 0 })
      if (run.isStopping) giveBackAll()
      else fill()
      // A code may have taken the place of something else.
      giveBackSurplus()
      work.end()
    },
    isVerdictFar() {
      const { circuit, freeForOther } = look(clock.now())
      return circuit !== 'closed' || freeForOther < 1
    },
    wake,
    tryNow() {
      for (const carrier of carriers) carrier.allowTrialNow(clock.now())
      bringForward(MOST_BROUGHT)
      wake()
    },
    status() {
      const now = clock.now()
      return carriers.map((carrier, at) => ({
        ...carrier.status(now),
        waiting: at === 0 ? queue.length : 0,
        isSecond: reports?.isSecond(carrier.provider.name) ?? false,
      }))
    },
    fill,
    sweep() {
      const now = clock.now()
      for (const job of queue.removeWhere(each => mayNoLongerBegin(each, now))) endOrGiveBack(job, now)
      for (const id of inStore.names()) if ((inStore.get(id)?.expiresAt ?? 0) <= now) inStore.delete(id)
      if (isHalted() || isClaiming || now - claimedAt < TIDY_MS) return
      isClaiming = true
      void track(claimBatch(0))
    },
    stop() {
      clearTimeout(claimTimer)
      clearTimeout(pauseTimer)
      clearInterval(watcher)
      giveBackAll()
    },
    abort: attempts.abort,
  }
}

/** Says how many messages may wait in memory beside so many attempts. A provider is taken for a quick one until its pace is known. */
function countWaitingPlaces(attempts: number, paceMs: number | undefined): number {
  const wanted = paceMs === undefined ? MOST_WAITING : Math.ceil((attempts * AHEAD_MS) / Math.max(paceMs, 1))
  return Math.min(Math.max(wanted, attempts), Math.max(MOST_WAITING, attempts))
}

/** Takes two carriers as one: whether anything may begin at all. */
function combineStandings(one: Standing, other: Standing): Standing {
  const states = [one.circuit, other.circuit]
  return {
    limit: one.limit + other.limit,
    inFlight: one.inFlight + other.inFlight,
    circuit: (['closed', 'open'] as const).find(state => states.includes(state)) ?? 'half-open',
    openUntil: earliestOfAll(one.openUntil, other.openUntil),
    pausedUntil: earliestOfAll(one.pausedUntil, other.pausedUntil),
  }
}

/** Finds the first moment; null when one of them is null. */
function earliestOfAll(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.min(one, other)
}

/** Says whether a message has a place with the first carrier of its route that may be asked. */
function hasPlace({ carriers }: RoutedJob, now: number): boolean {
  const first = carriers.find(carrier => carrier.mayAsk(undefined, now) === null)
  if (first === undefined) return true
  const { inFlight, limit } = first.standing(now)
  return inFlight < limit
}

function toJob({ lease, attempts, ambiguous, ambiguousAt, groupKey, ...message }: ClaimedMessage): Job {
  return { message, lease, attempts, ambiguous, ambiguousAt, groupKey }
}

/**
 * Sorts claimed messages by arrival, an order that the queue keeps among those of the same millisecond. In a
 * backlog a claim gives codes, and then everything else, newest first.
 */
function inOrderOfArrival(jobs: readonly Job[]): readonly Job[] {
  const isCode = ({ message }: Job): boolean => message.purpose === 'code'
  return [jobs.filter(isCode), jobs.filter(job => !isCode(job))].flatMap(each => {
    const isNewestFirst = (each[0]?.message.arrivedAt ?? 0) > (each.at(-1)?.message.arrivedAt ?? 0)
    return isNewestFirst ? each.toReversed() : each
  })
}
