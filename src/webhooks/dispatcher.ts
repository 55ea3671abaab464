import type { Emit } from '../events/events.ts'
import type { EventQueue } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { leaveAlone, newHealthRecord, recover } from '../runtime/health-record.ts'
import { type Batch, batchOf, type Poster, type PostResult, signPayload } from './post.ts'

export interface DispatcherOptions {
  readonly events: EventQueue
  readonly post: Poster['post']
  readonly keys: readonly Buffer[]
  /** The newest events that are kept; older ones are dropped. */
  readonly mostWaiting: number
  /** Aborts the POST under way; its events are told after the next start. */
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Reads the wall clock, ms since the epoch: receivers compare the time of a signature with theirs. */
  readonly wall: () => number
  readonly emit: Emit
  /** From 0 to 1: spreads out the retries of many senders. */
  readonly random: () => number
}

/** Events of one POST: about 40 KB. */
const BATCH = 100
/** An event that could not be told for so long is dropped, ms. */
const KEEP_MS = 3 * 24 * 3_600_000

/** A receiver may ask for a longer pause, ms. */
const LONGEST_PAUSE_MS = 3_600_000

export interface DispatcherStatus {
  /** About how many events wait, and when the oldest of them happened, ms since the epoch. */
  readonly waiting: number
  readonly oldestAt: number | null
  /** It answered 410, and is told nothing more before the next start. */
  readonly isGone: boolean
  /** Why the last POST failed; null: it did not. */
  readonly failing: { readonly since: number; readonly reason: string } | null
}

/** Takes events from the store's queue, oldest first, and posts them in batches. */
export function createDispatcher(options: DispatcherOptions) {
  const { events, signal, clock, emit, random } = options
  const health = newHealthRecord<{ readonly reason: string }>()
  let isGone = false
  let waiting = 0
  let oldestAt: number | null = null
  /** A batch whose POST failed: it is sent again as it was. */
  let failed: Batch | null = null

  async function dropOld(): Promise<void> {
    const before = clock.now() - KEEP_MS
    if (waiting <= options.mostWaiting && (oldestAt ?? before) >= before) return
    let count = 0
    for (let step = 1; step > 0; count += step) step = await events.dropEvents(options.mostWaiting, before)
    if (count > 0) emit({ type: 'webhooks-dropped', count })
  }

  /** The next batch to post; null: none. While the receiver fails, it only reads how many events wait, and since when. */
  async function nextBatch(): Promise<Batch | null> {
    const isDue = !isGone && clock.now() >= health.until
    const read = await events.readEvents(isDue && failed === null ? BATCH : 1)
    waiting = read.waiting
    oldestAt = read.events[0]?.at ?? null
    await dropOld()
    if (!isDue) return null
    return failed ?? (read.events.length === 0 ? null : batchOf(read.events, clock.now()))
  }

  function noteFailure(result: PostResult & { readonly is: 'failed' | 'gone' }): void {
    isGone = result.is === 'gone'
    const leastMs = result.is === 'gone' ? 0 : Math.min(result.retryAfterMs ?? 0, LONGEST_PAUSE_MS)
    // What it refuses has to be mended here: its URL or its secret.
    const isForOperator = result.reason.startsWith('http-4')
    leaveAlone(health, { reason: result.reason }, isForOperator, clock.now(), { random, leastMs })
  }

  /** @returns null when the signal aborted it. */
  async function post({ id, body, told }: Batch) {
    if (told === 0) return { is: 'delivered' } as const
    const headers = signPayload(options.keys, id, options.wall(), body)
    const result = await options.post(headers, body, signal)
    if (signal.aborted) return null
    const reason = result.is === 'delivered' ? null : result.reason
    emit({ type: 'webhooks-posted', result: result.is, events: told, reason })
    return result
  }

  return {
    /**
     * Posts the next batch, if there is one and the receiver is to be asked; drops what waits beyond the bounds.
     * @returns whether there may be more to post at once.
     * @throws StoreUnavailable
     */
    async dispatchNext(): Promise<boolean> {
      const batch = await nextBatch()
      if (batch === null) return false
      const result = await post(batch)
      if (result === null) return false
      if (result.is !== 'delivered') {
        noteFailure(result)
        failed = batch
        return false
      }
      recover(health)
      failed = null
      await events.removeEvents(batch.seqs)
      return batch.seqs.length === BATCH
    },
    /** The batch that failed is not sent again as it was: another replica may have posted parts of it. */
    forgetFailed(): void {
      failed = null
    },
    status: (): DispatcherStatus => ({ isGone, failing: health.fault, waiting, oldestAt }),
  }
}
