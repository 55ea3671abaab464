import type { NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import type { Lease } from '../outbox/outbox.ts'
import type { Provider } from '../providers/provider.ts'
import { type AdaptiveLifo, createAdaptiveLifo } from './adaptive-lifo.ts'
import type { Breaker } from './breaker.ts'
import type { Limiter } from './limiter.ts'

/** A claimed message in memory, before or during its attempt. */
export interface Job {
  readonly message: NewMessage
  readonly lease: Lease
  /** Attempts so far, this one included. */
  readonly attempts: number
  /** How many copies of it may have been sent. */
  readonly ambiguous: number
  readonly groupKey?: string
  /** The finished bytes, while the message is fresh; a claimed one is rendered again. */
  readonly outgoing?: Outgoing
}

/** The parts that serve one channel. */
export interface ChannelSpec {
  readonly provider: Provider
  readonly render: (message: NewMessage) => Outgoing
  readonly breaker: Breaker
  readonly limiter: Limiter
}

/** All that the scheduler knows of one channel: what waits in memory, what is in flight, and what the store has. */
export interface ChannelState extends ChannelSpec {
  readonly queue: AdaptiveLifo<Job>
  /** Places kept for messages that are about to be accepted. */
  reserved: number
  /** Attempts that have waited for their final reply for so long that they count against no limit any more. */
  awaitingReply: number
  claiming: boolean
  /** When the store was asked last, ms since the epoch. */
  claimedAt: number
  /** When the store has something for us; null: nothing that we know of. ms since the epoch. */
  dueAt: number | null
  /**
   * Codes that went to the store, as far as we know, and were not claimed since: until there are none, nothing else
   * begins. At first nobody knows whether a dead process left some.
   */
  codesInStore: number
  claimTimer: NodeJS.Timeout | undefined
  /** Whether the provider asked for a pause when attempts were begun last. */
  wasPaused: boolean
  /** Runs when the limit rises by itself. */
  riseTimer: NodeJS.Timeout | undefined
  /** How many attempts may be under way now, at least one. */
  limit(now: number): number
  /** The most messages in memory: waiting, reserved and in flight. */
  capacity(now: number): number
  /** How many of them are for codes only: a code that comes is next then, without a detour by the store. */
  reservedForCodes(now: number): number
  /** Places that are free for a message: a code takes that of anything else that waits. */
  freePlaces(purpose: Purpose, now: number): number
  /** Whether a message that is accepted now begins at once. */
  beginsAtOnce(now: number): boolean
  /** Takes out the next to be sent; nothing but a code while codes wait in the store and the breaker is closed. */
  takeNext(now: number): Job | undefined
  /** Takes out what waits beyond the capacity: what would be sent last. */
  removeSurplus(now: number): readonly Job[]
  /** Learns how long an attempt took, ms. */
  recordDuration(tookMs: number): void
}

/**
 * How much work waits in memory, ms. What waits here is served in the order of its arrival, and a newer code that had
 * to go to the store waits behind it. So it is less than the wait from which on the newest goes first.
 */
const AHEAD_MS = 500
const MOST_WAITING = 256
/** The weight of the latest attempt in the mean of their durations. */
const LATEST = 0.2

export function createChannelState(spec: ChannelSpec): ChannelState {
  const { limiter, breaker } = spec
  const queue = createAdaptiveLifo<Job>()
  let paceMs: number | undefined

  const limit = (now: number): number => Math.max(1, limiter.limit(now))

  /** How many may wait. Nothing is known of a provider at first: it is taken for a quick one. */
  function waitingPlaces(now: number): number {
    const attempts = limit(now)
    const wanted =
      paceMs === undefined ? MOST_WAITING : Math.ceil((attempts * AHEAD_MS) / Math.max(paceMs, 1))
    return Math.min(Math.max(wanted, attempts), Math.max(MOST_WAITING, attempts))
  }

  const state: ChannelState = {
    ...spec,
    queue,
    reserved: 0,
    awaitingReply: 0,
    claiming: false,
    claimedAt: 0,
    dueAt: null,
    codesInStore: 1,
    claimTimer: undefined,
    wasPaused: false,
    riseTimer: undefined,
    limit,
    capacity: now => limit(now) + waitingPlaces(now),
    reservedForCodes: now => Math.ceil(state.capacity(now) / 4),
    freePlaces: (purpose, now) =>
      state.capacity(now) -
      limiter.inFlight -
      state.reserved -
      (purpose === 'code' ? queue.codes : queue.length),
    beginsAtOnce: now => queue.length === 0 && limiter.inFlight + state.reserved < limiter.limit(now),
    takeNext(now) {
      return queue.takeNext(now, state.codesInStore > 0 && breaker.state(now) === 'closed')
    },
    removeSurplus(now) {
      const surplus = queue.length - waitingPlaces(now)
      return surplus <= 0 ? [] : queue.removeLast(surplus, now)
    },
    recordDuration(tookMs) {
      paceMs = paceMs === undefined ? tookMs : paceMs + (tookMs - paceMs) * LATEST
    },
  }
  return state
}
