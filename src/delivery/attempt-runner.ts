import type { Emit } from '../events/events.ts'
import type { Outgoing } from '../messages/message.ts'
import { type Outbox, type Settlement, StoreUnavailable } from '../outbox/outbox.ts'
import { MOST_AWAITING_REPLY, type Outcome } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { type AskCarrier, askRoute, type RouteEnd } from './ask-route.ts'
import { type Attempts, NOT_KNOWN_YET } from './attempt.ts'
import { isOwnDoing } from './breaker.ts'
import type { ChannelState, Job, RoutedJob } from './channel-state.ts'
import type { AttemptEnd } from './limiter.ts'
import type { Verdicts } from './port.ts'
import { createRefusedRecipients } from './refused-recipients.ts'
import { decideSettlement } from './retry.ts'
import { type Carrier, describeRenderFault } from './route.ts'

export interface AttemptRunnerOptions {
  readonly outbox: Pick<Outbox, 'beginAttempt'>
  readonly clock: Clock
  readonly random: () => number
  readonly verdicts: Verdicts
  readonly emit: Emit
  readonly attempts: Attempts
  /** Says whether the process was told to end. */
  readonly stopping: () => boolean
  /** How long a final reply may take before its attempt counts against no limit, ms; REPLY_PATIENCE_MS unless given. */
  readonly replyPatienceMs?: number
  readonly repeatPausesMs?: readonly number[] | undefined
}

/** The steps of the scheduler that an attempt leads to. */
export interface AttemptSteps {
  beginAttempts(channel: ChannelState): void
  settle(channel: ChannelState, job: Job, settlement: Settlement, begun: boolean): Promise<void>
  giveBack(channel: ChannelState, job: Job, dueAt: number): void
  giveBackSurplus(channel: ChannelState): void
}

/**
 * An attempt that has waited so long for its final reply, ms, no longer counts against the limit: a server that scans
 * may take minutes for it (RFC 5321 4.5.3.2.6), and ten such replies would stop all other mail.
 */
export const REPLY_PATIENCE_MS = 20_000

/** Messages that are given back because their carrier is left alone come due again at different moments, within so long, ms. */
const RETURN_SPREAD_MS = 1000

/**
 * Makes the function that runs one attempt of a message, from its place in a carrier's limiter to its settlement. Its promise
 * resolves when the attempt is settled.
 */
export function createAttemptRunner(
  options: AttemptRunnerOptions,
  steps: AttemptSteps,
): (channel: ChannelState, job: RoutedJob) => Promise<void> {
  const { clock, emit, random, stopping, verdicts } = options
  const askCarrierFor = createAskCarrier(options, steps)

  async function settleAttempt(channel: ChannelState, job: RoutedJob, ended: RouteEnd) {
    const { message } = job
    if (ended.carrier === undefined) {
      const [first = channel.carriers[0]] = job.carriers
      reportAttempt(emit, job, first?.provider.name ?? '', ended.outcome, 0)
    }
    const settlement = settlementOfAttempt(options, job, ended)
    // The callback may be answered before the verdict is written: the message itself is committed already, and after a crash
    // in between it counts as ambiguous, as it must.
    if (settlement.to === 'final')
      verdicts.announce(message.id, { is: 'final', state: settlement.state, answer: settlement.answer })
    else verdicts.announce(message.id, { is: 'pending' })
    steps.beginAttempts(channel)
    await steps.settle(channel, job, settlement, true)
  }

  return async (channel, job) => {
    const outgoing = job.outgoing ?? renderOrEnd(channel, job, clock.now())
    if ('ended' in outgoing) return settleAttempt(channel, job, outgoing.ended)
    const { route } = channel
    const ask = askCarrierFor(channel, job, outgoing)
    const ended = await askRoute({ job, outgoing, route, now: clock.now, stopping }, ask)
    if (ended === 'spent')
      return steps.settle(channel, job, { to: 'final', state: 'unknown', answer: null }, false)
    if (ended === null) return steps.giveBack(channel, job, clock.now())
    if ('pausedUntil' in ended)
      return steps.giveBack(channel, job, ended.pausedUntil + Math.round(random() * RETURN_SPREAD_MS))
    await settleAttempt(channel, job, ended)
  }
}

