import type { Channel, NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import type { Lease } from '../outbox/outbox.ts'
import { type AdaptiveLifo, createAdaptiveLifo } from './adaptive-lifo.ts'
import type { CarrierReports } from './carrier-reports.ts'
import { type Carrier, type CarrierPool, hasPlaceAtCarrier, poolCarriers, type Route } from './route.ts'

/** A claimed message in memory, before or during its attempt. */
export interface Job {
  readonly message: NewMessage
  readonly lease: Lease
  /** Attempts so far, this one included. */
  readonly attempts: number
  /** How many copies of it may have been sent. */
  readonly ambiguous: number
  /** See ClaimedMessage. */
  readonly ambiguousAt?: string
  readonly groupKey?: string
  /** The finished bytes, while the message is fresh; a claimed one is rendered again. */
  readonly outgoing?: Outgoing
}

/** A job that waits or is under way. */
export interface RoutedJob extends Job {
  /** The carriers that an attempt may ask, in order; after an ambiguous one, that carrier is the first. */
  readonly carriers: readonly Carrier[]
}

/** The parts that serve one channel. */
export interface ChannelSpec {
  readonly channel: Channel
  /** At least one. */
  readonly carriers: readonly Carrier[]
  readonly route: Route
  /** Says who is asked second for their delivery reports; absent: nobody is. */
  readonly reports?: Pick<CarrierReports, 'orderCarriers' | 'isSecond'>
  readonly render: (message: NewMessage) => Outgoing
}

/** All that the scheduler knows of one channel: what waits in memory, what is in flight, and what the store has. */
export interface ChannelState extends ChannelSpec {
  readonly pool: CarrierPool
  readonly queue: AdaptiveLifo<RoutedJob>
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
  /** The timer for the moment at which the limit rises by itself. */
  riseTimer: NodeJS.Timeout | undefined
  /** Says how many attempts may be under way now, at least one. */
  limit(now: number): number
  /** The most messages in memory: waiting, reserved and in flight. */
  capacity(now: number): number
  /** Says how many of them are for codes only: a code that comes is next then, without a detour by the store. */
  reservedForCodes(now: number): number
  /** Places that are free for a message: a code takes that of anything else that waits. */
  freePlaces(purpose: Purpose, now: number): number
  /** Says whether a message that is accepted now begins at once. */
  beginsAtOnce(now: number): boolean
  /** Finds the carriers for a job. */
  routeJob(job: Job): RoutedJob
  /**
   * Takes out the next to be sent that has a place with its carrier; nothing but a code while codes wait in the store and
   * no circuit is open.
   */
  takeNext(now: number): RoutedJob | undefined
  /** Takes out what waits beyond the capacity: what would be sent last. */
  removeSurplus(now: number): readonly RoutedJob[]
  /** Learns how long an attempt took, ms. */
  recordDuration(tookMs: number): void
}

/**
 * Memory holds so much of the provider's work, ms. Messages in memory are served in the order of their arrival, and a newer
 * code that had to go to the store waits behind them. So this is less than the wait from which on the newest goes first.
 */
const AHEAD_MS = 500
const MOST_WAITING = 256
/** The weight of the latest attempt in the mean of their durations. */
const LATEST = 0.2

export function createChannelState(spec: ChannelSpec): ChannelState {
  const pool = poolCarriers(spec.carriers)
  const queue = createAdaptiveLifo<RoutedJob>()
  let paceMs: number | undefined

  const limit = (now: number): number => Math.max(1, pool.limit(now))

  const state: ChannelState = {
    ...spec,
    pool,
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
    capacity(now) {
      const attempts = limit(now)
      return attempts + waitingPlaces(attempts, paceMs)
    },
    reservedForCodes: now => Math.ceil(state.capacity(now) / 4),
    freePlaces: (purpose, now) =>
      state.capacity(now) -
      pool.inFlight -
      state.reserved -
      (purpose === 'code' ? queue.codes : queue.length),
    beginsAtOnce: now => queue.length === 0 && pool.inFlight + state.reserved < pool.limit(now),
    routeJob: job => routeJob(spec, job),
    takeNext(now) {
      const codesOnly = state.codesInStore > 0 && pool.breakerState(now) === 'closed'
      const mayBegin = ({ carriers }: RoutedJob) => hasPlaceAtCarrier(carriers, now)
      return queue.takeNext(now, codesOnly, spec.carriers.length === 1 ? undefined : mayBegin)
    },
    removeSurplus(now) {
      const surplus = queue.length - waitingPlaces(limit(now), paceMs)
      return surplus <= 0 ? [] : queue.removeLast(surplus, now)
    },
    recordDuration(tookMs) {
      paceMs = paceMs === undefined ? tookMs : paceMs + (tookMs - paceMs) * LATEST
    },
  }
  return state
}

/** Says how many messages may wait in memory beside so many attempts. A provider is taken for a quick one until its pace is known. */
function waitingPlaces(attempts: number, paceMs: number | undefined): number {
  const wanted = paceMs === undefined ? MOST_WAITING : Math.ceil((attempts * AHEAD_MS) / Math.max(paceMs, 1))
  return Math.min(Math.max(wanted, attempts), Math.max(MOST_WAITING, attempts))
}

function routeJob({ channel, carriers, route, reports }: ChannelSpec, job: Job): RoutedJob {
  const inOrder = route(job.message)
  const usual = reports?.orderCarriers(inOrder) ?? inOrder
  // A mail that may have arrived twice harms nobody; a second SMS is paid for, so only who may have the first is asked.
  const before =
    job.ambiguous === 0 || channel === 'email'
      ? undefined
      : carriers.find(({ provider }) => provider.name === job.ambiguousAt)
  if (before === undefined) return { ...job, carriers: usual }
  return { ...job, carriers: [before, ...usual.filter(each => each !== before)] }
}
