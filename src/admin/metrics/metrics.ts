import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { LIMIT_REASONS } from '../../delivery/limiter.ts'
import type { ChannelStatus } from '../../delivery/port.ts'
import type { EventHandlers, EventType, ServiceEvent } from '../../events/events.ts'
import type { Channel } from '../../messages/message.ts'
import type { Summary } from '../../outbox/outbox.ts'
import { FACT_KINDS, type Fact, listFacts } from '../facts.ts'
import type { ServiceView } from '../service-view.ts'
import type { Labels } from './table.ts'
import { CHANNELS, COUNTERS, extend, HISTOGRAMS } from './table.ts'

/** The service at one scrape, with the backlog that its store told, null when it does not answer, and with what is the matter. */
interface Seen extends ServiceView {
  readonly store: Summary | null
  readonly facts: readonly Fact[]
}

/** A gauge without labels whose value is null has no sample: 0 would be an expired certificate. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null]

/** A gauge that is read at each scrape. What is not read any more is over; null: nobody knows, and it stays as it was. */
interface ScrapedRow {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: (seen: Seen) => readonly Sample[] | null
}

/** A figure of the whole service. */
function figure(name: string, help: string, read: (seen: Seen) => number | null): ScrapedRow {
  return { name, help, labels: [], read: seen => [[{}, read(seen)]] }
}

/** A figure of a channel that only the store knows. */
function ofStore(
  name: string,
  help: string,
  read: (store: Summary, channel: Channel, now: number) => number,
): ScrapedRow {
  return {
    name,
    help,
    labels: ['channel'],
    read: ({ store, now }) =>
      store && CHANNELS.map(channel => [{ channel }, read(store, channel, now())] as const),
  }
}

/** @param at ms since the epoch; null: never. */
function secondsSince(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, (now - at) / 1000)
}

function ofProviders(name: string, help: string, read: (status: ChannelStatus) => number): ScrapedRow {
  return {
    name,
    help,
    labels: ['provider'],
    read: ({ channelStatus }) => channelStatus().map(status => [{ provider: status.provider }, read(status)]),
  }
}

/**
 * A gauge with a sample of each fact that it states, by its scope.
 * @param valueOf unless given how often the fact happened, or else 1. @param without the samples while there is none.
 */
function ofFacts(
  name: string,
  help: string,
  labels: readonly string[],
  without: (seen: Seen) => readonly Sample[],
  valueOf: (fact: Fact, now: number) => number = ({ count }) => count ?? 1,
): ScrapedRow {
  const labelsOf = ({ scope }: Fact) => Object.fromEntries(labels.map(label => [label, scope[label] ?? '']))
  return {
    name,
    help,
    labels,
    read: seen => [
      ...without(seen),
      ...seen.facts
        .filter(({ kind }) => FACT_KINDS[kind].gauge === name)
        .map(fact => [labelsOf(fact), valueOf(fact, seen.now())] as const),
    ],
  }
}

const eachChannel = (): readonly Sample[] => CHANNELS.map(channel => [{ channel }, 0])
/** Of a gauge without labels the library itself writes 0. */
const nothing = (): readonly Sample[] => []
const eachProvider = ({ channelStatus }: Seen): readonly Sample[] =>
  channelStatus().map(({ provider }) => [{ provider }, 0])

