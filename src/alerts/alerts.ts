import { createDdqClient, type DdqClientOptions } from '../ddq/client.ts'
import type { AlertObserver } from './alert-log.ts'
import { createLeadership, type LeadershipOptions } from './leadership.ts'
import { createNotifier, type NotifierOptions } from './notifier.ts'
import { createSubscriptionTracker, type SubscriptionStatus } from './subscription-tracker.ts'

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
  readonly notifier: Omit<NotifierOptions, 'observer'>
  /** Takes or keeps the leader lease among replicas; undefined when this process is the only one. */
  readonly takeLeaderLease: ((ttlMs: number) => Promise<boolean>) | undefined
  readonly leaseTimings?: Pick<LeadershipOptions, 'ttlMs' | 'renewEveryMs'>
  readonly observer: AlertObserver
}

/** When a replica dies, another takes over after the sum of the two at most, so within 15 s. */
const LEASE_TIMINGS = { ttlMs: 10_000, renewEveryMs: 3000 }

/** One subscription among all replicas: the leader subscribes, and notifies. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { ddq, observer, takeLeaderLease, leaseTimings = LEASE_TIMINGS } = options
  const notifier = createNotifier({ ...options.notifier, observer })
  const subscription = createSubscriptionTracker(ddq.now)
  const client = createDdqClient({
    ...ddq,
    onMessage(message) {
      observer.received(message)
      return notifier.take(message)
    },
    onMalformed: what => observer.malformed(what),
    onSubscribed(topics) {
      subscription.recordSubscription()
      observer.subscribed(topics)
    },
    onRefused(topic, why) {
      subscription.recordRefusal(topic, why)
      observer.topicRefused(topic, why)
    },
    onEnd(end, waitMs) {
      subscription.recordEnd(end)
      observer.ended(end, waitMs)
    },
  })
  const leadership = createLeadership({
    takeLease: takeLeaderLease,
    ...leaseTimings,
    now: ddq.now,
    onError: error => observer.storeFailed({ doing: 'lead', error }),
    onChange(isLeader) {
      observer.leaderChanged(isLeader)
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
