import type { Lease, Outbox, Settlement } from '../outbox/outbox.ts'
import { type AttemptRunnerOptions, createAttemptRunner } from './attempt-runner.ts'
import type { ChannelState, Job } from './channel-state.ts'
import { expectDue } from './claim.ts'
import type { InFlight } from './in-flight.ts'
import { MAX_COPIES } from './retry.ts'
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

export interface SchedulerOptions extends AttemptRunnerOptions {
  readonly outbox: Pick<Outbox, 'sharedLeases' | 'beginAttempt'>
  readonly settler: Settler
  readonly inFlight: InFlight
  /** The longest that an attempt may take, ms: nothing begins that its lease would not outlive. */
  readonly attemptLimitMs: number
  /** Claims when memory has room and something is due. */
  readonly claim: (channel: ChannelState) => void
}

/** A message that comes back from an open breaker does not come again together with all others, ms. */
const RETURN_SPREAD_MS = 1000
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { outbox, clock, random, verdicts, settler, inFlight, stopping } = options
  const runAttempt = createAttemptRunner(options, { run, settle, giveBack, giveBackSurplus })

  /** Runs something of a channel that ending waits for, and goes on with the channel afterwards. */
  function work(channel: ChannelState, task: Promise<unknown>): void {
    inFlight.add(task, () => run(channel))
  }

  function run(channel: ChannelState): void {
    const { limiter, breaker } = channel
    noticePause(channel, clock.now())
    while (!stopping() && !settler.isBehind()) {
      const now = clock.now()
      if (limiter.inFlight >= limiter.limit(now)) break
      const job = channel.takeNext(now)
      if (job === undefined) break
      if (isOver(job, now) || !isHeld(job.lease)) putBack(channel, job, now)
      else if (isSpent(channel, job)) end(channel, job, { to: 'final', state: 'unknown', answer: null })
      else if (breaker.allows(now)) work(channel, runAttempt(channel, job))
      else {
        const until = Math.max(breaker.openUntil() ?? now, now)
        giveBack(channel, job, until + Math.round(random() * RETURN_SPREAD_MS))
      }
    }
    resumeWhenLimitRises(channel)
    options.claim(channel)
  }

  /** Nothing is claimed during a pause: what has become due since may be codes, which come before all that waits here. */
  function noticePause(channel: ChannelState, now: number): void {
    const isPaused = channel.limiter.pausedUntil(now) !== null
    if (channel.wasPaused && !isPaused && channel.dueAt !== null && channel.dueAt <= now)
      channel.codesInStore += 1
    channel.wasPaused = isPaused
  }

  /** After a pause nothing is in flight whose end would begin the next one. */
  function resumeWhenLimitRises(channel: ChannelState): void {
    const now = clock.now()
    const at = channel.limiter.risesAt(now)
    clearTimeout(channel.riseTimer)
    if (at !== null) channel.riseTimer = setTimeout(() => run(channel), Math.max(at - now, 1)).unref()
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