const SCRAPED: readonly ScrapedRow[] = [
  {
    name: 'build_info',
    help: 'Always 1; its labels say which version runs.',
    labels: ['version', 'commit'],
    read: ({ build: { version, commit } }) => [[{ version, commit }, 1]],
  },
  ofStore('backlog', 'Messages that are queued or being sent.', ({ backlog }, channel) => backlog[channel]),
  ofStore(
    'oldest_seconds',
    'Age of the oldest message that is queued or being sent.',
    ({ oldest }, channel, now) => secondsSince(oldest[channel], now),
  ),
  ofStore(
    'waiting_recipients',
    'Different recipients of the oldest messages that are queued or being sent, of 200 or somewhat more at most.',
    ({ waitingRecipients }, channel) => waitingRecipients[channel],
  ),
  figure('store_bytes', 'Size of the store on disk.', ({ store }) => store?.bytes ?? null),
  ofFacts(
    'store_up',
    'Whether the store answered this scrape.',
    [],
    () => [[{}, 1]],
    () => 0,
  ),
  ofFacts(
    'store_lost_messages',
    'Messages that the store was found to lack at a start within the last day.',
    [],
    nothing,
  ),
  ofFacts(
    'only_to',
    'Entries of ONLY_TO, which holds whatever is for anybody else; 0: it is not set.',
    [],
    nothing,
  ),
  ofFacts('probe_missing', 'Whether the daily code to PROBE_TO has not arrived.', ['channel'], eachChannel),
  ofFacts(
    'locked_out_callbacks',
    'POSTs with the right key that were refused since the last one that was accepted.',
    ['channel'],
    eachChannel,
  ),
  ofFacts(
    'provider_up',
    'Whether the provider’s last attempt got an answer from it.',
    ['provider'],
    ({ health }) => health.providers().map(({ provider }) => [{ provider }, 1]),
    () => 0,
  ),
  ofFacts('breaker_open', 'Whether a provider is being left alone.', ['provider'], eachProvider),
  ofFacts(
    'partial_fault',
    'What a provider refuses though it takes the rest, a template by the kind of its message: 1 while it lasts. What its reports say is ours to mend, by code: how many recipients met it.',
    ['channel', 'provider', 'by', 'scope', 'name'],
    nothing,
  ),
  ofFacts(
    'none_arrives',
    'How many messages have ended since one was sent, where the last ones to five different people all failed; of a carrier, or of the channel (no provider).',
    ['channel', 'provider'],
    () => CHANNELS.map(channel => [{ channel, provider: '' }, 0]),
  ),
  ofFacts(
    'carrier_second',
    'Whether a carrier is asked after the others, for a country or for all with few reports of their own (no country), because its delivery reports are late or bad, or have stopped.',
    ['provider', 'country'],
    ({ channelStatus }) => channelStatus().map(({ provider }) => [{ provider, country: '' }, 0]),
  ),
  ofFacts(
    'delivered_late',
    'Whether SMS by a provider, to a country or to all (no country), take four times as long to be delivered as usual.',
    ['provider', 'country'],
    ({ channelStatus }) =>
      channelStatus().flatMap(({ channel, provider }) =>
        channel === 'sms' ? [[{ provider, country: '' }, 0]] : [],
      ),
  ),
  ofProviders('in_flight', 'Attempts that are under way.', ({ inFlight }) => inFlight),
  ofProviders(
    'awaiting_reply',
    'Attempts in flight that have waited long for their final reply, and count against no limit.',
    ({ awaitingReply }) => awaitingReply,
  ),
  ofProviders('concurrency_limit', 'How many attempts may be under way at once now.', ({ limit }) => limit),
  {
    name: 'concurrency_limit_reason',
    help: 'Why the concurrency limit is what it is: 1 for the present reason.',
    labels: ['provider', 'reason'],
    read: ({ channelStatus }) =>
      channelStatus().flatMap(({ provider, limitReason }) =>
        LIMIT_REASONS.map(reason => [{ provider, reason }, Number(reason === limitReason)] as const),
      ),
  },
  ofFacts(
    'bounce_mailbox_failing_seconds',
    'For how long this process cannot read the mailbox that mails come back to; 0 while it can, or another one reads it.',
    [],
    nothing,
    ({ since }, now) => secondsSince(since, now),
  ),
  ofFacts(
    'certificate_renewal_refused',
    'Whether the certificate’s files have changed and cannot be served.',
    [],
    ({ certificate }) => [[{}, certificate() === null ? null : 0]],
  ),
  figure('certificate_remaining_seconds', 'Until the certificate expires.', ({ certificate, wall }) => {
    const served = certificate()
    return served === null ? null : Math.round((served.expiresAt - wall()) / 1000)
  }),
  // Only the replica that tells knows.
  figure(
    'events_waiting',
    'Events that wait for EVENTS_URL to take them.',
    ({ webhooks }) => leading(webhooks())?.waiting ?? null,
  ),
  figure('events_oldest_seconds', 'How long ago the oldest of them happened.', ({ webhooks, now }) => {
    const telling = leading(webhooks())
    return telling === null ? null : secondsSince(telling.oldestAt, now())
  }),
  figure(
    'ddq_subscribed',
    'Whether this process holds the data subscription.',
    ({ deviceAlerts }) => deviceAlerts() && Number(leading(deviceAlerts())?.subscribed ?? false),
  ),
]

function leading<S extends { readonly leads: boolean }>(status: S | null): S | null {
  return status?.leads === true ? status : null
}

