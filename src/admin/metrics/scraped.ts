import { LIMIT_REASONS } from '../../delivery/limiter.ts'
import type { ChannelStatus } from '../../delivery/port.ts'
import type { StoreLoss, Summary } from '../../outbox/outbox.ts'
import type { Build } from '../../runtime/build.ts'
import type { WebhooksStatus } from '../../webhooks/webhooks.ts'

/** The figures that are read when somebody scrapes. */
export interface MetricsSources {
  readonly build: Build
  /** Live messages; null when the store does not answer. */
  backlog(): Promise<Pick<Summary, 'backlog' | 'oldest' | 'bytes'> | null>
  channelStatus(): readonly ChannelStatus[]
  /** Days until the certificate expires; null without one. */
  certificateDays(): number | null
  /** Says whether a renewed certificate is refused; null without one. */
  renewalRefused(): boolean | null
  /** The loss that the store found at its start; null: none. */
  storeLoss(): StoreLoss | null
  /** Says how the telling of other machines does; null when it is off. */
  webhooks(): Pick<WebhooksStatus, 'leads' | 'waiting' | 'oldestAt'> | null
  /** The cost of a day's SMS, and its limit, null without one. Null without prices, and while the store does not answer. */
  smsCost(): Promise<{ readonly used: number; readonly limit: number | null } | null>
  /** ms since the epoch. */
  now(): number
}

/** The values of one scrape. */
interface Seen extends Omit<MetricsSources, 'backlog' | 'smsCost'> {
  readonly store: Awaited<ReturnType<MetricsSources['backlog']>>
  readonly smsCost: Awaited<ReturnType<MetricsSources['smsCost']>>
}

/** A gauge without labels whose value is null has no sample: 0 would be an expired certificate. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null]

/** A gauge that is read at each scrape. A sample that is missing leaves the one of the scrape before. */
export interface ScrapedRow {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: (seen: Seen) => readonly Sample[]
}

export const SCRAPED: readonly ScrapedRow[] = [
  {
    name: 'build_info',
    help: 'Always 1; its labels say which version runs.',
    labels: ['version', 'commit'],
    read: ({ build: { version, commit } }) => [[{ version, commit }, 1]],
  },
  {
    name: 'backlog',
    help: 'Messages that are queued or being sent.',
    labels: ['channel'],
    read: ({ store }) => Object.entries(store?.backlog ?? {}).map(([channel, count]) => [{ channel }, count]),
  },
  {
    name: 'oldest_seconds',
    help: 'Age of the oldest message that is queued or being sent.',
    labels: ['channel'],
    read: ({ store, now }) =>
      Object.entries(store?.oldest ?? {}).map(([channel, at]) => [
        { channel },
        at === null ? 0 : Math.max(0, (now() - at) / 1000),
      ]),
  },
  {
    name: 'store_bytes',
    help: 'Size of the store on disk.',
    labels: [],
    read: ({ store }) => [[{}, store?.bytes ?? null]],
  },
  {
    name: 'store_up',
    help: 'Whether the store answered this scrape.',
    labels: [],
    read: ({ store }) => [[{}, store === null ? 0 : 1]],
  },
  {
    name: 'store_lost_messages',
    help: 'Messages that the store was found to lack at a start within the last day.',
    labels: [],
    read: ({ storeLoss }) => [[{}, storeLoss()?.messages ?? 0]],
  },
  {
    name: 'sms_cost_day',
    help: 'What SMS cost within the last 24 hours, those under way included, by the prices of SMS_COSTS.',
    labels: [],
    read: ({ smsCost }) => [[{}, smsCost?.used ?? null]],
  },
  {
    name: 'sms_cost_day_limit',
    help: 'QUOTA_SMS_COST_PER_DAY.',
    labels: [],
    read: ({ smsCost }) => [[{}, smsCost?.limit ?? null]],
  },
  {
    name: 'breaker_open',
    help: 'Whether a provider is being left alone.',
    labels: ['provider'],
    read: ({ channelStatus }) =>
      channelStatus().map(({ provider, breaker }) => [{ provider }, breaker === 'closed' ? 0 : 1]),
  },
  {
    name: 'carrier_second',
    help: 'Whether a carrier is asked after the others, because its delivery reports are late or bad, or have stopped.',
    labels: ['provider'],
    read: ({ channelStatus }) =>
      channelStatus().map(({ provider, isSecond }) => [{ provider }, Number(isSecond)]),
  },
  {
    name: 'in_flight',
    help: 'Attempts that are under way.',
    labels: ['provider'],
    read: ({ channelStatus }) => channelStatus().map(({ provider, inFlight }) => [{ provider }, inFlight]),
  },
  {
    name: 'awaiting_reply',
    help: 'Attempts in flight that have waited long for their final reply, and count against no limit.',
    labels: ['provider'],
    read: ({ channelStatus }) =>
      channelStatus().map(({ provider, awaitingReply }) => [{ provider }, awaitingReply]),
  },
  {
    name: 'concurrency_limit',
    help: 'How many attempts may be under way at once now, as measured.',
    labels: ['provider'],
    read: ({ channelStatus }) => channelStatus().map(({ provider, limit }) => [{ provider }, limit]),
  },
  {
    name: 'concurrency_limit_reason',
    help: 'Why the concurrency limit is what it is: 1 for the present reason.',
    labels: ['provider', 'reason'],
    read: ({ channelStatus }) =>
      channelStatus().flatMap(({ provider, limitReason }) =>
        LIMIT_REASONS.map(reason => [{ provider, reason }, Number(reason === limitReason)] as const),
      ),
  },
  {
    name: 'certificate_remaining_seconds',
    help: 'Until the certificate expires.',
    labels: [],
    read: ({ certificateDays }) => {
      const days = certificateDays()
      return [[{}, days === null ? null : Math.round(days * 86_400)]]
    },
  },
  {
    name: 'certificate_renewal_refused',
    help: 'Whether the certificate’s files have changed and cannot be served.',
    labels: [],
    read: ({ renewalRefused }) => {
      const refused = renewalRefused()
      return [[{}, refused === null ? null : Number(refused)]]
    },
  },
]

/** Figures of webhooks: present only when these are on, and only at the replica that tells. */
export const WEBHOOKS_SCRAPED: readonly ScrapedRow[] = [
  {
    name: 'events_waiting',
    help: 'Events that wait for EVENTS_URL to take them.',
    labels: [],
    read: ({ webhooks }) => [[{}, leading(webhooks())?.waiting ?? null]],
  },
  {
    name: 'events_oldest_seconds',
    help: 'How long ago the oldest of them happened.',
    labels: [],
    read({ webhooks, now }) {
      const telling = leading(webhooks())
      const { oldestAt = null } = telling ?? {}
      const seconds = oldestAt === null ? 0 : Math.max(0, (now() - oldestAt) / 1000)
      return [[{}, telling === null ? null : seconds]]
    },
  },
]

function leading<S extends { readonly leads: boolean }>(status: S | null): S | null {
  return status?.leads === true ? status : null
}
