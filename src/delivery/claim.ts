import type { Emit } from '../events/events.ts'
import { type ClaimedMessage, type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ChannelState, Job } from './channel-state.ts'
import type { Verdicts } from './port.ts'

export interface ClaimsOptions {
  readonly outbox: Pick<Outbox, 'claim'>
  readonly clock: Clock
  readonly verdicts: Verdicts
  readonly emit: Emit
  /** How long a claim holds, ms. */
  readonly leaseMs: number
  /** How often the store is asked without a reason, ms. */
  readonly pollMs: number
  /** Says whether nothing may be claimed now. */
  readonly paused: () => boolean
  /** Runs a claim; afterwards the channel is scheduled again. */
  readonly trackTask: (channel: ChannelState, task: Promise<void>) => void
  readonly onClaimed: (channel: ChannelState, jobs: readonly Job[]) => void
}

const CLAIM_LIMIT = 100
const STORE_RETRY_MS = 1000
/** How often one message is claimed though memory is full, ms: it may be a code, which takes the place of another. */
const PEEK_MS = 500
/** How often the store is asked to tidy, at least, ms. */
const TIDY_MS = 5000

/** Notes that the store has something that is due then. */
export function noteDueAt(channel: ChannelState, dueAt: number): void {
  channel.dueAt = channel.dueAt === null ? dueAt : Math.min(channel.dueAt, dueAt)
}

export type Claims = ReturnType<typeof createClaims>

/** Fetches from the store what is due: retries, what a dead process left, and what had no place in memory. */
export function createClaims(options: ClaimsOptions) {
  const { outbox, clock, emit, leaseMs, pollMs, paused, trackTask, onClaimed } = options

  function schedule(channel: ChannelState): void {
    const now = clock.now()
    const places = countClaimable(channel, now)
    if (paused() || channel.claiming || (places === 0 && !mayHideCode(channel, now))) return
    clearTimeout(channel.claimTimer)
    const dueAt =
      channel.dueAt === null ? now + pollMs : Math.max(channel.dueAt, earliestClaimAt(channel, places, now))
    if (channel.dueAt !== null && dueAt <= now) {
      channel.claiming = true
      trackTask(channel, claimBatch(channel, Math.max(places, 1)))
      return
    }
    channel.claimTimer = setTimeout(
      () => {
        // Due or not as far as we know: another process may have put something there, or given it back.
        channel.dueAt = clock.now()
        schedule(channel)
      },
      Math.min(Math.max(dueAt - now, 1), pollMs),
    )
  }

  async function claimBatch(channel: ChannelState, limit: number): Promise<void> {
    channel.dueAt = null
    channel.claimedAt = clock.now()
    const codes = channel.codesInStore
    try {
      const { messages, settled, nextDueAt } = await outbox.claim(channel.channel, limit, leaseMs)
      reportEnded(settled, options)
      const now = clock.now()
      const again = messages.length === limit ? now : nextDueAt
      if (again !== null) noteDueAt(channel, again)
      if (limit > 0) {
        // Codes that came during the claim may be among those it took, or not: they stay counted.
        channel.codesInStore -= codes
        if (again !== null && again <= now && endsWithCode(messages, codes > 0)) channel.codesInStore += 1
      }
      onClaimed(channel, messages.map(toJob))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'claim', error })
      channel.dueAt = clock.now() + STORE_RETRY_MS
      // Nobody can tell when the store can be asked again: until then, messages in memory do not wait for codes in the store.
      channel.codesInStore -= codes
    } finally {
      channel.claiming = false
    }
  }

  return {
    /** Claims when memory has room and something is due; otherwise sets the timer for it. */
    schedule,
    /** Lets the store end what needs no attempt, when nothing was claimed for a while: what has outlived its life. */
    settleExpired(channel: ChannelState): void {
      if (paused() || channel.claiming || clock.now() - channel.claimedAt < TIDY_MS) return
      channel.claiming = true
      trackTask(channel, claimBatch(channel, 0))
    },
  }
}

/** Announces and reports the messages that the store has ended by itself. */
export function reportEnded(
  ended: Awaited<ReturnType<Outbox['claim']>>['settled'],
  { verdicts, emit }: Pick<ClaimsOptions, 'verdicts' | 'emit'>,
): void {
  for (const { id, state, channel, kind } of ended) {
    verdicts.announce(id, { is: 'final', state, answer: null })
    emit({ type: 'final', id, channel, kind, state, answer: null })
  }
}

/** Says whether a code that has become due in the store, such as a retry, may wait behind others that fill memory. */
function mayHideCode({ pool, queue, dueAt }: ChannelState, now: number): boolean {
  return dueAt !== null && queue.length > queue.codes && pool.breakerState(now) === 'closed'
}

/** Says whether there may be more codes in the store: codes are claimed first, so the last message tells. */
function endsWithCode(messages: readonly ClaimedMessage[], expected: boolean): boolean {
  return messages.length === 0 ? expected : messages.at(-1)?.purpose === 'code'
}

/** Says when a claim is worth while, ms since the epoch. @param places as `countClaimable` gives them */
function earliestClaimAt({ claimedAt, pool }: ChannelState, places: number, now: number): number {
  return Math.max(places === 0 ? claimedAt + PEEK_MS : 0, pool.openUntil() ?? 0, pool.pausedUntil(now) ?? 0)
}

/** Says how many to claim now. */
function countClaimable(channel: ChannelState, now: number): number {
  const { pool } = channel
  const idle = Math.max(0, channel.limit(now) - pool.inFlight - channel.reserved - channel.queue.length)
  switch (pool.breakerState(now)) {
    // While one message tries the provider nothing else is claimed: it would only be given back.
    case 'half-open':
      return 0
    // The provider is tried by one message, not by a hundred.
    case 'open':
      return Math.min(idle, 1)
    case 'closed': {
      // Codes may be among the claimed ones. Each takes the place of a waiting message that is no code, and is sent before it.
      const free = channel.freePlaces(channel.codesInStore > 0 ? 'code' : 'alarm', now)
      if (free * 2 < channel.capacity(now)) return 0
      return Math.min(free - channel.reservedForCodes(now), CLAIM_LIMIT)
    }
  }
}

function toJob({ lease, attempts, ambiguous, ambiguousAt, groupKey, ...message }: ClaimedMessage): Job {
  return { message, lease, attempts, ambiguous, ambiguousAt, groupKey }
}
