import { createLeadership, type LeadershipOptions } from '../runtime/leadership.ts'
import { createDdqClient, type DdqClientOptions, type DdqStatus } from './ddq-client.ts'
import { createNotifier, type NotifierOptions } from './notifier.ts'

export interface AlertsStatus extends DdqStatus {
  /** It is false when another replica holds the subscription. */
  readonly leads: boolean
}

export interface AlertsOptions extends NotifierOptions {
  readonly ddq: Omit<DdqClientOptions, `on${string}`>
  /** Takes or keeps the leader lease among replicas; undefined when this process is the only one. */
  readonly takeLease: LeadershipOptions['takeLease']
}

/** When a replica dies, another takes over after the sum of the two at most, so within 15 s. */
const LEASE_TIMINGS = { ttlMs: 10_000, renewEveryMs: 3000 }

/**
 * Device alerts: subscribes to what devices do and notifies people, for as long as it is started. There is one subscription
 * among all replicas: the leader subscribes, and notifies.
 */
export function createAlerts(options: AlertsOptions) {
  const { ddq, emit, takeLease } = options
  const notifier = createNotifier(options)
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
    takeLease,
    ...LEASE_TIMINGS,
    now: ddq.now,
    onError: error => emit({ type: 'store-failed', doing: 'alerts', error }),
    onChange(isLeader) {
      emit({ type: 'ddq-leader', leads: isLeader })
      if (isLeader) client.start()
      else client.stop()
    },
  })
  return {
    start: leadership.start,
    /** Ends the subscription, and stores the notifications of what came by then. */
    async stop(): Promise<void> {
      await leadership.stop()
      await notifier.stop()
    },
    status: (): AlertsStatus => ({ ...client.status(), leads: leadership.isLeader() }),
  }
}
