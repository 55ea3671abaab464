import type { Logger } from 'pino'
import { createHttpClient } from '../../providers/http-client.ts'
import { createExchanges, type HttpLimits } from '../../providers/http-exchange.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createLogThrottle } from '../../runtime/log-throttle.ts'
import { encodeSpans, type Origin, type Span } from './span.ts'

export interface ExporterOptions {
  /** The collector's whole address for traces. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly origin: Origin
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: HttpLimits
  /** How long a span waits for others, ms. */
  readonly everyMs?: number
}

/** Sends spans to a collector, in batches. It never makes anybody wait, and never throws. */
export interface SpanExporter {
  record(span: Span): void
  /** Tries once more to send what is there, for a second at most. */
  close(): Promise<void>
}

/** The specification's values for its batch processor: https://opentelemetry.io/docs/specs/otel/trace/sdk/ */
const MOST_QUEUED = 2048
const MOST_IN_BATCH = 512
const EVERY_MS = 5_000
const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }
const LONGEST_PAUSE_MS = 60_000
const LAST_TRY_MS = 1_000
/** Statuses after which the same batch may be sent again: https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createSpanExporter(options: ExporterOptions): SpanExporter {
  const { url, headers, origin, clock, log, limits = LIMITS, everyMs = EVERY_MS } = options
  const { origin: baseUrl, pathname, search } = new URL(url)
  const client = createHttpClient({ baseUrl, connections: 1, limits })
  const exchanges = createExchanges(limits, clock)
  const rarely = createLogThrottle(clock.now)
  let queue: Span[] = []
  /** Spans lost since that was last logged. */
  let lost = 0
  /** In a row. */
  let failures = 0
  let complained = false
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined

  /** @returns null when the collector took them; else why not, and whether they may be sent again. */
  async function post(spans: readonly Span[]): Promise<{ why: string; again: boolean } | null> {
    const body = encodeSpans(spans, origin)
    const request = {
      method: 'POST',
      path: `${pathname}${search}`,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    }
    const result = await exchanges.run(
      exchange => client.request(exchange, request),
      new AbortController().signal,
      Infinity,
    )
    if (!('value' in result)) {
      const { code } = (result.error ?? {}) as { readonly code?: unknown }
      return { why: result.stopped ?? (typeof code === 'string' ? code : 'unknown'), again: true }
    }
    const { statusCode: status } = result.value
    return status < 300 ? null : { why: `HTTP ${status}`, again: RETRYABLE.has(status) }
  }

  function complain(reason: string): void {
    if (complained) return
    rarely('traces', () => {
      complained = true
      log.warn(
        { event: 'traces', reason },
        'the collector takes no traces, or not all: what is too much is dropped',
      )
    })
  }

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, MOST_IN_BATCH)
      const failure = await post(batch)
      if (failure === null || !failure.again) queue = queue.slice(batch.length)
      if (failure === null) {
        failures = 0
        continue
      }
      if (!failure.again) lost += batch.length
      failures += 1
      return complain(failure.why)
    }
    if (complained) log.info({ event: 'traces', lost }, 'the collector takes traces again')
    complained = false
    lost = 0
  }

  function send(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendAll().finally(() => {
      sending = undefined
      schedule()
    })
    return sending
  }

  function schedule(): void {
    if (queue.length === 0) return
    timer ??= setTimeout(() => void send(), Math.min(everyMs * 2 ** failures, LONGEST_PAUSE_MS)).unref()
  }

  return {
    record(span) {
      if (queue.length >= MOST_QUEUED) {
        lost += 1
        return complain('too slow')
      }
      queue.push(span)
      if (queue.length >= MOST_IN_BATCH && failures === 0 && sending === undefined) void send()
      else if (sending === undefined) schedule()
    },
    async close() {
      let limit: NodeJS.Timeout | undefined
      const late = new Promise<void>(resolve => {
        limit = setTimeout(resolve, LAST_TRY_MS)
      })
      await Promise.race([send(), late])
      clearTimeout(limit)
      clearTimeout(timer)
      exchanges.abort()
      await client.close()
    },
  }
}
