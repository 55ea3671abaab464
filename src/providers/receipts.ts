import type { IncomingHttpHeaders } from 'node:http'
import type { DeliveryReport } from '../outbox/outbox.ts'

/**
 * A provider's delivery report on a message, which it names by its own id, and by ours where we could give it one.
 * `status` is one of those that src/outbox/receipt-order.ts puts in order, such as `sent`, `delivered` and
 * `undelivered`; another counts as the earliest.
 */
export type Receipt = Pick<DeliveryReport, 'providerId' | 'id' | 'status' | 'errorCode'>

/** A request that reports. */
export interface ReceiptRequest {
  readonly headers: IncomingHttpHeaders
  /** The fields of a form or of the query, or whatever JSON it was: untrusted. */
  readonly body: unknown
  /** The query of the URL that was called, as it came, without the question mark. */
  readonly query: string
}

/** The delivery reports of one provider. They change what is known of a message, and never cause a send. */
export interface ReceiptSource {
  /** Where the provider posts them, below PUBLIC_URL. */
  readonly path: string
  /**
   * For a provider that does not sign: `{path}/{key}` with any of these takes reports, and nothing else does. Absent:
   * `path` itself does, and `parseReports` looks at the signature.
   */
  readonly keys?: readonly string[]
  /** The form of its body, whatever its Content-Type says; `query`: it has none and comes by GET. */
  readonly format: 'form' | 'json' | 'query'
  /** @returns what a request reports, often nothing, in any order; `forged` when it does not prove to be the provider's. */
  parseReports(request: ReceiptRequest): readonly Receipt[] | 'forged'
  /** The JSON that the provider wants to read when its reports were taken; absent: 204 without a body. */
  readonly taken?: Readonly<Record<string, string | number>>
}
