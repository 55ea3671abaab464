import type { Emit } from '../events/events.ts'
import type { Lease, Outbox, Settlement } from '../outbox/outbox.ts'
import { StoreUnavailable } from '../outbox/outbox.ts'
import { MOST_AWAITING_REPLY, type Outcome } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Attempts, EndedAttempt } from './attempt.ts'
import { type ChannelState, type Job, limiterEnd } from './channel-state.ts'
import { expectDue } from './claim.ts'
import type { InFlight } from './in-flight.ts'
import type { AttemptEnd } from './limiter.ts'
import type { Verdicts } from './port.ts'
import { MAX_COPIES, settlementOf } from './retry.ts'
import type { Settler } from './settle.ts'

/** Begins attempts while there are places for them, and settles what they come to. */
export interface Scheduler {
  /** Begins what may begin, then claims. */
  run(channel: ChannelState): void
  /** Takes a message into memory; an older code of its group that waits there is superseded. */
  add(channel: ChannelState, job: Job): void
  /** Gives what waits beyond the places of a channel back to the store. */
  giveBackSurplus(channel: ChannelState): void
  /** Gives everything that waits back to the store. */
  giveBackAll(channel: ChannelState): void
  /** Ends a code that a newer one of its group supersedes. */
  supersede(channel: ChannelState, job: Job | undefined): void
  /** Ends or gives back what has waited too long: its life is over, or its lease would not outlive an attempt. */
  sweep(channel: ChannelState): void
  /** Whether no other process may have taken over what was claimed under this lease. */
  isHeld(lease: Lease): boolean
}

export interface SchedulerOptions {
  readonly outbox: Pick<Outbox, 'sharedLeases' | 'beginAttempt'>
  readonly clock: Clock
  readonly random: () => number
  readonly verdicts: Verdicts
  readonly emit: Emit
  readonly attempts: Attempts
  readonly settler: Settler
  readonly inFlight: InFlight
  /** The longest that an attempt may take, ms: nothing begins that its lease would not outlive. */
  readonly attemptLimitMs: number
  /** Whether the process was told to end. */
  readonly stopping: () => boolean
  /** How long a final reply may take before its attempt counts against no limit, ms; REPLY_PATIENCE_MS unless given. */
  readonly replyPatienceMs?: number
  readonly repeatPausesMs?: readonly number[] | undefined
  /** Claims when memory has room and something is due. */
  readonly claim: (channel: ChannelState) => void
}

/** A message that comes back from an open breaker does not come again together with all others, ms. */
const RETURN_SPREAD_MS = 1000
/**
 * An attempt that has waited so long for its final reply, ms, no longer counts against the limit: a server that scans
 * may take minutes for it (RFC 5321 4.5.3.2.6), and ten such replies would stop all other mail.
 */
