import type { Emit } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAttempts } from './attempt.ts'
import { type ChannelSpec, type ChannelState, createChannelState, type Job } from './channel-state.ts'
import { createClaims } from './claim.ts'
import { createDisabledChannels } from './disabled-channels.ts'
import { createInFlight } from './in-flight.ts'
import type { ChannelStatus, Delivery, Verdicts } from './port.ts'
import { createScheduler } from './scheduler.ts'
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
  /** How long a final reply may take before its attempt counts against no limit, ms; 20 s unless given. */
  readonly replyPatienceMs?: number
  /** Pauses before a message goes out again that may have been sent, ms, when not the usual ones; see retry.ts. */
  readonly repeatPausesMs?: readonly number[] | undefined
  /** Names a claim, unique for every claim ever made. A shared store names them itself. */
  readonly leaseToken: () => string
}

/** How often the messages that wait in memory are searched for those that have waited too long, ms. */
const SWEEP_MS = 5000

/** The state that the parts of the delivery share. */
interface Parts extends ReturnType<typeof wireParts> {}

/** Wires queue, limiter, breaker, claims and settling of every channel, in the order in which a message passes them. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const parts = wireParts(options)
  const { clock, channels, stateOf, claims, scheduler } = parts
  const wake: Delivery['wake'] = (channel, code) => {
    const state = stateOf(channel)
    if (code !== undefined) {
      scheduler.supersede(state, state.queue.removeByGroup(code.groupKey, code.arrivedAt))
      state.codesInStore += 1
    }
    state.dueAt = clock.now()
    claims.schedule(state)
  }
  return {
    ...createHandover(parts),
    isVerdictFar(channel) {
      const state = stateOf(channel)
      return state.pool.breakerState() !== 'closed' || state.freePlaces('alarm', clock.now()) < 1
    },
    wake,
    tryNow(channel) {
      for (const { breaker } of stateOf(channel).carriers) breaker.allowTrialNow(clock.now())
      wake(channel)
    },
    status: () => [...channels.values()].flatMap(state => statusOf(state, clock.now())),
    ...createLifecycle(parts),
  }
}

function wireParts(options: DeliveryOptions) {
  const { clock, emit } = options
  const channels = new Map<Channel, ChannelState>()
  for (const spec of options.channels) channels.set(spec.channel, createChannelState(spec))
  const run = { stopping: false }
  const inFlight = createInFlight(() => [...channels.values()].every(channel => channel.reserved === 0))
  const attempts = createAttempts({ limitMs: options.attemptLimitMs, clock, emit })
  const settler = createSettler({
    ...options,
    onCaughtUp: () => {
      for (const channel of channels.values()) scheduler.beginAttempts(channel)
    },
  })
  const paused = () => run.stopping || settler.isBehind()
  const claims = createClaims({
    ...options,
    paused,
    trackTask: (channel, task) => inFlight.add(task, () => scheduler.beginAttempts(channel)),
    onClaimed(channel, jobs) {
      for (const job of inOrderOfArrival(jobs)) scheduler.add(channel, job)
      // The limit may have changed while they were being claimed: there are fewer places now.
      scheduler.giveBackSurplus(channel)
      // They were claimed while the process was told to end.
      if (run.stopping) scheduler.giveBackAll(channel)
    },
  })
  const stopping = () => run.stopping
  const parts = { ...options, attempts, settler, inFlight, stopping }
  const scheduler = createScheduler({ ...parts, claim: claims.schedule })
  const withoutProvider = (['email', 'sms'] as const).filter(channel => !channels.has(channel))
  const disabled = createDisabledChannels({
    ...options,
    channels: withoutProvider,
    paused,
    trackTask: inFlight.add,
  })
  function stateOf(channel: Channel): ChannelState {
    const state = channels.get(channel)
    if (state === undefined) throw new Error(`no provider for ${channel}`)
    return state
  }
  return { ...parts, run, paused, channels, stateOf, claims, scheduler, disabled }
}

/** A message's way from a callback into memory. */
function createHandover(parts: Parts): Pick<Delivery, 'reservePlace' | 'releasePlace' | 'submit'> {
  const { clock, channels, stateOf, run, paused, claims, scheduler, inFlight } = parts
  return {
    reservePlace(channel, purpose) {
      const state = channels.get(channel)
      if (state === undefined || paused() || state.pool.breakerState() !== 'closed') return undefined
      const now = clock.now()
      // During a pause that the provider asked for, a message is better left to the store, where people can see and cancel it.
      if (state.pool.pausedUntil(now) !== null) return undefined
      if (!hasPlaceInMemory(state, purpose === 'code', now)) return undefined
      const begins = state.beginsAtOnce(now)
      const lease = { token: parts.leaseToken(), until: now + parts.leaseMs, begins }
      if (!scheduler.isHeld(lease)) return undefined
      state.reserved += 1
      return lease
    },
    releasePlace(channel) {
      const state = stateOf(channel)
      state.reserved -= 1
      claims.schedule(state)
      inFlight.checkIdle()
    },
    submit({ message, lease, groupKey, outgoing }) {
      const state = stateOf(message.channel)
      state.reserved -= 1
      scheduler.add(state, { message, lease, groupKey, outgoing, attempts: 1, ambiguous: 0 })
      if (run.stopping) scheduler.giveBackAll(state)
      else scheduler.beginAttempts(state)
      // A code may have taken the place of something else.
      scheduler.giveBackSurplus(state)
      inFlight.checkIdle()
    },
  }
}

