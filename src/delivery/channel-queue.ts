import type { NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import type { Lease } from '../outbox/outbox.ts'
import type { Provider } from '../providers/provider.ts'
import { createStringMap } from '../runtime/collections.ts'
import type { Breaker } from './breaker.ts'

/** A claimed message in memory, before or during its attempt. */
export interface Job {
  readonly message: NewMessage
  readonly lease: Lease
  /** Attempts so far, this one included. */
  readonly attempts: number
  readonly ambiguous: number
  readonly groupKey?: string
  /** The finished bytes, while the message is fresh; a claimed one is rendered again. */
  readonly outgoing?: Outgoing
}

/** What a lane stands on. */
export interface ChannelSpec {
  readonly provider: Provider
  readonly render: (message: NewMessage) => Outgoing
  readonly breaker: Breaker
}

/** What one channel has in memory: codes before everything else, newest first. */
export interface ChannelQueue extends ChannelSpec {
  inFlight: number
  /** Places kept for messages that are about to be accepted. */
  reserved: number
  claiming: boolean
  /** When the store was asked last, ms since the epoch. */
  claimedAt: number
  /**
   * What was claimed last may have been sent before, or nobody knows yet: then only what can begin at once is claimed,
   * so that a process that dies now has not made messages ambiguous for a second time that it never began.
   */
  claimOnlyForIdle: boolean
  /** When the store has something for us; null: nothing that we know of. ms since the epoch. */
  dueAt: number | null
  /**
   * Codes that went to the store, as far as we know, and were not claimed since: until there are none, nothing else
   * begins. At first nobody knows whether a dead process left some.
   */
  codesInStore: number
  timer: NodeJS.Timeout | undefined
  /** The most messages in memory: waiting, reserved and in flight. */
  capacity(): number
  /** How many of them are for codes only: a code that comes is next then, without a detour by the store. */
  reservedForCodes(): number
  /** Places that are free for it: a code takes that of anything else that waits. */
  freePlaces(purpose: Purpose): number
  waiting(): number
  /** Takes one in. @returns the older code of its group that it supersedes here, taken out. */
  add(job: Job): Job | undefined
  /** Takes out the next to be sent; nothing but a code while codes wait in the store, and the provider is not resting. */
  takeNext(now: number): Job | undefined
  /** Takes out the code of this group that waits. */
  removeByGroup(groupKey: string): Job | undefined
  /** Takes out every waiting one that `when` is true of; asked in the reverse order of sending. */
  removeWhere(when: (job: Job) => boolean): readonly Job[]
  /** Takes out what waits beyond its places: what would be sent last. */
  removeSurplus(): readonly Job[]
  /** Learns how long an attempt took, ms. */
  recordDuration(tookMs: number): void
}

/**
 * How much work waits in memory, ms. What waits here keeps its place before a newer code that had to go to the store,
 * so it is little; and it is enough to keep every connection busy while the next ones are claimed.
 */
const AHEAD_MS = 100
const MOST_WAITING = 256
/** The weight of the latest attempt in the mean of their durations. */
const LATEST = 0.2

export function createChannelQueue(spec: ChannelSpec): ChannelQueue {
  const { concurrency } = spec.provider
  let codes: Job[] = []
  let others: Job[] = []
  const groups = createStringMap<Job>()
  let paceMs: number | undefined

  /** Nothing is known of a provider at first: it is taken for a quick one. */
  function capacity(): number {
    const wanted = paceMs === undefined ? MOST_WAITING : Math.ceil((concurrency * AHEAD_MS) / paceMs)
    return concurrency + Math.min(Math.max(wanted, concurrency), Math.max(MOST_WAITING, concurrency))
  }

  function leave(job: Job | undefined): Job | undefined {
    if (job?.groupKey !== undefined && groups.get(job.groupKey) === job) groups.delete(job.groupKey)
    return job
  }

  function removeWhere(when: (job: Job) => boolean): readonly Job[] {
    const out = [...others, ...codes].filter(when)
    if (out.length === 0) return out
    const gone = new Set(out)
    codes = codes.filter(each => !gone.has(each))
    others = others.filter(each => !gone.has(each))
    for (const job of out) leave(job)
    return out
  }

  function removeByGroup(groupKey: string): Job | undefined {
    const job = groups.get(groupKey)
    return job === undefined ? undefined : removeWhere(each => each === job)[0]
  }

  const lane: ChannelQueue = {
    ...spec,
    inFlight: 0,
    reserved: 0,
    claiming: false,
    claimedAt: 0,
    claimOnlyForIdle: true,
    dueAt: null,
    codesInStore: 1,
    timer: undefined,
    capacity,
    reservedForCodes: () => Math.ceil(capacity() / 4),
    waiting: () => codes.length + others.length,
    freePlaces: purpose =>
      capacity() - lane.inFlight - lane.reserved - (purpose === 'code' ? codes.length : lane.waiting()),
    add(job) {
      let older: Job | undefined
      if (job.groupKey !== undefined) {
        const waits = groups.get(job.groupKey)
        if (waits !== undefined && waits.message.arrivedAt > job.message.arrivedAt) return job
        older = removeByGroup(job.groupKey)
        groups.set(job.groupKey, job)
      }
      const list = job.message.purpose === 'code' ? codes : others
      // Newest last, taken from the end. Nearly always an append; a claim brings older ones.
      let at = list.length
      while (at > 0 && (list[at - 1]?.message.arrivedAt ?? 0) > job.message.arrivedAt) at -= 1
      list.splice(at, 0, job)
      return older
    },
    takeNext(now) {
      const codesOnly = lane.codesInStore > 0 && lane.breaker.state(now) === 'closed'
      return leave(codes.pop() ?? (codesOnly ? undefined : others.pop()))
    },
    removeByGroup,
    removeWhere,
    removeSurplus() {
      let over = lane.waiting() - (capacity() - concurrency)
      return over <= 0 ? [] : removeWhere(() => over-- > 0)
    },
    recordDuration(tookMs) {
      paceMs = paceMs === undefined ? tookMs : paceMs + (tookMs - paceMs) * LATEST
    },
  }
  return lane
}
