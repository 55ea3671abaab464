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
  /** ms since the epoch. */
  now(): number
}

/** The values of one scrape. */
interface Seen extends Omit<MetricsSources, 'backlog'> {
  readonly store: Awaited<ReturnType<MetricsSources['backlog']>>
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

/** A figure of the whole service. */
function figure(name: string, help: string, read: (seen: Seen) => number | null): ScrapedRow {
  return { name, help, labels: [], read: seen => [[{}, read(seen)]] }
}

function ofProviders(name: string, help: string, read: (status: ChannelStatus) => number): ScrapedRow {
  return {
    name,
    help,
    labels: ['provider'],
    read: ({ channelStatus }) => channelStatus().map(status => [{ provider: status.provider }, read(status)]),
  }
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
  figure('store_bytes', 'Size of the store on disk.', ({ store }) => store?.bytes ?? null),
  figure('store_up', 'Whether the store answered this scrape.', ({ store }) => Number(store !== null)),
  figure(
    'store_lost_messages',
    'Messages that the store was found to lack at a start within the last day.',
    ({ storeLoss }) => storeLoss()?.messages ?? 0,
  ),
  ofProviders('breaker_open', 'Whether a provider is being left alone.', ({ breaker }) =>
    Number(breaker !== 'closed'),
  ),
  ofProviders(
    'carrier_second',
    'Whether a carrier is asked after the others, because its delivery reports are late or bad, or have stopped.',
    ({ isSecond }) => Number(isSecond),
  ),
  ofProviders('in_flight', 'Attempts that are under way.', ({ inFlight }) => inFlight),
  ofProviders(
    'awaiting_reply',
    'Attempts in flight that have waited long for their final reply, and count against no limit.',
    ({ awaitingReply }) => awaitingReply,
  ),
  ofProviders(
    'concurrency_limit',
    'How many attempts may be under way at once now, as measured.',
    ({ limit }) => limit,
  ),
  {
    name: 'concurrency_limit_reason',
    help: 'Why the concurrency limit is what it is: 1 for the present reason.',
    labels: ['provider', 'reason'],
    read: ({ channelStatus }) =>
      channelStatus().flatMap(({ provider, limitReason }) =>
        LIMIT_REASONS.map(reason => [{ provider, reason }, Number(reason === limitReason)] as const),
      ),
  },
  figure('certificate_remaining_seconds', 'Until the certificate expires.', ({ certificateDays }) => {
    const days = certificateDays()
    return days === null ? null : Math.round(days * 86_400)
  }),
  figure(
    'certificate_renewal_refused',
    'Whether the certificate’s files have changed and cannot be served.',
    ({ renewalRefused }) => {
      const refused = renewalRefused()
      return refused === null ? null : Number(refused)
    },
  ),
]

/** Figures of webhooks: present only when these are on, and only at the replica that tells. */
export const WEBHOOKS_SCRAPED: readonly ScrapedRow[] = [
  figure(
    'events_waiting',
    'Events that wait for EVENTS_URL to take them.',
    ({ webhooks }) => leading(webhooks())?.waiting ?? null,
  ),
  figure('events_oldest_seconds', 'How long ago the oldest of them happened.', ({ webhooks, now }) => {
    const telling = leading(webhooks())
    if (telling === null) return null
    return telling.oldestAt === null ? 0 : Math.max(0, (now() - telling.oldestAt) / 1000)
  }),
]

function leading<S extends { readonly leads: boolean }>(status: S | null): S | null {
  return status?.leads === true ? status : null
}
