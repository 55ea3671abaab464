import type { ChannelStatus } from '../../delivery/port.ts'
import type { Emit } from '../../events/events.ts'
import type { CallbackKind } from '../../messages/kinds.ts'
import type { Channel } from '../../messages/message.ts'
import type { OperatorActions, StoreLoss } from '../../outbox/outbox.ts'
import type { Certificate } from '../../tls/certificate.ts'
import type { RefusedRenewal } from '../../tls/watch.ts'
import type { WebhooksStatus } from '../../webhooks/webhooks.ts'
import type { Preview } from '../../words/gallery-page.ts'
import type { ServiceHealth } from '../service-health.ts'
import type { Status } from '../status/status.ts'
import type { DeviceAlertsStatus } from './devices.ts'

/** Everything that the console's pages show and do. */
export interface ConsoleOptions {
  readonly status: Status
  readonly actions: OperatorActions
  readonly health: ServiceHealth
  readonly channelStatus: () => readonly ChannelStatus[]
  readonly channels: readonly Channel[]
  readonly kinds: readonly CallbackKind[]
  readonly kindNames: readonly string[]
  /** Kinds whose words can be looked at. */
  readonly gallery: readonly { readonly channel: Channel; readonly name: string }[]
  readonly certificate: () => Pick<Certificate, 'expiresAt' | 'flaws' | 'chain' | 'names'> | null
  /** Says why the certificate's files are not what is served. */
  readonly renewalRefused: () => RefusedRenewal | null
  /** The loss that the store found at a start within the last day; null: none. */
  readonly storeLoss: () => StoreLoss | null
  readonly templateProblems: () => readonly string[]
  /** Templates that take longer for each mail, and what for. */
  readonly renderedInFull: () => readonly {
    readonly file: string
    readonly line: number
    readonly because: string
  }[]
  readonly locales: () => readonly string[]
  readonly previewWords: (channel: Channel, kind: string, locale: string) => Preview | null
  readonly urls: { readonly email?: string; readonly sms?: string }
  /** Finds the hash of a recipient that an operator typed; null: it is neither an address nor a number. */
  readonly recipientHash: (typed: string) => string | null
  readonly testSend: (
    channel: Channel,
    body: Record<string, unknown> & { to: string },
  ) => Promise<{ readonly err_code: number; readonly err_msg: string; readonly ids: readonly string[] }>
  /** A message of the channel was made due; a carrier that is left alone is tried at once. */
  readonly tryNow: (channel: Channel) => void
  readonly emit: Emit
  readonly postSignature: string
  readonly requiredIsSafe: () => readonly Channel[]
  /** Channels whose Token or key is being replaced. */
  readonly rotating: readonly Channel[]
  /** Null when there are no device alerts. */
  readonly deviceAlerts: () => DeviceAlertsStatus | null
  /** Null when no other machine is told. */
  readonly webhooks: () => WebhooksStatus | null
  readonly draining: () => boolean
  readonly startedAt: number
  /** ms since the epoch. */
  readonly now: () => number
}