export const REPLY_PATIENCE_MS = 20_000

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { outbox, clock, random, verdicts, emit, attempts, settler, inFlight, stopping } = options
  const { replyPatienceMs = REPLY_PATIENCE_MS } = options

  /** Runs something of a channel that ending waits for, and goes on with the channel afterwards. */
  function work(channel: ChannelState, task: Promise<unknown>): void {
    inFlight.add(task, () => run(channel))
  }

  function run(channel: ChannelState): void {
    const { limiter, breaker } = channel
    while (!stopping() && !settler.isBehind()) {
      const now = clock.now()
      if (limiter.inFlight >= limiter.limit(now)) break
      const job = channel.takeNext(now)
      if (job === undefined) break
      if (isOver(job, now) || !isHeld(job.lease)) putBack(channel, job, now)
      else if (isSpent(channel, job)) end(channel, job, { to: 'final', state: 'unknown', answer: null })
      else if (breaker.allows(now)) work(channel, attempt(channel, job))
      else {
        const until = Math.max(breaker.openUntil() ?? now, now)
        giveBack(channel, job, until + Math.round(random() * RETURN_SPREAD_MS))
      }
    }
    resumeAfterPause(channel)
    options.claim(channel)
  }

  /** A provider that asked for a pause has nothing in flight whose end would begin the next one. */
  function resumeAfterPause(channel: ChannelState): void {
    const now = clock.now()
    const until = channel.limiter.pausedUntil(now)
    clearTimeout(channel.pauseTimer)
    if (until !== null && channel.queue.length > 0)
      channel.pauseTimer = setTimeout(() => run(channel), Math.max(until - now, 1)).unref()
  }

  function isHeld(lease: Lease): boolean {
    return outbox.sharedLeases?.isHeld(lease) ?? true
  }

  function isOver({ message, lease }: Job, now: number): boolean {
    return now >= message.expiresAt || lease.until - now < options.attemptLimitMs
  }

  /** So many copies may have been sent that none may follow, and nobody can be asked. */
  function isSpent({ provider }: ChannelState, { message, ambiguous }: Job): boolean {
    return ambiguous >= MAX_COPIES[message.channel] && provider.lookUp === undefined
  }

  function putBack(channel: ChannelState, job: Job, now: number): void {
    if (now < job.message.expiresAt) return giveBack(channel, job, now)
    // A message that was ambiguous before and has no time left is unknown, not expired: it may have been sent.
    end(channel, job, { to: 'final', state: job.ambiguous > 0 ? 'unknown' : 'expired', answer: null })
  }

  function giveBack(channel: ChannelState, job: Job, dueAt: number): void {
    verdicts.announce(job.message.id, { is: 'pending' })
    end(channel, job, { to: 'queued', dueAt, uncounted: true })
  }

  /** Ends the claim of a message that waited. */
  function end(channel: ChannelState, job: Job, settlement: Settlement): void {
    work(channel, settle(channel, job, settlement, false))
  }

  async function settle(
    channel: ChannelState,
    job: Job,
    settlement: Settlement,
    begun: boolean,
  ): Promise<void> {
    const settled = await settler.settle(job, settlement, begun)
    if (settled?.state !== 'queued' || settlement.to !== 'queued') return
    expectDue(channel, settlement.dueAt)
    if (job.message.purpose === 'code' && settlement.dueAt <= clock.now()) channel.codesInStore += 1
  }

  async function attempt(channel: ChannelState, job: Job): Promise<void> {
    const startedAt = clock.now()
    const place = occupyPlace(channel, startedAt)
    if (!(await markBegun(job))) {
      place.release({ is: 'void' })
      return giveBack(channel, job, clock.now())
    }
    const ended = await attempts.send(channel, job, place.awaitReply)
    const now = clock.now()
    const { outcome } = ended
    place.release(limiterEnd(outcome))
    if (outcome.is !== 'retry' || outcome.code !== 'RENDER')
      channel.recordDuration(Math.min(now - startedAt, replyPatienceMs))
    giveBackSurplus(channel)
    recordInBreaker(channel, outcome, now)
    await settleAttempt(channel, job, ended, now - startedAt)
  }

  /** A place of the limiter. It is given back when the attempt ends, or when its final reply takes too long. */
  function occupyPlace(channel: ChannelState, startedAt: number) {
    const { limiter } = channel
    const place = limiter.begin(startedAt)
    let isCounted = true
    let timer: NodeJS.Timeout | undefined
    const stopCounting = (end: AttemptEnd): void => {
      isCounted = false
      limiter.end(place, end, clock.now())
    }
    return {
      awaitReply(stopCountingThere: () => void): void {
        timer = setTimeout(() => {
          if (channel.awaitingReply >= MOST_AWAITING_REPLY) return
          channel.awaitingReply += 1
          stopCountingThere()
          stopCounting({ is: 'void' })
          run(channel)
        }, replyPatienceMs).unref()
      },
      release(end: AttemptEnd): void {
        clearTimeout(timer)
        if (isCounted) stopCounting(end)
        else channel.awaitingReply -= 1
      },
    }
  }

  /**
   * Notes in the store that the attempt begins, so that after a crash it is known which messages may have been sent.
   * @returns false when that could not be noted: then nothing may be sent.
   */
  async function markBegun({ message, lease }: Job): Promise<boolean> {
    try {
      const marked = outbox.beginAttempt(message.id, lease)
      if (marked !== undefined) await marked
      return true
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'begin', error })
      return false
    }
  }

  /** Tells a channel's breaker what became of an attempt, and reports when that opened or closed it. */
  function recordInBreaker(channel: ChannelState, outcome: Outcome, now: number): void {
    const { breaker, provider, limiter } = channel
    // A provider that refuses one more, and takes those that are under way, is not down.
    if (outcome.is === 'retry' && outcome.overload !== undefined && limiter.inFlight > 0) return
    const wasClosed = breaker.state() === 'closed'
    breaker.record(outcome, now)
    const isClosed = breaker.state() === 'closed'
    if (wasClosed === isClosed) return
    const state = isClosed ? 'closed' : 'open'
    emit({
      type: 'breaker',
      channel: provider.channel,
      provider: provider.name,
      state,
      reason: outcome.reply,
    })
    if (isClosed) channel.dueAt = now
  }

  async function settleAttempt(
    channel: ChannelState,
    job: Job,
    { outcome, ambiguous, records }: EndedAttempt,
    tookMs: number,
  ): Promise<void> {
    const { message, attempts: count } = job
    emit({ type: 'attempt', message, provider: channel.provider.name, outcome, attempts: count, tookMs })
    const settlement = settlementFor(channel, job, outcome, ambiguous, records)
    // A verdict of the provider may be answered before it is settled: the message itself is committed already, and
    // a crash in between makes it ambiguous, which is what it then is.
    if (settlement.to === 'final')
      verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
    else verdicts.announce(message.id, { is: 'pending' })
    run(channel)
    await settle(channel, job, settlement, true)
  }

  function settlementFor(
    { provider }: ChannelState,
    { message, attempts: count }: Job,
    outcome: Outcome,
    ambiguous: number,
    records: EndedAttempt['records'],
  ): Settlement {
    const now = clock.now()
    // Stopped by us before anything was written: it never began.
    if (stopping() && outcome.is === 'retry' && outcome.untouched === true)
      return { to: 'queued', dueAt: now, uncounted: true }
    const { channel, purpose, expiresAt } = message
    const canBeLookedUp = provider.lookUp !== undefined
    const attempted = { channel, purpose, expiresAt, attempts: count, ambiguous, canBeLookedUp }
    return settlementOf(outcome, attempted, now, random, records, options.repeatPausesMs)
  }

  function supersede(channel: ChannelState, job: Job | undefined): void {
    if (job !== undefined) end(channel, job, { to: 'final', state: 'superseded', answer: null })
  }

  function giveBackSurplus(channel: ChannelState): void {
    const now = clock.now()
    for (const job of channel.removeSurplus(now)) giveBack(channel, job, now)
  }

  return {
    run,
    add(channel, job) {
      // A retry waits since now: it was not due before.
      const waitingSince = job.attempts > 1 ? clock.now() : job.message.arrivedAt
      supersede(channel, channel.queue.add(job, waitingSince))
    },
    giveBackSurplus,
    giveBackAll(channel) {
      const now = clock.now()
      for (const job of channel.queue.removeWhere(() => true)) giveBack(channel, job, now)
    },
    supersede,
    sweep(channel) {
      const now = clock.now()
      for (const job of channel.queue.removeWhere(each => isOver(each, now) || !isHeld(each.lease)))
        putBack(channel, job, now)
    },
    isHeld,
  }
}