/** Makes the function by which `askRoute` asks one carrier after the other to send one copy of a message. */
function createAskCarrier(options: AttemptRunnerOptions, steps: AttemptSteps) {
  const { clock, emit, replyPatienceMs = REPLY_PATIENCE_MS } = options
  const refusedRecipients = createRefusedRecipients()
  return (channel: ChannelState, job: RoutedJob, outgoing: Outgoing): AskCarrier =>
    async (carrier, copies) => {
      const { provider } = carrier
      const startedAt = clock.now()
      const place = occupyPlace(channel, carrier, clock, replyPatienceMs, steps.beginAttempts)
      // With one provider its name is not needed. With several, a restart may bring other routes and templates, so it is noted.
      const noted = channel.carriers.length > 1 ? provider.name : undefined
      if (!(await markBegun(options, job, noted))) {
        place.release({ is: 'void' })
        carrier.breaker.forgetAttempt(startedAt)
        return null
      }
      const sent = await options.attempts.send(provider, outgoing, { ...job, ...copies }, place.awaitReply)
      const outcome = refusedRecipients.judgeOutcome(provider.name, sent.outcome, job.message.recipient)
      const now = clock.now()
      const tookMs = now - startedAt
      place.release(attemptEndOf(outcome))
      channel.recordDuration(Math.min(tookMs, replyPatienceMs))
      steps.giveBackSurplus(channel)
      recordInBreaker(channel, carrier, outcome, startedAt, now, emit)
      reportAttempt(emit, job, provider.name, outcome, tookMs)
      // The attempt may go on with a carrier that is slow: its place here is for the next message at once.
      if (channel.carriers.length > 1) steps.beginAttempts(channel)
      return { ...sent, outcome }
    }
}

function reportAttempt(
  emit: Emit,
  { message, attempts }: RoutedJob,
  provider: string,
  outcome: Outcome,
  tookMs: number,
): void {
  emit({ type: 'attempt', message, provider, outcome, attempts, tookMs })
}

/** Renders a message for its provider; `ended` when it cannot be rendered. @param now ms since the epoch */
function renderOrEnd(
  { render, carriers }: ChannelState,
  { message, ambiguous }: RoutedJob,
  now: number,
): Outgoing | { readonly ended: RouteEnd } {
  try {
    return render(message)
  } catch (error) {
    const outcome = { is: 'retry', whose: 'ours', ...describeRenderFault(error) } as const
    const provider = carriers[0]?.provider.name ?? ''
    const record = { at: now, tookMs: 0, provider, outcome: 'retry', ...describeRenderFault(error) }
    return { ended: { outcome, ambiguous, records: [record], carrier: undefined } }
  }
}

/** Says what an outcome tells the limiter about the number of attempts at once. */
export function attemptEndOf(outcome: Outcome): AttemptEnd {
  if (outcome.overload === 'connections') return { is: 'refused-connection', accepted: outcome.accepted }
  const retryAfterMs = outcome.is === 'retry' ? outcome.retryAfterMs : undefined
  if (outcome.overload === 'requests') return { is: 'throttled', retryAfterMs }
  if (isOwnDoing(outcome)) return { is: 'void' }
  if (outcome.is === 'ambiguous') return { is: 'failed' }
  if (outcome.is === 'limit') return { is: outcome.scope === 'account' ? 'void' : 'answered' }
  if (outcome.is !== 'retry') return { is: 'answered' }
  // A wrong password is no sign of too many at once, nor is what a look-up does not find yet.
  if (outcome.whose === 'ours' || outcome.code === NOT_KNOWN_YET.code) return { is: 'void' }
  return outcome.untouched === true || outcome.code.endsWith('-limit') ? { is: 'failed' } : { is: 'answered' }
}

