import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { ChannelStatus } from '../delivery/port.ts'
import type { Summary } from '../outbox/outbox.ts'
import type { Observer } from './event-log.ts'

/** The values of the label `is` in `twins_total`, and in the log line that goes with it. */
export const DUPLICATE_LABELS = { 'in-progress': 'joined', finished: 'repeated' } as const

/** What is asked for when somebody scrapes. */
export interface MetricsSources {
  /** Live messages; null when the store does not answer. */
  backlog(): Promise<Pick<Summary, 'backlog' | 'oldest' | 'bytes'> | null>
  lanes(): readonly ChannelStatus[]
  /** Days until the certificate expires; null without one. */
  certificateDays(): number | null
  /** Whether a renewed certificate is refused; null without one. */
  renewalRefused(): boolean | null
  /** ms since the epoch. */
  now(): number
}

export interface Metrics {
  readonly observer: Observer
  /** A commit of the store: how long it took, ms, and how many calls shared it. */
  committed(event: { readonly ms: number; readonly calls: number }): void
  receipt(event: {
    readonly status: string
    readonly result: 'recorded' | 'stale' | 'unknown' | 'forged'
  }): void
  /** Somebody was not let in to the private listener. */
  adminRefused(reason: string): void
  /** The text of a scrape, and its content type. */
  scrape(): Promise<string>
  readonly contentType: string
  /** For metrics of parts that are loaded only when they are on. */
  readonly registry: Registry
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5, 5, 10, 30, 60, 300]
/** Reasons are what servers say, so their number is bounded here: what comes later is `other`. */
const MOST_REASONS = 60

/**
 * Metrics by Prometheus' conventions, all under `callback_courier_`. Labels hold channels, kinds, codes and states:
 * never a recipient, a code, a link or a URL. The event loop's lag and the process's memory come from prom-client's
 * default metrics (`nodejs_eventloop_lag_seconds`, `process_resident_memory_bytes`).
 */
