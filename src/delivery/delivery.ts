import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import type { Lease, Outbox, Settlement } from '../outbox/outbox.ts'
import type { Outcome } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAttempts } from './attempt.ts'
import { attemptRecord, recordBreaker } from './attempt-record.ts'
import { type ChannelQueue, type ChannelSpec, createChannelQueue, type Job } from './channel-queue.ts'
import { createClaims, expectDue } from './claim.ts'
import { createDisabledChannels } from './disabled-channels.ts'
import { createInFlight } from './in-flight.ts'
import type { Delivery, Verdicts } from './port.ts'
import { settlementOf } from './retry.ts'
import { createSettler } from './settle.ts'

export interface DeliveryOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  readonly random: () => number
  readonly verdicts: Verdicts
  readonly emit: Emit
  readonly channels: readonly ChannelSpec[]
  /** How long a claim holds, ms; longer than `attemptLimitMs`. */
  readonly leaseMs: number
  /** The longest that a provider's attempt can take, ms; nothing begins that its lease would not outlive. */
  readonly attemptLimitMs: number
  /** How often a shared store is asked without a reason, ms (another replica may have put something there). */
  readonly pollMs: number
  /** Names a claim, unique for every claim ever made. A shared store names them itself. */
  readonly leaseToken: () => string
}

/** What came back from an open breaker does not come again all at once, ms. */
const RETURN_SPREAD_MS = 1000
/** How often what waits in memory is looked through for what has waited too long, ms. */
const SWEEP_MS = 5000

