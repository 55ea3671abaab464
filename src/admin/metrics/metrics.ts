import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { EventHandlers, EventType, ServiceEvent } from '../../events/events.ts'
import { type MetricsSources, SCRAPED, WEBHOOKS_SCRAPED } from './scraped.ts'
import {
  ALERT_COUNTERS,
  ALERT_GAUGES,
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type Labels,
  WEBHOOK_COUNTERS,
} from './table.ts'

/** Reasons are what servers say, so their number is bounded here: what comes later is `other`. */
const MOST_REASONS = 60

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Metrics by Prometheus' conventions, all under `callback_courier_`. Labels hold channels, kinds, codes and states:
 * never a recipient, a code, a link or a URL. The event loop's lag and the process's memory come from prom-client's
 * default metrics (`nodejs_eventloop_lag_seconds`, `process_resident_memory_bytes`).
 * @param on the parts that have metrics only when they are on.
 */
export function createMetrics(
  sources: MetricsSources,
  on: { readonly deviceAlerts: boolean; readonly webhooks: boolean },
) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const settings = ({ name, help, labels }: { name: string; help: string; labels: readonly string[] }) => ({
    name: `callback_courier_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  })
  const counters = [
    ...COUNTERS,
    ...(on.deviceAlerts ? ALERT_COUNTERS : []),
    ...(on.webhooks ? WEBHOOK_COUNTERS : []),
  ].map(row => {
    const counter = new Counter(settings(row))
    for (const labels of row.initial ?? []) counter.inc(labels, 0)
    return sinkOf(row.count, sample => {
      if (isAmount(sample)) counter.inc(...sample)
      else counter.inc(sample)
    })
  })
  const gauges = [...GAUGES, ...(on.deviceAlerts ? ALERT_GAUGES : [])].map(row => {
    const gauge = new Gauge(settings(row))
    return sinkOf(row.set, ([labels, value]) => gauge.set(labels, value))
  })
  const histograms = HISTOGRAMS.map(row => {
    const histogram = new Histogram({ ...settings(row), buckets: [...row.buckets] })
    for (const labels of row.initial ?? []) histogram.zero(labels)
    return sinkOf(row.observe, ([labels, value]) => histogram.observe(labels, value))
  })
  const scraped = [...SCRAPED, ...(on.webhooks ? WEBHOOKS_SCRAPED : [])].map(row => ({
    gauge: new Gauge(settings(row)),
    read: row.read,
  }))

  return {
    /** One for each metric that events feed. */
    sinks: [...counters, ...gauges, ...histograms],
    /** The text of a scrape, and its content type. */
    async scrape(): Promise<string> {
      const seen = { ...sources, store: await sources.backlog() }
      for (const { gauge, read } of scraped) {
        for (const [labels, value] of read(seen)) {
          if (value === null) gauge.remove(labels)
          else gauge.set(labels, value)
        }
      }
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

function isAmount(sample: Labels | readonly [Labels, number]): sample is readonly [Labels, number] {
  return Array.isArray(sample)
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