export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const reasons = new Set<string>()
  const reasonOf = (code: string) => {
    if (reasons.has(code) || reasons.size < MOST_REASONS) {
      reasons.add(code)
      return code
    }
    return 'other'
  }
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `callback_courier_${name}`, help, labelNames, registers: [registry] })
  /** An absent value is no sample: a gauge without labels would say 0, which is an expired certificate. */
  const setOrAbsent = (own: Gauge, value: number | null | undefined) =>
    value === null || value === undefined ? own.remove() : own.set(value)
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    collect?: (this: Gauge<L>) => void | Promise<void>,
  ) =>
    new Gauge({
      name: `callback_courier_${name}`,
      help,
      labelNames,
      registers: [registry],
      ...(collect === undefined ? {} : { collect }),
    })
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets = SECONDS) =>
    new Histogram({ name: `callback_courier_${name}`, help, labelNames, buckets, registers: [registry] })

  const callbacks = counter('callbacks_total', 'Callbacks by what they were answered.', [
    'channel',
    'method',
    'kind',
    'err_code',
  ])
  const refusals = counter('gate_refusals_total', 'Callers that were not let in, by reason.', [
    'channel',
    'method',
    'reason',
  ])
  const signatures = counter('post_signatures_total', 'POSTs by whether they came signed.', [
    'channel',
    'signature',
  ])
  const strays = counter('strays_total', 'Requests for what is not here.', ['err_code'])
  const answerSeconds = histogram('answer_seconds', 'Time from a callback’s head to its answer.', [
    'channel',
    'method',
  ])
  const acceptanceSeconds = histogram(
    'acceptance_seconds',
    'Time from a message’s arrival to its provider’s acceptance.',
    ['channel'],
  )
  const attempts = counter('attempts_total', 'Attempts by outcome and reason.', [
    'channel',
    'provider',
    'outcome',
    'reason',
  ])
  const attemptSeconds = histogram('attempt_seconds', 'How long an attempt took.', ['provider', 'outcome'])
  const finals = counter('messages_total', 'Messages by their final state.', ['channel', 'kind', 'state'])
  const twins = counter('twins_total', 'Messages that were the same as one before, and not sent again.', [
    'channel',
    'is',
  ])
  const quotas = counter('over_quota_total', 'Messages that a quota held back.', ['channel', 'quota'])
  const nearing = counter('near_quota_total', 'Messages beyond half of a brake for a whole channel.', [
    'channel',
    'quota',
  ])
  const faults = counter('faults_total', 'Unexpected faults: bugs.', ['where'])
  const storeFailures = counter('store_failures_total', 'Times the store could not take something.', [
    'doing',
  ])
  const commitSeconds = histogram(
    'store_commit_seconds',
    'How long the store took to commit.',
    [],
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  )
  const commitCalls = histogram(
    'store_commit_calls',
    'How many calls shared a commit.',
    [],
    [1, 2, 5, 10, 20, 50, 100, 200, 500],
  )
  const receipts = counter('receipts_total', 'Delivery reports by status, and what became of them.', [
    'status',
    'result',
  ])
  const adminRefusals = counter(
    'admin_refusals_total',
    'Requests to the private listener that were not let in.',
    ['reason'],
  )
  const providerUp = gauge('provider_up', 'Whether the provider’s last attempt got an answer from it.', [
    'provider',
  ])

  // One look at the store for all three gauges of a scrape.
  let look: Promise<Pick<Summary, 'backlog' | 'oldest' | 'bytes'> | null> = Promise.resolve(null)
  gauge('backlog', 'Messages that are queued or being sent.', ['channel'], async function () {
    look = sources.backlog()
    const seen = await look
    if (seen !== null)
      for (const [channel, count] of Object.entries(seen.backlog)) this.set({ channel }, count)
  })
  gauge(
    'oldest_seconds',
    'Age of the oldest message that is queued or being sent.',
    ['channel'],
    async function () {
      const seen = await look
      if (seen === null) return
      for (const [channel, at] of Object.entries(seen.oldest)) {
        this.set({ channel }, at === null ? 0 : Math.max(0, (sources.now() - at) / 1000))
      }
    },
  )
  gauge('store_bytes', 'Size of the store on disk.', [], async function () {
    const seen = await look
    setOrAbsent(this, seen?.bytes)
  })
  gauge('store_up', 'Whether the store answered this scrape.', [], async function () {
    this.set((await look) === null ? 0 : 1)
  })
  gauge('breaker_open', 'Whether a provider is being left alone.', ['provider'], function () {
    for (const lane of sources.lanes())
      this.set({ provider: lane.provider }, lane.breaker === 'closed' ? 0 : 1)
  })
  gauge('in_flight', 'Attempts that are under way.', ['provider'], function () {
    for (const lane of sources.lanes()) this.set({ provider: lane.provider }, lane.inFlight)
  })
  gauge('certificate_remaining_seconds', 'Until the certificate expires.', [], function () {
    const days = sources.certificateDays()
    setOrAbsent(this, days === null ? null : Math.round(days * 86_400))
  })
  gauge(
    'certificate_renewal_refused',
    'Whether the certificate’s files have changed and cannot be served.',
    [],
    function () {
      const refused = sources.renewalRefused()
      setOrAbsent(this, refused === null ? null : Number(refused))
    },
  )

  const observer: Observer = {
    callback({ channel, method, kind, answer, admission, tookMs }) {
      callbacks.inc({ channel, method, kind, err_code: String(answer.err_code) })
      answerSeconds.observe({ channel, method }, tookMs / 1000)
      if (!admission.ok) refusals.inc({ channel, method, reason: admission.reason })
      else if (method === 'POST') signatures.inc({ channel, signature: admission.signature })
    },
    stray: ({ answer }) => strays.inc({ err_code: String(answer.err_code) }),
    fault: () => faults.inc({ where: 'callback' }),
    overQuota: ({ channel, quota }) => quotas.inc({ channel, quota }),
    nearQuota: ({ channel, quota }) => nearing.inc({ channel, quota }),
    duplicate: ({ channel, is }) => twins.inc({ channel, is: DUPLICATE_LABELS[is] }),
    superseded: ({ channel, kind }) => finals.inc({ channel, kind, state: 'superseded' }),
    unrenderable: () => faults.inc({ where: 'render' }),
    attempt({ message, provider, outcome, tookMs }) {
      const { channel } = message
      const reason = outcome.is === 'sent' ? '' : reasonOf(outcome.code)
      attempts.inc({ channel, provider, outcome: outcome.is, reason })
      attemptSeconds.observe({ provider, outcome: outcome.is }, tookMs / 1000)
      const silent =
        outcome.is === 'ambiguous' ||
        (outcome.is === 'retry' && (outcome.untouched === true || outcome.whose === 'ours'))
      providerUp.set({ provider }, silent ? 0 : 1)
    },
    final({ channel, kind, state, tookMs }) {
      finals.inc({ channel, kind, state })
      if (state === 'sent' && tookMs !== undefined) acceptanceSeconds.observe({ channel }, tookMs / 1000)
    },
    breaker: () => undefined,
    storeFailed: ({ doing }) => storeFailures.inc({ doing }),
  }

  return {
    observer,
    committed({ ms, calls }) {
      commitSeconds.observe(ms / 1000)
      commitCalls.observe(calls)
    },
    receipt: ({ status, result }) => receipts.inc({ status: result === 'forged' ? 'none' : status, result }),
    adminRefused: reason => adminRefusals.inc({ reason }),
    scrape: () => registry.metrics(),
    contentType: registry.contentType,
    registry,
  }
}
