import type { Emit } from '../events/events.ts'
import { createLeadership, type LeadershipOptions } from '../runtime/leadership.ts'
import { createDdqClient, type DdqClientOptions, type DdqStatus } from './ddq-client.ts'
import { createNotifier, type NotifierOptions } from './notifier.ts'

/** Device alerts: subscribes to what devices do and notifies people, for as long as it is started. */
export interface Alerts {
  start(): void
  /** Ends the subscription, and stores the notifications of what came by then. */
  stop(): Promise<void>
  status(): AlertsStatus
}

export interface AlertsStatus extends DdqStatus {
  /** It is false when another replica holds the subscription. */
  readonly leads: boolean
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
  const client = createDdqClient({
    ...ddq,
    onMessage(message) {
      emit({ type: 'ddq-message', topic: message.kind })
      return notifier.take(message)
    },
    onMalformed: malformed => emit({ type: 'ddq-malformed', ...malformed }),
    onSubscribed: topics => emit({ type: 'ddq-subscribed', topics }),
    onRefused: (topic, why) => emit({ type: 'ddq-topic-refused', topic, why }),
    onEnd: ({ is, why }, waitMs) => emit({ type: 'ddq-ended', is, why, waitMs }),
  })
  const leadership = createLeadership({
    takeLease: takeLeaderLease,
    ...leaseTimings,
    now: ddq.now,
    onError: error => emit({ type: 'alert-store-failed', doing: 'lead', error }),
    onChange(isLeader) {
      emit({ type: 'ddq-leader', leads: isLeader })
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
    status: () => ({ ...client.status(), leads: leadership.isLeader() }),
  }
}
