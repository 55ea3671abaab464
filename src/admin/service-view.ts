import type { BounceMailboxStatus } from '../bounces/mailbox.ts'
import type { Asked } from '../callback/asked.ts'
import type { ChannelStatus } from '../delivery/port.ts'
import type { AlertsStatus } from '../devices/alerts.ts'
import type { Words } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import type { AdminQueries, StoreLoss, Summary } from '../outbox/outbox.ts'
import type { DeliveryTime } from '../reports/delivery-times.ts'
import type { Build } from '../runtime/build.ts'
import type { HealthRecord } from '../runtime/health-record.ts'
import type { Certificate } from '../tls/certificate.ts'
import type { RefusedRenewal } from '../tls/watch.ts'
import type { WebhooksStatus } from '../webhooks/webhooks.ts'
import type { ServiceHealth } from './service-health.ts'

/** A code to PROBE_TO that should have arrived. */
export interface ProbeFailure {
  readonly channel: Channel
  /** When it was due, ms since the epoch. */
  readonly since: number
  readonly why: Words
}

/** How the robot of a group does; `isRefused`: its fault does not pass by itself. */
interface RobotStatus
  extends HealthRecord<{ readonly isRefused: boolean; readonly code: string; readonly reply: Words }> {
  readonly robot: string
}

/** The service as it is now. Metrics, readiness, console, status API and the first lines of the overview read it, each when it is asked. */
export interface ServiceView {
  /** Which version runs. */
  readonly build: Build
  /** The start of the process, ms since the epoch. */
  readonly startedAt: number
  now(): number
  /** Wall time, which certificates are valid by, ms since the epoch. */
  wall(): number
  isDraining(): boolean
  /** The channels that are on. */
  readonly channels: readonly Channel[]
  readonly health: ServiceHealth
  /** Questions to the store. They throw StoreUnavailable. */
  readonly queries: AdminQueries
  /** Reads what was asked for since a moment, ms since the epoch: of each channel the ten busiest kinds, countries, prefixes or domains. @throws StoreUnavailable */
  readAsked(since: number): Promise<readonly Asked[]>
  channelStatus(): readonly ChannelStatus[]
  /** How long it takes until an SMS is reported as delivered, where enough were lately. */
  deliveryTimes(): readonly DeliveryTime[]
  /** Whether callbacks were refused just now because file descriptors are short. */
  lacksDescriptors(): boolean
  /** The loss that the store found at a start within the last day; null: none. */
  storeLoss(): StoreLoss | null
  /** The certificate that is served; null: TLS ends in front of this service. */
  certificate(): Pick<Certificate, 'expiresAt' | 'flaws' | 'chain' | 'names'> | null
  /** Why the certificate's files are not what is served; null: they are. */
  renewalRefused(): RefusedRenewal | null
  /** The faults of the operator's words and templates, a line each. */
  templateProblems(): readonly Words[]
  /** It is null when there are no device alerts. */
  deviceAlerts(): AlertsStatus | null
  /** Counts the addresses that some mails are left out to now, since mails to them came back; null: BOUNCE_REFUSE=off. */
  readonly countLeftOut: ((lastHour: Summary) => number) | null
  /** The mailbox that mails come back to; null when none is read. */
  bounceMailbox(): BounceMailboxStatus | null
  /** How many entries ONLY_TO has; 0: it is not set. */
  readonly onlyTo: number
  /** The probes that have not arrived. */
  probeFailures(): readonly ProbeFailure[]
  /** The groups that are told of alarms. */
  robots(): readonly RobotStatus[]
  /** It is null when no other machine is told. */
  webhooks(): WebhooksStatus | null
}
