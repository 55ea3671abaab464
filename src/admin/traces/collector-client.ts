import type { HttpLimits } from '../../providers/http-client.ts'
import { createHttpApi } from '../../providers/http-client.ts'
import type { Clock } from '../../runtime/clock.ts'
import { encodeSpans, type Origin, type Span } from './span.ts'

export interface CollectorOptions {
  /** The collector's whole address for traces. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly origin: Origin
  readonly clock: Clock
  readonly limits?: HttpLimits
}

const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }
/** Statuses after which the same batch may be sent again: https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Posts spans to a collector, by OTLP as JSON. */
export function createCollectorClient(options: CollectorOptions) {
  const { origin: baseUrl, pathname, search } = new URL(options.url)
  const { headers, origin, clock, limits = LIMITS } = options
  const api = createHttpApi({ baseUrl, connections: 1, limits, clock })
  return {
    /** @returns null when the collector took them; else why not, and whether they may be sent again. */
    async post(spans: readonly Span[]): Promise<{ readonly why: string; readonly again: boolean } | null> {
      const request = {
        method: 'POST',
        path: `${pathname}${search}`,
        headers: { ...headers, 'content-type': 'application/json' },
        body: encodeSpans(spans, origin),
      }
      const result = await api.request(request, ({ statusCode }) => statusCode)
      if (!('value' in result)) {
        const { code } = (result.error ?? {}) as { readonly code?: unknown }
        return { why: result.stopped ?? (typeof code === 'string' ? code : 'unknown'), again: true }
      }
      const status = result.value
      return status < 300 ? null : { why: `HTTP ${status}`, again: RETRYABLE.has(status) }
    },
    close: api.close,
  }
}
