import { setTimeout as pause } from 'node:timers/promises'
import type { Emit, EventOf } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { type EventQueue, type QueuedEvent, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLeadership } from '../runtime/leadership.ts'
import { type Batch, batchOf } from './payload.ts'
import type { Poster, PostResult } from './post.ts'
import { signPayload } from './sign.ts'

/** How the telling of other machines does, as this process knows. */
export interface WebhooksStatus {
  /** False: another replica tells them. */
  readonly leads: boolean
  /** The receiver answered 410: it is told nothing more before the next start. */
  readonly isGone: boolean
  /** About how many events wait. */
  readonly waiting: number
  /** When the oldest of them happened, ms since the epoch. */
  readonly oldestAt: number | null
  /** Why the last POST failed; null: it did not. */
  readonly failing: { readonly since: number; readonly reason: string } | null
}

/** Tells other machines, by signed webhooks, what became of messages. */
export interface Webhooks {
  /** A provider is left alone, or works again. */
  noteBreaker(event: EventOf<'breaker'>): void
  start(): void
  /** Ends: a POST that is under way is given a moment, then aborted. What was not told stays in the store. */
  stop(): Promise<void>
  status(): WebhooksStatus
}

export interface WebhooksOptions {
  readonly events: EventQueue
  readonly poster: Poster
  readonly keys: readonly Buffer[]
  /** The newest events that are kept; older ones are dropped. */
  readonly mostWaiting: number
  readonly takeLease: ((ttlMs: number) => Promise<boolean>) | undefined
  /** The providers that there are, and whether each is left alone now. */
  readonly providers: () => readonly {
    readonly provider: string
    readonly channel: Channel
    readonly breaker: string
  }[]
  readonly clock: Clock
  /** Reads the wall clock, ms since the epoch: receivers compare the time of a signature with theirs. */
  readonly wall: () => number
  readonly random: () => number
  readonly emit: Emit
}

const LEASE = { ttlMs: 15_000, renewEveryMs: 5000 }
/** Events of one POST: about 40 KB. */
const BATCH = 100
/** How often the store is asked, ms. So what happens together is told together. */
const POLL_MS = 500
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000
/** A receiver may ask for a longer pause, ms. */
const LONGEST_PAUSE_MS = 3_600_000
/** An event that could not be told for so long is dropped, ms. */
const KEEP_MS = 3 * 24 * 3_600_000
/** The time that a POST under way at the end may still take, ms. */
const GRACE_MS = 1000

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { events, clock, random, emit } = options
  const stopping = new AbortController()
  const aborting = new AbortController()
  /** Changes of providers that are not in the store yet, by the provider's name: the last of each counts. */
  const changed = new Map<string, Pick<QueuedEvent, 'type' | 'at' | 'data'>>()
  let leads = false
  let isGone = false
  let waiting = 0
  let oldestAt: number | null = null
  let failing: WebhooksStatus['failing'] = null
  let failures = 0
  /** When the receiver is asked again, by the clock. */
  let dueAt = 0
  /** A POST that failed: it is sent again as it was. */
  let failed: Batch | null = null
  let running: Promise<void> | undefined

  const leadership = createLeadership({
    takeLease: options.takeLease,
    ...LEASE,
    now: () => performance.now(),
    onChange(isLeader) {
      leads = isLeader
      failed = null
      // A process that begins tells how each provider is, since no other event says what was before.
      for (const { provider, channel, breaker } of isLeader ? options.providers() : [])
        noteProvider(provider, channel, breaker === 'closed')
    },
    onError: error => emit({ type: 'webhooks-store-failed', error }),
  })

  function noteProvider(provider: string, channel: Channel, isUp: boolean): void {
    changed.set(provider, {
      type: isUp ? 'provider.up' : 'provider.down',
      at: clock.now(),
      data: { provider, channel },
    })
  }

  async function storeChanges(): Promise<void> {
    for (const [provider, event] of changed) {
      await events.addEvent(event)
      if (changed.get(provider) === event) changed.delete(provider)
    }
  }

  /** Keeps what waits within its bounds. */
  async function dropOld(): Promise<void> {
    const before = clock.now() - KEEP_MS
    if (waiting <= options.mostWaiting && (oldestAt ?? before) >= before) return
    let count = 0
    for (let step = 1; step > 0; count += step) step = await events.dropEvents(options.mostWaiting, before)
    if (count > 0) emit({ type: 'webhooks-dropped', count })
  }

  /** The next batch to post; null: none. While the receiver fails, it only reads how many events wait, and since when. */
  async function nextBatch(): Promise<Batch | null> {
    const isDue = !isGone && clock.now() >= dueAt
    const read = await events.readEvents(isDue && failed === null ? BATCH : 1)
    waiting = read.waiting
    oldestAt = read.events[0]?.at ?? null
    await dropOld()
    if (!isDue) return null
    return failed ?? (read.events.length === 0 ? null : batchOf(read.events, clock.now()))
  }

  /** @returns whether there may be more to tell at once. */
  async function tell(batch: Batch): Promise<boolean> {
    const headers = signPayload(options.keys, batch.id, options.wall(), batch.body)
    const result: PostResult =
      batch.told === 0 ? { is: 'delivered' } : await options.poster.post(headers, batch.body, aborting.signal)
    // We ended it ourselves: it is told again after the next start.
    if (aborting.signal.aborted) return false
    if (batch.told > 0) report(batch, result)
    if (result.is !== 'delivered') return noteFailure(batch, result)
    failed = null
    failing = null
    failures = 0
    await events.removeEvents(batch.seqs)
    return batch.seqs.length === BATCH
  }

  function report({ told }: Batch, result: PostResult): void {
    const reason = result.is === 'failed' ? result.reason : result.is === 'gone' ? 'http-410' : null
    emit({ type: 'webhooks-posted', result: result.is, events: told, reason })
  }

  function noteFailure(batch: Batch, result: Exclude<PostResult, { readonly is: 'delivered' }>): false {
    failed = batch
    isGone = result.is === 'gone'
    failing = {
      since: failing?.since ?? clock.now(),
      reason: result.is === 'gone' ? 'http-410' : result.reason,
    }
    const asked = result.is === 'gone' ? 0 : Math.min(result.retryAfterMs ?? 0, LONGEST_PAUSE_MS)
    const backoff = Math.min(FIRST_RETRY_MS * 2 ** failures++, LONGEST_RETRY_MS)
    dueAt = clock.now() + Math.max(backoff * (0.5 + random() / 2), asked)
    return false
  }

  /** @returns after how long to go on, ms. */
  async function step(): Promise<number> {
    if (!leadership.isLeader()) {
      changed.clear()
      return POLL_MS
    }
    await storeChanges()
    const batch = await nextBatch()
    return batch !== null && (await tell(batch)) ? 0 : POLL_MS
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const waitMs = await step().catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error
        emit({ type: 'webhooks-store-failed', error })
        return FIRST_RETRY_MS
      })
      // Aborted at the end: there is nothing more to wait for.
      await pause(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  return {
    noteBreaker: ({ provider, channel, state }) => noteProvider(provider, channel, state === 'closed'),
    start() {
      leadership.start()
      running = run()
    },
    async stop() {
      stopping.abort()
      const late = setTimeout(() => aborting.abort(), GRACE_MS)
      await running
      clearTimeout(late)
      await leadership.stop()
      await options.poster.close()
    },
    status: () => ({ leads, isGone, waiting, oldestAt, failing }),
  }
}
