import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { say, term } from '../language/sentence.ts'
import type { DeliveryReport } from '../outbox/outbox.ts'
import { type CheckResult, checksOf } from '../runtime/check-result.ts'
import { textOf } from './json-answer.ts'
import { createRedactor, NO_MESSAGE } from './redact.ts'

/**
 * A provider's delivery report on a message, which it names by its own id, and by ours where we could give it one.
 * `status` is one of those that src/outbox/receipt-order.ts puts in order, such as `sent`, `delivered` and
 * `undelivered`; another counts as the earliest.
 */
export type CarrierReport = Omit<DeliveryReport, 'channel' | 'at'>

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
  /**
   * @param onUnknownState called with the provider's word for a state that nothing here has a meaning for.
   * @returns what a request reports, often nothing, in any order; `forged` when it does not prove to be the provider's.
   */
  parseReports(
    request: ReceiptRequest,
    onUnknownState?: (state: string) => void,
  ): readonly CarrierReport[] | 'forged'
  /** Before it reports it calls the same URL by GET, and wants to read what it says in this field of the query. */
  readonly challenge?: string
  /** The text or JSON that the provider wants to read when its reports were taken; absent: 204 without a body. */
  readonly taken?: string | Readonly<Record<string, string | number>>
}

/** Mails that came back, as the operator's own mail server hands them over: the body is the beginning of one. */
export interface BounceSource extends Pick<ReceiptSource, 'path' | 'keys' | 'challenge' | 'taken'> {
  readonly format: 'mail'
  readonly parseReports: (request: { readonly body: unknown }) => Promise<readonly CarrierReport[]>
}

/** The settings that say where reports come, and which keys open the way. */
export interface ReceiptSettings {
  readonly PUBLIC_URL: string | undefined
  readonly SMS_TOKEN: string | undefined
  readonly SMS_TOKEN_PREVIOUS: string | undefined
}

/** What a carrier says why a message did not arrive, as it may be kept. */
export function repliedBy(text: unknown): string | undefined {
  return createRedactor(NO_MESSAGE).reply(textOf(text)) || undefined
}

/** The time of a report in China's zone, such as `2017-01-01 00:00:00`, ms since the epoch; undefined: it has none. */
export function timeInChina(text: unknown): number | undefined {
  return Date.parse(`${textOf(text).replace(' ', 'T')}+08:00`) || undefined
}

/** Says where a provider reports what became of a message, below PUBLIC_URL. @param name the provider's. */
export function receiptPath(name: string): string {
  return `/receipt/${name}`
}

/**
 * The keys of a carrier that does not sign its reports: `/receipt/{name}/{key}` is where it posts them, which nobody
 * guesses who does not know SMS_TOKEN. The first stands in the URL to enter in the carrier's console; the others open
 * it as well, so that the console may be changed after the Token. None while SMS is off.
 * @param name the provider's.
 */
export function receiptKeys(
  name: string,
  { SMS_TOKEN, SMS_TOKEN_PREVIOUS }: Omit<ReceiptSettings, 'PUBLIC_URL'>,
): readonly string[] {
  if (SMS_TOKEN === undefined) return []
  return [SMS_TOKEN, SMS_TOKEN_PREVIOUS]
    .filter(token => token !== undefined)
    .map(token => deriveReceiptKey(name, token))
}

/** The secret part of the URL where a carrier reports that does not sign its reports: made as a callback's key is (src/callback/authenticate.ts). */
export function deriveReceiptKey(carrier: string, token: string): string {
  return createHmac('sha256', token)
    .update(`callback-courier/receipt/${carrier}`, 'utf8')
    .digest('hex')
    .slice(0, 32)
}

/** Our id of a message, when a report names it; undefined: it is none of ours. */
export function readOurId(value: string): string | undefined {
  return /^[0-9a-f]{32}$/.test(value) ? value : undefined
}

/** A vendor's code of a report as it may be stored: printable, without the blanks that some are published with. */
export function reportCodeOf(value: unknown): string | null {
  return (
    textOf(value)
      .replace(/[^\x21-\x7e]/g, '')
      .slice(0, 64) || null
  )
}

/** Says whether a carrier that does not sign can report what becomes of an SMS. @param name the carrier's for people. */
export function checkUnsignedReceipts(name: string, { PUBLIC_URL }: ReceiptSettings): CheckResult {
  const carrier = term(name)
  if (PUBLIC_URL === undefined)
    return checksOf('receipts').warn(
      say('off: nobody will know whether an SMS by {carrier} reached its phone', { carrier }),
      say("set PUBLIC_URL, and enter the URL that `callback-courier urls` prints in {carrier}'s console", {
        carrier,
      }),
    )
  return checksOf('receipts').ok(
    say(
      '{carrier} reports what becomes of each SMS once its console has the URL that `callback-courier urls` prints',
      { carrier },
    ),
  )
}
