export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string | undefined
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  /** ms since the epoch, with fractions. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, string | number>>
  readonly failed?: boolean
}

const KINDS = { internal: 1, server: 2, client: 3 } as const

/** Resource attributes, and the scope's version. */
export interface Origin {
  readonly resource: Readonly<Record<string, string>>
  readonly version: string
}

/** A request body of OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export function encodeSpans(spans: readonly Span[], { resource, version }: Origin): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'callback-courier', version }, spans: spans.map(encodeSpan) }],
      },
    ],
  })
}

function encodeSpan({ traceId, spanId, parentId, name, kind, attributes, failed, ...span }: Span): object {
  return {
    traceId,
    spanId,
    parentSpanId: parentId,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: attributesOf(attributes),
    status: failed === true ? { code: 2 } : {},
  }
}

function attributesOf(attributes: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }))
}

/** Writes a time in nanoseconds, as text, because it has more digits than a number holds. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`
}
