/** The trace that a span belongs to, as a caller states it. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly sampled: boolean
}

/** Reads a `traceparent` header (https://www.w3.org/TR/trace-context/). @returns null when it is none. */
export function parseTraceparent(header: string | undefined): TraceParent | null {
  const match =
    /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
      header ?? '',
    )
  if (match === null) return null
  const [, version = '', traceId = '', spanId = '', flags = '', more] = match
  // Later versions may add fields, this one has none.
  if (version === '00' && more !== undefined) return null
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
