import type { Lease, Outbox, Settlement } from '../outbox/outbox.ts'
import { type AttemptRunnerOptions, createAttemptRunner } from './attempt-runner.ts'
import type { ChannelState, Job } from './channel-state.ts'
import { noteDueAt } from './claim.ts'
import type { InFlight } from './in-flight.ts'
import type { Settler } from './settle.ts'

export interface SchedulerOptions extends AttemptRunnerOptions {
  readonly outbox: Pick<Outbox, 'sharedLeases' | 'beginAttempt'>
  readonly settler: Settler
  readonly inFlight: InFlight
  /** The longest that an attempt may take, ms: nothing begins that its lease would not outlive. */
  readonly attemptLimitMs: number
  /** Claims when memory has room and something is due. */
  readonly claim: (channel: ChannelState) => void
}

/** Begins attempts while there are places for them, and settles their outcomes. */
export function createScheduler(options: SchedulerOptions) {
  const { outbox, clock, settler, inFlight, stopping } = options
  /** Says whether no other process may have taken over what was claimed under this lease. */
  const isHeld = (lease: Lease): boolean => outbox.sharedLeases?.isHeld(lease) ?? true
  const endings = createClaimEndings(options, isHeld, trackTask)
  const runAttempt = createAttemptRunner(options, { beginAttempts, ...endings })

  /** Tracks a task of a channel, so that a drain waits for it, and goes on with the channel afterwards. */
  function trackTask(channel: ChannelState, task: Promise<unknown>): void {
    inFlight.add(task, () => beginAttempts(channel))
  }

  /** Begins what may begin, then claims. */
  function beginAttempts(channel: ChannelState): void {
    const { pool } = channel
    const now = clock.now()
    noticePause(channel, now)
    while (!stopping() && !settler.isBehind()) {
      if (pool.inFlight >= pool.limit(now)) break
      const job = channel.takeNext(now)
      if (job === undefined) break
      if (!endings.endIfOver(channel, job, now)) trackTask(channel, runAttempt(channel, job))
    }
    resumeWhenLimitRises(channel, now)
    options.claim(channel)
  }

  /** Sets a timer for the end of a pause: nothing is in flight then whose end would begin the next attempt. */
  function resumeWhenLimitRises(channel: ChannelState, now: number): void {
    const at = channel.pool.risesAt(now)
    clearTimeout(channel.riseTimer)
    if (at !== null)
      channel.riseTimer = setTimeout(() => beginAttempts(channel), Math.max(at - now, 1)).unref()
  }

  return {
    beginAttempts,
    /** Takes a message into memory; an older code of its group that waits there is superseded. */
    add(channel: ChannelState, job: Job): void {
      // A retry waits since now: it was not due before.
      const waitingSince = job.attempts > 1 ? clock.now() : job.message.arrivedAt
      endings.supersede(channel, channel.queue.add(channel.routeJob(job), waitingSince))
    },
    ...endings,
    isHeld,
  }
}

/** Notices the end of a pause. Nothing was claimed during it, and the messages that became due may be codes, which go before all that waits here. */
function noticePause(channel: ChannelState, now: number): void {
  const isPaused = channel.pool.pausedUntil(now) !== null
  const isDue = channel.claiming || (channel.dueAt !== null && channel.dueAt <= now)
  if (channel.wasPaused && !isPaused && isDue) {
    channel.dueAt = now
    channel.codesInStore += 1
  }
  channel.wasPaused = isPaused
}

/** The calls that end or give back the claims of messages. */
function createClaimEndings(
  { clock, verdicts, settler, attemptLimitMs }: SchedulerOptions,
  isHeld: (lease: Lease) => boolean,
  trackTask: (channel: ChannelState, task: Promise<unknown>) => void,
) {
  async function settle(channel: ChannelState, job: Job, settlement: Settlement, begun: boolean) {
    const settled = await settler.settle(job, settlement, begun)
    if (settled?.state !== 'queued' || settlement.to !== 'queued') return
    noteDueAt(channel, settlement.dueAt)
    if (job.message.purpose === 'code' && settlement.dueAt <= clock.now()) channel.codesInStore += 1
  }

  /** Ends the claim of a message that waited. */
  function endClaim(channel: ChannelState, job: Job, settlement: Settlement): void {
    trackTask(channel, settle(channel, job, settlement, false))
  }

  function giveBack(channel: ChannelState, job: Job, dueAt: number): void {
    verdicts.announce(job.message.id, { is: 'pending' })
    endClaim(channel, job, { to: 'queued', dueAt, uncounted: true })
  }

  /** Says whether a message's life is over, or its lease too short for an attempt. */
  function mayNoLongerBegin({ message, lease }: Job, now: number): boolean {
    return now >= message.expiresAt || lease.until - now < attemptLimitMs || !isHeld(lease)
  }

  function endOrGiveBack(channel: ChannelState, job: Job, now: number): void {
    if (now < job.message.expiresAt) return giveBack(channel, job, now)
    // A message that was ambiguous before and has no time left is unknown, not expired: it may have been sent.
    endClaim(channel, job, { to: 'final', state: job.ambiguous > 0 ? 'unknown' : 'expired', answer: null })
  }

  return {
    settle,
    giveBack,
    /** Ends or gives back a message that may not be attempted any more. @returns whether it did. */
    endIfOver(channel: ChannelState, job: Job, now: number): boolean {
      const isEnding = mayNoLongerBegin(job, now)
      if (isEnding) endOrGiveBack(channel, job, now)
      return isEnding
    },
    /** Ends a code that a newer one of its group supersedes. */
    supersede(channel: ChannelState, job: Job | undefined): void {
      if (job !== undefined) endClaim(channel, job, { to: 'final', state: 'superseded', answer: null })
    },
    /** Gives what waits beyond the places of a channel back to the store. */
    giveBackSurplus(channel: ChannelState): void {
      const now = clock.now()
      for (const job of channel.removeSurplus(now)) giveBack(channel, job, now)
    },
    /** Gives everything that waits back to the store. */
    giveBackAll(channel: ChannelState): void {
      const now = clock.now()
      for (const job of channel.queue.removeWhere(() => true)) giveBack(channel, job, now)
    },
    /** Ends or gives back messages that have waited too long: their life is over, or their lease would not outlive an attempt. */
    sweep(channel: ChannelState): void {
      const now = clock.now()
      for (const job of channel.queue.removeWhere(each => mayNoLongerBegin(each, now)))
        endOrGiveBack(channel, job, now)
    },
  }
}
