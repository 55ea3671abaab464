import type { Emit } from '../events/events.ts'
import { createLeadership, type LeadershipOptions } from '../runtime/leadership.ts'
import { type ConnectionEnd, createDdqClient, type DdqClientOptions } from './ddq-client.ts'
import { createNotifier, type NotifierOptions } from './notifier.ts'

/** Device alerts: subscribes to what devices do and notifies people, for as long as it is started. */
export interface Alerts {
  start(): void
  /** Ends the subscription, and stores the notifications of what came by then. */
  stop(): Promise<void>
  status(): AlertsStatus
}

export interface AlertsStatus extends SubscriptionStatus {
  /** False: another replica holds the subscription. */
  readonly leads: boolean
  /** Messages since the start, and how many of them cannot be used. */
  readonly received: number
  readonly malformed: number
}

export interface AlertsOptions {
  readonly ddq: Pick<
    DdqClientOptions,
    'endpoint' | 'timings' | 'appId' | 'credential' | 'topics' | 'random' | 'now'
  >
  readonly notifier: Omit<NotifierOptions, 'emit'>
  /** Takes or keeps the leader lease among replicas; undefined when this process is the only one. */
  readonly takeLeaderLease: ((ttlMs: number) => Promise<boolean>) | undefined
  readonly leaseTimings?: Pick<LeadershipOptions, 'ttlMs' | 'renewEveryMs'>
  readonly emit: Emit
}

/** When a replica dies, another takes over after the sum of the two at most, so within 15 s. */
const LEASE_TIMINGS = { ttlMs: 10_000, renewEveryMs: 3000 }

/** One subscription among all replicas: the leader subscribes, and notifies. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { ddq, emit, takeLeaderLease, leaseTimings = LEASE_TIMINGS } = options
  const notifier = createNotifier({ ...options.notifier, emit })
  const subscription = createSubscriptionTracker(ddq.now)
  const client = createDdqClient({
    ...ddq,
    onMessage(message) {
      emit({ type: 'ddq-message', topic: message.kind })
      return notifier.take(message)
    },
    onMalformed: malformed => emit({ type: 'ddq-malformed', ...malformed }),
    onSubscribed(topics) {
      subscription.recordSubscription()
      emit({ type: 'ddq-subscribed', topics })
    },
    onRefused(topic, why) {
      subscription.recordRefusal(topic, why)
      emit({ type: 'ddq-topic-refused', topic, why })
    },
    onEnd(end, waitMs) {
      subscription.recordEnd(end)
      emit({ type: 'ddq-ended', is: end.is, why: end.why, waitMs })
    },
  })
  const leadership = createLeadership({
    takeLease: takeLeaderLease,
    ...leaseTimings,
    now: ddq.now,
    onError: error => emit({ type: 'alert-store-failed', doing: 'lead', error }),
    onChange(isLeader) {
      emit({ type: 'ddq-leader', leads: isLeader })
      subscription.recordStart()
      if (isLeader) client.start()
      else client.stop()
    },
  })
  return {
    start: () => leadership.start(),
    async stop() {
      await leadership.stop()
      await notifier.stop()
    },
    status() {
      const { received, malformed } = client.status()
      return { ...subscription.status(), leads: leadership.isLeader(), received, malformed }
    },
  }
}

/** The state of the subscription, for people to look at. */
export interface SubscriptionStatus {
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, ms. */
  readonly forMs: number
  /** Why it last ended, or could not begin; null: that has not happened. */
  readonly lastEnd: ConnectionEnd | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly { readonly topic: string; readonly why: string }[]
}

/**
 * Follows the subscription over its connections: the time without one counts from its end on, however many tries to
 * connect fail meanwhile.
 * @param now ms since any origin, never going back.
 */
export function createSubscriptionTracker(now: () => number) {
  let subscribed = false
  let since = now()
  let lastEnd: ConnectionEnd | null = null
  let refused: readonly { readonly topic: string; readonly why: string }[] = []
  let refusedNow: { readonly topic: string; readonly why: string }[] = []

  const enter = (next: boolean) => {
    if (next !== subscribed) since = now()
    subscribed = next
    refusedNow = []
  }
  return {
    /** Connecting begins, for the first time or after another process did it. */
    recordStart(): void {
      enter(false)
      since = now()
      lastEnd = null
      refused = []
    },
    /** A topic is refused; comes before `recordSubscription`. */
    recordRefusal: (topic: string, why: string): void => void refusedNow.push({ topic, why }),
    recordSubscription(): void {
      refused = refusedNow
      enter(true)
    },
    recordEnd(end: ConnectionEnd): void {
      lastEnd = end
      enter(false)
    },
    status: (): SubscriptionStatus => ({ subscribed, forMs: now() - since, lastEnd, refused }),
  }
}
