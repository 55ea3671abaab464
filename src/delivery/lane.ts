import type { NewMessage, Outgoing } from '../messages/message.ts'
import type { Lease } from '../outbox/outbox.ts'
import type { Provider } from '../providers/provider.ts'
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
  /** A newer code of its group came while it waited here. */
  superseded: boolean
}

/** What one channel has in memory: codes before everything else, newest first. */
export interface Lane {
  readonly provider: Provider
  readonly render: (message: NewMessage) => Outgoing
  readonly breaker: Breaker
  /** The most messages in memory: waiting, reserved and in flight. */
  readonly memory: number
  inFlight: number
  reserved: number
  claiming: boolean
  /** When the store has something for us; null: nothing that we know of. ms since the epoch. */
  dueAt: number | null
  timer: NodeJS.Timeout | undefined
  room(): number
  waiting(): number
  add(job: Job): void
  next(): Job | undefined
  /** Marks an older job of the same group that still waits. */
  supersede(newer: Job): void
}

/** Enough to keep every connection busy over one commit of the store, and no more: what waits here is not ordered. */
const PLACES_PER_CONNECTION = 2
const LEAST_PLACES = 256

export function createLane(spec: {
  readonly provider: Provider
  readonly render: (message: NewMessage) => Outgoing
  readonly breaker: Breaker
}): Lane {
  const codes: Job[] = []
  const others: Job[] = []
  const groups = new Map<string, Job>()

  const lane: Lane = {
    ...spec,
    memory: Math.max(spec.provider.concurrency * PLACES_PER_CONNECTION, LEAST_PLACES),
    inFlight: 0,
    reserved: 0,
    claiming: false,
    dueAt: null,
    timer: undefined,
    waiting: () => codes.length + others.length,
    room: () => lane.memory - lane.waiting() - lane.inFlight - lane.reserved,
    add(job) {
      const list = job.message.purpose === 'code' ? codes : others
      // Newest last, taken from the end. Nearly always an append; a claim brings older ones.
      let at = list.length
      while (at > 0 && (list[at - 1]?.message.arrivedAt ?? 0) > job.message.arrivedAt) at -= 1
      list.splice(at, 0, job)
      if (job.groupKey !== undefined && !groups.has(job.groupKey)) groups.set(job.groupKey, job)
    },
    next() {
      const job = codes.pop() ?? others.pop()
      if (job?.groupKey !== undefined && groups.get(job.groupKey) === job) groups.delete(job.groupKey)
      return job
    },
    supersede(newer) {
      if (newer.groupKey === undefined) return
      const older = groups.get(newer.groupKey)
      if (older !== undefined) older.superseded = true
      groups.set(newer.groupKey, newer)
    },
  }
  return lane
}
