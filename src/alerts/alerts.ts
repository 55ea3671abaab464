import { createDdqClient, type DdqClientOptions } from '../ddq/client.ts'
import type { AlertObserver } from './alert-log.ts'
import { createLeadership } from './leadership.ts'
import { createNotifier, type NotifierOptions } from './notifier.ts'
import { createSubscription, type SubscriptionStatus } from './subscription.ts'

/** Watches devices and tells people, for as long as it is started. */
export interface Alerts {
  start(): void
  /** Ends the subscription, and stores what came by then. */
  stop(): Promise<void>
  status(): AlertsStatus
}

export interface AlertsStatus extends SubscriptionStatus {
  /** False: another replica watches the devices. */
  readonly leads: boolean
  /** Messages since the start, and those among them that cannot be used. */
  readonly received: number
  readonly malformed: number
}

export interface AlertsOptions {
  readonly ddq: Pick<
    DdqClientOptions,
    'endpoint' | 'timings' | 'appId' | 'credential' | 'topics' | 'random' | 'now'
  >
  readonly notifier: Omit<NotifierOptions, 'observer'>
  /** Takes or keeps the lead among replicas; undefined when this process is the only one. */
  readonly lead: ((ttlMs: number) => Promise<boolean>) | undefined
  readonly leadTimings?: { readonly ttlMs: number; readonly everyMs: number }
  readonly observer: AlertObserver
}

/** Another replica takes over at most the two together after this one was last heard of, so within 15 s. */
const LEAD = { ttlMs: 10_000, everyMs: 3000 }

/** One subscription among all replicas: whoever leads subscribes, and tells. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { ddq, observer, lead, leadTimings = LEAD } = options
  const teller = createNotifier({ ...options.notifier, observer })
  const subscription = createSubscription(ddq.now)
  const client = createDdqClient({
    ...ddq,
    onMessage(message) {
      observer.received(message)
      return teller.take(message)
    },
    onMalformed: what => observer.malformed(what),
    onSubscribed(topics) {
      subscription.subscribed()
      observer.subscribed(topics)
    },
    onRefused(topic, why) {
      subscription.refused(topic, why)
      observer.refused(topic, why)
    },
    onEnd(end, waitMs) {
      subscription.ended(end)
      observer.ended(end, waitMs)
    },
  })
  const leadership = createLeadership({
    lead,
    ...leadTimings,
    now: ddq.now,
    onTrouble: error => observer.storeFailed({ doing: 'lead', error }),
    onChange(leads) {
      observer.leads(leads)
      subscription.began()
      if (leads) client.start()
      else client.stop()
    },
  })
  return {
    start: () => leadership.start(),
    async stop() {
      await leadership.stop()
      await teller.stop()
    },
    status() {
      const { received, malformed } = client.status()
      return { ...subscription.standing(), leads: leadership.leads(), received, malformed }
    },
  }
}
