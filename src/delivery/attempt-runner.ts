import type { Emit } from '../events/events.ts'
import { type Outbox, type Settlement, StoreUnavailable } from '../outbox/outbox.ts'
import { MOST_AWAITING_REPLY, type Outcome } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Attempts, type EndedAttempt, NOT_KNOWN_YET } from './attempt.ts'
import { isOurs } from './breaker.ts'
import type { ChannelState, Job } from './channel-state.ts'
import type { AttemptEnd } from './limiter.ts'
import type { Verdicts } from './port.ts'
import { createRefusedRecipients } from './refused-recipients.ts'
import { settlementOf } from './retry.ts'

export interface AttemptRunnerOptions {
  readonly outbox: Pick<Outbox, 'beginAttempt'>
  readonly clock: Clock
  readonly random: () => number
  readonly verdicts: Verdicts
  readonly emit: Emit
  readonly attempts: Attempts
  /** Whether the process was told to end. */
  readonly stopping: () => boolean
  /** How long a final reply may take before its attempt counts against no limit, ms; REPLY_PATIENCE_MS unless given. */
  readonly replyPatienceMs?: number
  readonly repeatPausesMs?: readonly number[] | undefined
}

/** The steps of the scheduler that an attempt leads to. */
export interface AttemptSteps {
  run(channel: ChannelState): void
  settle(channel: ChannelState, job: Job, settlement: Settlement, begun: boolean): Promise<void>
  giveBack(channel: ChannelState, job: Job, dueAt: number): void
  giveBackSurplus(channel: ChannelState): void
}

/**
 * An attempt that has waited so long for its final reply, ms, no longer counts against the limit: a server that scans
 * may take minutes for it (RFC 5321 4.5.3.2.6), and ten such replies would stop all other mail.
 */
export const REPLY_PATIENCE_MS = 20_000

/**
 * Runs one attempt from its place in the limiter to its settlement.
 * @returns what runs it; resolves when the attempt is settled.
 */
export function createAttemptRunner(
  options: AttemptRunnerOptions,
  steps: AttemptSteps,
): (channel: ChannelState, job: Job) => Promise<void> {
  const { clock, emit, verdicts, replyPatienceMs = REPLY_PATIENCE_MS } = options
  const refusedRecipients = createRefusedRecipients()

  async function settleAttempt(channel: ChannelState, job: Job, ended: EndedAttempt, tookMs: number) {
    const { message, attempts } = job
    const provider = channel.provider.name
    emit({ type: 'attempt', message, provider, outcome: ended.outcome, attempts, tookMs })
    const settlement = settlementFor(options, channel, job, ended)
    // A verdict of the provider may be answered before it is settled: the message itself is committed already, and
    // a crash in between makes it ambiguous, which is what it then is.
    if (settlement.to === 'final')
      verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
    else verdicts.announce(message.id, { is: 'pending' })
    steps.run(channel)
    await steps.settle(channel, job, settlement, true)
  }

  return async (channel, job) => {
    const startedAt = clock.now()
    const place = occupyPlace(channel, clock, replyPatienceMs, steps.run)
    if (!(await markBegun(options, job))) {
      place.release({ is: 'void' })
      channel.breaker.withdraw(startedAt)
      return steps.giveBack(channel, job, clock.now())
    }
    const sent = await options.attempts.send(channel, job, place.awaitReply)
    const now = clock.now()
    const outcome = refusedRecipients.judge(channel.provider.name, sent.outcome, job.message.recipient)
    const ended = { ...sent, outcome }
    place.release(limiterEnd(outcome))
    if (outcome.is !== 'retry' || outcome.code !== 'RENDER')
      channel.recordDuration(Math.min(now - startedAt, replyPatienceMs))
    steps.giveBackSurplus(channel)
    recordInBreaker(channel, outcome, startedAt, now, emit)
    await settleAttempt(channel, job, ended, now - startedAt)
  }
}

/** What an outcome tells about how many attempts may be under way. */
export function limiterEnd(outcome: Outcome): AttemptEnd {
  if (outcome.overload === 'connections') return { is: 'refused-connection', accepted: outcome.accepted }
  const retryAfterMs = outcome.is === 'retry' ? outcome.retryAfterMs : undefined
  if (outcome.overload === 'requests') return { is: 'throttled', retryAfterMs }
  if (isOurs(outcome)) return { is: 'void' }
  if (outcome.is === 'ambiguous') return { is: 'failed' }
  if (outcome.is === 'limit') return { is: outcome.scope === 'account' ? 'void' : 'answered' }
  if (outcome.is !== 'retry') return { is: 'answered' }
  // A wrong password is no sign of too many at once, nor is what a look-up does not find yet.
  if (outcome.whose === 'ours' || outcome.code === NOT_KNOWN_YET.code) return { is: 'void' }
  return outcome.untouched === true || outcome.code.endsWith('-limit') ? { is: 'failed' } : { is: 'answered' }
}

/** A place of the limiter. It is given back when the attempt ends, or when its final reply takes too long. */
function occupyPlace(channel: ChannelState, clock: Clock, patienceMs: number, run: AttemptSteps['run']) {
  const { limiter } = channel
  const place = limiter.begin(clock.now())
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
      }, patienceMs).unref()
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
async function markBegun({ outbox, emit }: AttemptRunnerOptions, { message, lease }: Job): Promise<boolean> {
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
function recordInBreaker(
  channel: ChannelState,
  outcome: Outcome,
  startedAt: number,
  now: number,
  emit: Emit,
): void {
  const { breaker, provider, limiter } = channel
  // A provider that refuses one more, and takes those that are under way, is not down.
  if (outcome.is === 'retry' && outcome.overload !== undefined && limiter.inFlight > 0)
    return breaker.withdraw(startedAt)
  const wasClosed = breaker.state() === 'closed'
  breaker.record(outcome, now, startedAt)
  const isClosed = breaker.state() === 'closed'
  if (wasClosed === isClosed) return
  const state = isClosed ? 'closed' : 'open'
  emit({ type: 'breaker', channel: provider.channel, provider: provider.name, state, reason: outcome.reply })
  if (!isClosed) return
  // Nothing was claimed meanwhile: what waits in the store may be codes, which come before all that waits here.
  channel.dueAt = now
  channel.codesInStore += 1
}

function settlementFor(
  { clock, random, stopping, repeatPausesMs }: AttemptRunnerOptions,
  { provider }: ChannelState,
  { message, attempts }: Job,
  { outcome, ambiguous, records }: EndedAttempt,
): Settlement {
  const now = clock.now()
  // Stopped by us before anything was written: it never began.
  if (stopping() && outcome.is === 'retry' && outcome.untouched === true)
    return { to: 'queued', dueAt: now, uncounted: true }
  const { channel, purpose, expiresAt } = message
  const canBeLookedUp = provider.lookUp !== undefined
  const attempted = { channel, purpose, expiresAt, attempts, ambiguous, canBeLookedUp }
  return settlementOf(outcome, attempted, now, random, records, repeatPausesMs)
}