function createLifecycle(parts: Parts): Pick<Delivery, 'start' | 'stop'> {
  const { clock, channels, run, claims, scheduler, settler, disabled, inFlight, attempts } = parts
  let sweeper: NodeJS.Timeout | undefined

  /** A message that waits for long goes back before its lease runs out unnoticed. */
  function sweep(): void {
    if (settler.isBehind()) return
    for (const channel of channels.values()) {
      scheduler.sweep(channel)
      claims.settleExpired(channel)
    }
    disabled.settleExpired()
  }

  return {
    start() {
      sweeper = setInterval(sweep, Math.min(SWEEP_MS, parts.leaseMs - parts.attemptLimitMs)).unref()
      for (const channel of channels.values()) {
        channel.dueAt = clock.now()
        claims.schedule(channel)
      }
      disabled.settleExpired()
    },
    async stop(graceMs, abortMs) {
      run.stopping = true
      clearInterval(sweeper)
      for (const channel of channels.values()) {
        clearTimeout(channel.claimTimer)
        clearTimeout(channel.riseTimer)
        scheduler.giveBackAll(channel)
      }
      await inFlight.idleWithin(graceMs)
      attempts.abort()
      await inFlight.idleWithin(abortMs)
      settler.abandon()
      // Callbacks that came meanwhile are stored: they are answered before their connections are closed.
      parts.verdicts.end()
    },
  }
}

/** Says whether memory has room for a message that is about to be accepted. */
function hasPlaceInMemory(state: ChannelState, isCode: boolean, now: number): boolean {
  if (isCode) return state.freePlaces('code', now) >= 1
  // Codes in the store come before it, and so may what else is due there.
  if (state.codesInStore > 0 || (state.dueAt !== null && state.dueAt <= now)) return false
  return state.freePlaces('alarm', now) > state.reservedForCodes(now)
}

/** Reports the state of each carrier. What waits, and what is not counted any more, belongs to the channel: it is reported with the first carrier. */
function statusOf(state: ChannelState, now: number): ChannelStatus[] {
  const { channel, carriers, queue, awaitingReply, reports } = state
  return carriers.map(({ provider, limiter, breaker }, at) => {
    const { limit, reason, why } = limiter.status(now)
    const late = at === 0 ? awaitingReply : 0
    return {
      channel,
      provider: provider.name,
      inFlight: limiter.inFlight + late,
      awaitingReply: late,
      waiting: at === 0 ? queue.length : 0,
      limit,
      limitReason: reason,
      limitWhy: why,
      breaker: breaker.state(),
      breakerUntil: breaker.openUntil(),
      isSecond: reports?.isSecond(provider.name) ?? false,
    }
  })
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