/** Takes a place of the limiter. It is given back when the attempt ends, or when its final reply takes too long. */
function occupyPlace(
  channel: ChannelState,
  { limiter }: Carrier,
  clock: Clock,
  patienceMs: number,
  beginAttempts: AttemptSteps['beginAttempts'],
) {
  const place = limiter.takePlace(clock.now())
  let isCounted = true
  let isReleased = false
  let timer: NodeJS.Timeout | undefined
  const stopCounting = (end: AttemptEnd): void => {
    isCounted = false
    limiter.releasePlace(place, end, clock.now())
  }
  return {
    /** Called once for each server that the message is with: after the reply of the first one there may be a fallback. */
    awaitReply(stopCountingThere: () => void): void {
      clearTimeout(timer)
      if (isReleased) return
      timer = setTimeout(() => {
        if (isCounted && channel.awaitingReply >= MOST_AWAITING_REPLY) return
        stopCountingThere()
        if (isCounted) {
          channel.awaitingReply += 1
          stopCounting({ is: 'void' })
        }
        beginAttempts(channel)
      }, patienceMs).unref()
    },
    release(end: AttemptEnd): void {
      clearTimeout(timer)
      isReleased = true
      if (isCounted) stopCounting(end)
      else channel.awaitingReply -= 1
    },
  }
}

/**
 * Notes in the store that the attempt begins, so that after a crash it is known which messages may have been sent.
 * @param provider whom it goes to, when there are several.
 * @returns false when that could not be noted: then nothing may be sent.
 */
async function markBegun(
  { outbox, emit }: AttemptRunnerOptions,
  { message, lease }: Job,
  provider: string | undefined,
): Promise<boolean> {
  try {
    const marked = outbox.beginAttempt(message.id, lease, provider)
    if (marked !== undefined) await marked
    return true
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    emit({ type: 'store-failed', doing: 'begin', error })
    return false
  }
}

/** Tells a carrier's breaker what became of an attempt, and reports when that opened or closed it. */
function recordInBreaker(
  channel: ChannelState,
  { breaker, provider, limiter }: Carrier,
  outcome: Outcome,
  startedAt: number,
  now: number,
  emit: Emit,
): void {
  // A provider that refuses one more, and takes those that are under way, is not down.
  if (outcome.is === 'retry' && outcome.overload !== undefined && limiter.inFlight > 0)
    return breaker.forgetAttempt(startedAt)
  const wasClosed = breaker.state() === 'closed'
  breaker.record(outcome, now, startedAt)
  const isClosed = breaker.state() === 'closed'
  if (wasClosed === isClosed) return
  const state = isClosed ? 'closed' : 'open'
  emit({ type: 'breaker', channel: provider.channel, provider: provider.name, state, reason: outcome.reply })
  if (!isClosed) return
  // Nothing was claimed meanwhile: there may be codes in the store, which come before all that waits here.
  channel.dueAt = now
  channel.codesInStore += 1
}

function settlementOfAttempt(
  { clock, random, stopping, repeatPausesMs }: AttemptRunnerOptions,
  { message, attempts }: Job,
  { outcome, ambiguous, records, carrier }: RouteEnd,
): Settlement {
  const now = clock.now()
  // We stopped the attempt before anything was written, so it never began.
  if (stopping() && outcome.is === 'retry' && outcome.untouched === true)
    return { to: 'queued', dueAt: now, uncounted: true }
  const { channel, purpose, expiresAt } = message
  const canBeLookedUp = carrier?.provider.lookUp !== undefined
  const attempted = { channel, purpose, expiresAt, attempts, ambiguous, canBeLookedUp }
  return decideSettlement(outcome, attempted, now, random, records, repeatPausesMs)
}
