import type { Emit } from '../events/events.ts'
import { type ClaimedMessage, type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ChannelQueue, Job } from './channel-queue.ts'
import type { Verdicts } from './port.ts'

/** Fetches from the store what is due: retries, what a dead process left, and what had no place in memory. */
export interface Claims {
  /** Claims when memory has room and something is due; otherwise sets the timer for it. */
  schedule(lane: ChannelQueue): void
  /** Lets the store end what needs no attempt, when nothing was claimed for a while: what has outlived its life. */
  settleExpired(lane: ChannelQueue): void
}

export interface ClaimsOptions {
  readonly outbox: Pick<Outbox, 'claim'>
  readonly clock: Clock
  readonly verdicts: Verdicts
  readonly emit: Emit
  /** How long a claim holds, ms. */
  readonly leaseMs: number
  /** How often the store is asked without a reason, ms. */
  readonly pollMs: number
  /** Whether nothing may be claimed now. */
  readonly paused: () => boolean
  /** Runs a claim; afterwards the lane is scheduled again. */
  readonly work: (lane: ChannelQueue, task: Promise<void>) => void
  readonly claimed: (lane: ChannelQueue, jobs: readonly Job[]) => void
}

const CLAIM_LIMIT = 100
const STORE_RETRY_MS = 1000
/** How often the store is asked to tidy, at least, ms. */
const TIDY_MS = 5000

/** The store has something that is due then. */
export function expectDue(lane: ChannelQueue, dueAt: number): void {
  lane.dueAt = lane.dueAt === null ? dueAt : Math.min(lane.dueAt, dueAt)
}

export function createClaims(options: ClaimsOptions): Claims {
  const { outbox, clock, emit, leaseMs, pollMs, paused, work, claimed } = options

  function schedule(lane: ChannelQueue): void {
    const limit = claimable(lane, clock.now())
    if (paused() || lane.claiming || limit === 0) return
    clearTimeout(lane.timer)
    const now = clock.now()
    const until = lane.breaker.openUntil()
    const dueAt = lane.dueAt === null ? now + pollMs : Math.max(lane.dueAt, until ?? lane.dueAt)
    if (lane.dueAt !== null && dueAt <= now) {
      lane.claiming = true
      work(lane, refill(lane, limit))
      return
    }
    lane.timer = setTimeout(
      () => {
        // Due or not as far as we know: another process may have put something there, or given it back.
        lane.dueAt = clock.now()
        schedule(lane)
      },
      Math.min(Math.max(dueAt - now, 1), pollMs),
    )
  }

  async function refill(lane: ChannelQueue, limit: number): Promise<void> {
    lane.dueAt = null
    lane.claimedAt = clock.now()
    const codes = lane.codesInStore
    try {
      const { messages, settled, nextDueAt } = await outbox.claim(lane.provider.channel, limit, leaseMs)
      reportEnded(settled, options)
      const now = clock.now()
      const again = messages.length === limit ? now : nextDueAt
      if (again !== null) expectDue(lane, again)
      if (limit > 0) {
        lane.claimOnlyForIdle = messages.some(each => each.ambiguous > 0)
        // Those that came meanwhile may be among them or not.
        lane.codesInStore -= codes
        // Codes are claimed first: what comes last tells whether there may be more of them.
        const last = messages.at(-1)?.purpose ?? (codes > 0 ? 'code' : undefined)
        if (last === 'code' && again !== null && again <= now) lane.codesInStore += 1
      }
      claimed(lane, messages.map(jobOf))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'claim', error })
      lane.dueAt = clock.now() + STORE_RETRY_MS
      // Nobody can tell when it can be asked again: until then, what is in memory does not wait for what is not.
      lane.codesInStore -= codes
    } finally {
      lane.claiming = false
    }
  }

  return {
    schedule,
    settleExpired(lane) {
      if (paused() || lane.claiming || clock.now() - lane.claimedAt < TIDY_MS) return
      lane.claiming = true
      work(lane, refill(lane, 0))
    },
  }
}

/** Tells of what the store has ended by itself. */
export function reportEnded(
  ended: Awaited<ReturnType<Outbox['claim']>>['settled'],
  { verdicts, emit }: Pick<ClaimsOptions, 'verdicts' | 'emit'>,
): void {
  for (const { id, state, channel, kind } of ended) {
    verdicts.announce(id, { is: 'final', state, answer: null })
    emit({ type: 'final', id, channel, kind, state, answer: null })
  }
}

/** How many to claim now. */
function claimable(lane: ChannelQueue, now: number): number {
  const { breaker, provider } = lane
  const places = lane.capacity()
  // What is claimed is sent before anything that is no code and waits here: it takes its place.
  const room = lane.freePlaces(lane.codesInStore > 0 ? 'code' : 'alarm')
  const idle = Math.max(0, provider.concurrency - (places - room))
  switch (breaker.state(now)) {
    // While one message tries the provider nothing else is taken: it would only be given back.
    case 'half-open':
      return 0
    // It is tried by one message, not by a hundred.
    case 'open':
      return Math.min(idle, 1)
    case 'closed':
      if (lane.claimOnlyForIdle) return idle
      if (room * 2 < places) return 0
      return Math.min(room - lane.reservedForCodes(), CLAIM_LIMIT)
  }
}

function jobOf({ lease, attempts, ambiguous, groupKey, ...message }: ClaimedMessage): Job {
  const job = { message, lease, attempts, ambiguous }
  return groupKey === undefined ? job : { ...job, groupKey }
}
