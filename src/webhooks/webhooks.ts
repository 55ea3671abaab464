import type { EventOf } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { type EventQueue, type NewEvent, StoreUnavailable } from '../outbox/outbox.ts'
import { type Clock, monotonic } from '../runtime/clock.ts'
import { createLeadership } from '../runtime/leadership.ts'
import { repeat } from '../runtime/retry.ts'
import { createDispatcher, type DispatcherOptions, type DispatcherStatus } from './dispatcher.ts'
import type { Poster } from './post.ts'

export interface WebhooksOptions extends Omit<DispatcherOptions, 'signal' | 'post'> {
  readonly poster: Poster
  readonly takeLease: ((ttlMs: number) => Promise<boolean>) | undefined
  /** The providers that there are, and whether each is left alone now. */
  readonly providers: () => readonly {
    readonly provider: string
    readonly channel: Channel
    readonly breaker: string
  }[]
}

const LEASE = { ttlMs: 15_000, renewEveryMs: 5000 }
/** How often the store is asked, ms. So what happens together is told together. */
const POLL_MS = 500
/** The pause after the store failed, ms. */
const STORE_RETRY_MS = 1000
/** The time that a POST under way at the end may still take, ms. */
const GRACE_MS = 1000

/** The state of the webhooks, as this process knows it. */
export interface WebhooksStatus extends DispatcherStatus {
  /** It is false when another replica tells them. */
  readonly leads: boolean
}

export interface Webhooks {
  /** A provider is left alone, or works again. */
  noteBreaker(event: EventOf<'breaker'>): void
  start(): void
  /** Ends: a POST that is under way is given a moment, then aborted. What was not told stays in the store. */
  stop(): Promise<void>
  status(): WebhooksStatus
}

/** Tells other machines, by signed webhooks, what became of messages. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { events, poster, clock, emit } = options
  const stopping = new AbortController()
  const aborting = new AbortController()
  const dispatcher = createDispatcher({ ...options, post: poster.post, signal: aborting.signal })
  const changes = createProviderChanges(clock)
  let running: Promise<void> | undefined

  const leadership = createLeadership({
    takeLease: options.takeLease,
    ...LEASE,
    now: monotonic,
    onChange(isLeader) {
      dispatcher.forgetFailed()
      // A process that begins tells how each provider is, since no other event says what was before.
      for (const { provider, channel, breaker } of isLeader ? options.providers() : [])
        changes.note(provider, channel, breaker === 'closed')
    },
    onError: error => emit({ type: 'store-failed', doing: 'webhooks', error }),
  })

  /** @returns after how long to go on, ms. */
  async function step(): Promise<number> {
    if (!leadership.isLeader()) {
      changes.clear()
      return POLL_MS
    }
    try {
      await changes.store(events)
      return (await dispatcher.dispatchNext()) ? 0 : POLL_MS
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      emit({ type: 'store-failed', doing: 'webhooks', error })
      return STORE_RETRY_MS
    }
  }

  return {
    noteBreaker: ({ provider, channel, state }) => changes.note(provider, channel, state === 'closed'),
    start() {
      leadership.start()
      running = repeat(step, stopping.signal)
    },
    async stop() {
      stopping.abort()
      const late = setTimeout(() => aborting.abort(), GRACE_MS)
      await running
      clearTimeout(late)
      await leadership.stop()
      await poster.close()
    },
    status: () => ({ leads: leadership.isLeader(), ...dispatcher.status() }),
  }
}

/** Changes of providers that are not in the store yet: the last of each counts. */
function createProviderChanges({ now }: Clock) {
  const changed = new Map<string, NewEvent>()
  return {
    note(provider: string, channel: Channel, isUp: boolean): void {
      const type = isUp ? 'provider.up' : 'provider.down'
      changed.set(provider, { type, at: now(), data: { provider, channel } })
    },
    clear: () => changed.clear(),
    async store(events: EventQueue): Promise<void> {
      for (const [provider, event] of changed) {
        await events.addEvent(event)
        if (changed.get(provider) === event) changed.delete(provider)
      }
    },
  }
}