/** Reasons are what servers say, so their number is bounded here: what comes later is `other`. */
const MOST_REASONS = 60

export interface Metrics {
  /** One for each metric that events feed. */
  readonly sinks: readonly EventHandlers[]
  /** Writes a scrape. @param view the service, which is read once a scrape. */
  scrape(view: ServiceView): Promise<string>
  readonly contentType: string
}

/** the library looks for delays of the event loop by a timer, which would wake an idle process a hundred times a second. */
const NEVER_MS = 2 ** 31 - 1
/** How often it looks how busy the event loop was: a tenth as often as the library would by itself. */
const UTILIZATION_MS = 1000

/** Has the metrics of the event loop's delay say how long its turns took, which needs no timer. */
function measureTurns(registry: Registry): void {
  const options: object = { samplePerIteration: true }
  const turns = monitorEventLoopDelay(options)
  turns.enable()
  const gauge = (name: string) => registry.getSingleMetric(`nodejs_eventloop_lag${name}_seconds`) as Gauge
  const lag = gauge('') as Gauge & { collect(): void }
  const collectLag = lag.collect.bind(lag)
  lag.collect = () => {
    collectLag()
    const [p50, p90, p99] = [50, 90, 99].map(percent => turns.percentile(percent))
    const { min, max, mean, stddev, count } = turns
    for (const [name, ns = 0] of Object.entries({ min, max, mean, stddev, p50, p90, p99 }))
      gauge(`_${name}`).set(count === 0 ? 0 : ns / 1e9)
    turns.reset()
  }
}

/**
 * Metrics by Prometheus' conventions, all under `callback_courier_`. Labels hold channels, kinds, codes and states:
 * never a recipient, a code, a link or a URL. The event loop's lag and the process's memory come from the library's
 * default metrics (`nodejs_eventloop_lag_seconds`, `process_resident_memory_bytes`).
 * @param reporting the providers that may report what became of messages.
 */
export function createMetrics(reporting: readonly string[]): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: NEVER_MS,
    eventLoopUtilizationTimeout: UTILIZATION_MS,
  })
  measureTurns(registry)
  const settings = ({ name, help, labels }: { name: string; help: string; labels: readonly string[] }) => ({
    name: `callback_courier_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  })
  const counters = COUNTERS.map(row => {
    const counter = new Counter(settings(row))
    const { initial = [] } = row
    const each = row.labels.includes('provider') ? extend(initial, 'provider', reporting) : initial
    for (const labels of each) counter.inc(labels, 0)
    return sinkOf(row.count, sample => {
      const [labels, amount] = Array.isArray(sample)
        ? (sample as readonly [Labels, number])
        : [sample as Labels]
      counter.inc(labels, amount)
    })
  })
  const histograms = HISTOGRAMS.map(row => {
    const histogram = new Histogram({ ...settings(row), buckets: [...row.buckets] })
    for (const labels of row.initial ?? []) histogram.zero(labels)
    return sinkOf(row.observe, ([labels, value]) => histogram.observe(labels, value))
  })
  const scraped = SCRAPED.map(row => ({ gauge: new Gauge(settings(row)), read: row.read }))

  return {
    sinks: [...counters, ...histograms],
    async scrape(view) {
      const store = await view.queries.readSummary(view.now()).catch(() => null)
      const seen = { ...view, store, facts: listFacts(view, store) }
      for (const { gauge, read } of scraped) {
        const samples = read(seen)
        if (samples === null) continue
        gauge.reset()
        for (const [labels, value] of samples) {
          if (value === null) gauge.remove(labels)
          else gauge.set(labels, value)
        }
      }
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

/** Handlers that give each event's sample, if it has one, to `take`. */
function sinkOf<Sample>(
  feed: { readonly [T in EventType]?: (event: never, bounded: (value: string) => string) => Sample | null },
  take: (sample: Sample) => void,
): EventHandlers {
  const bounded = createBound(MOST_REASONS)
  return Object.fromEntries(
    Object.entries(feed).map(([type, sampleOf]) => [
      type,
      (event: ServiceEvent) => {
        const sample = sampleOf(event as never, bounded)
        if (sample !== null) take(sample)
      },
    ]),
  )
}

/** Lets the first `most` different values through; those that come later are `other`. */
function createBound(most: number): (value: string) => string {
  const known = new Set<string>()
  return value => {
    if (!known.has(value) && known.size >= most) return 'other'
    known.add(value)
    return value
  }
}