export function createDelivery(options: DeliveryOptions): Delivery {
  const { outbox, clock, random, verdicts, emit, leaseMs, attemptLimitMs, leaseToken } = options
  const lanes = new Map<Channel, ChannelQueue>()
  for (const spec of options.channels) lanes.set(spec.provider.channel, createChannelQueue(spec))
  const underWay = createInFlight(() => [...lanes.values()].every(lane => lane.reserved === 0))
  const attempts = createAttempts({ limitMs: attemptLimitMs, emit })
  const settler = createSettler({
    outbox,
    clock,
    verdicts,
    emit,
    caughtUp: () => {
      for (const lane of lanes.values()) run(lane)
    },
  })
  const paused = () => stopping || settler.isBehind()
  const claims = createClaims({
    ...options,
    paused,
    work: workFor,
    claimed(lane, jobs) {
      // Newest first as they were claimed; the last one added is the next of those that came in the same millisecond.
      for (const job of jobs.toReversed()) supersede(lane, lane.add(job))
      // The pace may have been learned while they were being claimed: there are fewer places now.
      for (const over of lane.removeSurplus()) giveBack(lane, over, clock.now())
      // Claimed while we were told to end: hand it back.
      if (stopping) releaseAll(lane)
    },
  })
  const { schedule } = claims
  const channels = (['email', 'sms'] as const).filter(channel => !lanes.has(channel))
  const unserved = createDisabledChannels({ ...options, channels, paused, work: underWay.add })
  let stopping = false
  let sweeper: NodeJS.Timeout | undefined

  function laneOf(channel: Channel): ChannelQueue {
    const lane = lanes.get(channel)
    if (lane === undefined) throw new Error(`no provider for ${channel}`)
    return lane
  }

  /** Runs something of a lane that ending waits for, and goes on with the lane afterwards. */
  function workFor(lane: ChannelQueue, task: Promise<unknown>): void {
    underWay.add(task, () => run(lane))
  }

  function run(lane: ChannelQueue): void {
    while (!stopping && !settler.isBehind() && lane.inFlight < lane.provider.concurrency) {
      const now = clock.now()
      const job = lane.takeNext(now)
      if (job === undefined) break
      if (isOver(job, now) || !holds(job.lease)) putBack(lane, job, now)
      else if (lane.breaker.allows(now)) workFor(lane, attempt(lane, job))
      else {
        const until = Math.max(lane.breaker.openUntil() ?? now, now)
        giveBack(lane, job, until + Math.round(random() * RETURN_SPREAD_MS))
      }
    }
    schedule(lane)
  }

  /** Whether no other process may have taken over what was claimed under this lease. */
  function holds(lease: Lease): boolean {
    return outbox.sharedLeases?.isHeld(lease) ?? true
  }

  /** Its life is over, or its lease would not outlive an attempt. */
  function isOver({ message, lease }: Job, now: number): boolean {
    return now >= message.expiresAt || lease.until - now < attemptLimitMs
  }

  function putBack(lane: ChannelQueue, job: Job, now: number): void {
    if (now < job.message.expiresAt) return giveBack(lane, job, now)
    // What was ambiguous before and has no time left is unknown, not expired: it may have been sent.
    end(lane, job, { to: 'final', state: job.ambiguous > 0 ? 'unknown' : 'expired', answer: null })
  }

  function giveBack(lane: ChannelQueue, job: Job, dueAt: number): void {
    verdicts.announce(job.message.id, { is: 'pending' })
    end(lane, job, { to: 'queued', dueAt, uncounted: true })
  }

  function supersede(lane: ChannelQueue, job: Job | undefined): void {
    if (job !== undefined) end(lane, job, { to: 'final', state: 'superseded', answer: null })
  }

  /** Ends the claim of a message that waited. */
  function end(lane: ChannelQueue, job: Job, settlement: Settlement): void {
    workFor(lane, settle(lane, job, settlement, false))
  }

  async function settle(lane: ChannelQueue, job: Job, settlement: Settlement, begun: boolean): Promise<void> {
    const settled = await settler.settle(job, settlement, begun)
    if (settled?.state !== 'queued' || settlement.to !== 'queued') return
    expectDue(lane, settlement.dueAt)
    if (job.message.purpose === 'code' && settlement.dueAt <= clock.now()) lane.codesInStore += 1
  }

  async function attempt(lane: ChannelQueue, job: Job): Promise<void> {
    const { message } = job
    const startedAt = clock.now()
    lane.inFlight += 1
    const outcome = await attempts.send(lane, job)
    lane.inFlight -= 1
    const now = clock.now()
    const tookMs = now - startedAt
    if (outcome.is !== 'retry' || outcome.code !== 'RENDER') lane.recordDuration(tookMs)
    for (const over of lane.removeSurplus()) giveBack(lane, over, now)
    recordBreaker(lane, outcome, now, emit)
    emit({ type: 'attempt', message, provider: lane.provider.name, outcome, attempts: job.attempts, tookMs })
    const settlement = settlementFor(lane, job, outcome, startedAt, now)
    // A verdict of the provider may be answered before it is settled: the message itself is committed already, and
    // a crash in between makes it ambiguous, which is what it then is.
    if (settlement.to === 'final') {
      verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
    } else verdicts.announce(message.id, { is: 'pending' })
    run(lane)
    await settle(lane, job, settlement, true)
  }

  function settlementFor(
    lane: ChannelQueue,
    job: Job,
    outcome: Outcome,
    startedAt: number,
    now: number,
  ): Settlement {
    // Stopped by us before anything was written: it never began.
    if (stopping && outcome.is === 'retry' && outcome.untouched === true) {
      return { to: 'queued', dueAt: now, uncounted: true }
    }
    const { purpose, expiresAt } = job.message
    const record = attemptRecord(lane.provider.name, outcome, startedAt, now - startedAt)
    return settlementOf(outcome, { ...job, purpose, expiresAt }, now, random, record)
  }

  function releaseAll(lane: ChannelQueue): void {
    const now = clock.now()
    for (const job of lane.removeWhere(() => true)) giveBack(lane, job, now)
  }

  /** Newest first means that the oldest here may wait for long: it goes back before its lease runs out unnoticed. */
  function sweep(): void {
    if (settler.isBehind()) return
    const now = clock.now()
    for (const lane of lanes.values()) {
      for (const job of lane.removeWhere(each => isOver(each, now) || !holds(each.lease))) {
        putBack(lane, job, now)
      }
      claims.settleExpired(lane)
    }
    unserved.settleExpired()
  }

  return {
    reserve(channel, purpose) {
      const lane = lanes.get(channel)
      if (lane === undefined || stopping || settler.isBehind()) return undefined
      if (lane.breaker.state() !== 'closed') return undefined
      const now = clock.now()
      if (purpose !== 'code') {
        // Codes in the store come before it, and so may what else is due there.
        if (lane.codesInStore > 0 || (lane.dueAt !== null && lane.dueAt <= now)) return undefined
        if (lane.freePlaces(purpose) <= lane.reservedForCodes()) return undefined
      } else if (lane.freePlaces(purpose) < 1) return undefined
      const lease = { token: leaseToken(), until: now + leaseMs }
      if (!holds(lease)) return undefined
      lane.reserved += 1
      return lease
    },
    unreserve(channel) {
      const lane = laneOf(channel)
      lane.reserved -= 1
      schedule(lane)
      underWay.checkIdle()
    },
    isCircuitOpen: channel => laneOf(channel).breaker.state() !== 'closed',
    begin({ message, lease, groupKey, outgoing }) {
      const lane = laneOf(message.channel)
      lane.reserved -= 1
      const job = { message, lease, attempts: 1, ambiguous: 0, outgoing }
      supersede(lane, lane.add(groupKey === undefined ? job : { ...job, groupKey }))
      if (stopping) releaseAll(lane)
      else run(lane)
      // A code may have taken the place of something else.
      for (const over of lane.removeSurplus()) giveBack(lane, over, clock.now())
      underWay.checkIdle()
    },
    wake(channel, groupKey) {
      const lane = laneOf(channel)
      if (groupKey !== undefined) {
        supersede(lane, lane.removeByGroup(groupKey))
        lane.codesInStore += 1
      }
      lane.dueAt = clock.now()
      schedule(lane)
    },
    status: () =>
      [...lanes.values()].map(lane => ({
        channel: lane.provider.channel,
        provider: lane.provider.name,
        inFlight: lane.inFlight,
        waiting: lane.waiting(),
        breaker: lane.breaker.state(),
        breakerUntil: lane.breaker.openUntil(),
      })),
    start() {
      sweeper = setInterval(sweep, Math.min(SWEEP_MS, leaseMs - attemptLimitMs)).unref()
      for (const lane of lanes.values()) {
        lane.dueAt = clock.now()
        schedule(lane)
      }
      unserved.settleExpired()
    },
    async stop(graceMs, abortMs) {
      stopping = true
      clearInterval(sweeper)
      for (const lane of lanes.values()) {
        clearTimeout(lane.timer)
        releaseAll(lane)
      }
      await underWay.idleWithin(graceMs)
      attempts.abort()
      await underWay.idleWithin(abortMs)
      settler.abandon()
      // Callbacks that came meanwhile are stored: they are answered before their connections are closed.
      verdicts.end()
    },
  }
}
