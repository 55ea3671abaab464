/**
 * The order in which Twilio's statuses of an outgoing message come about
 * (https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks). Callbacks arrive in any
 * order; a status counts only if it is later than the known one.
 */
const STAGES: readonly (readonly string[])[] = [
  ['accepted', 'scheduled'],
  ['queued'],
  ['sending'],
  ['sent'],
  ['delivered', 'undelivered', 'failed', 'canceled', 'partially_delivered'],
  ['read', 'complained'],
]

export const RECEIPT_STATUSES: readonly string[] = STAGES.flat()

/** -1: it is not listed. */
function stageOf(status: string): number {
  return STAGES.findIndex(each => each.includes(status))
}

/**
 * Says whether a status takes the place of the known one.
 * @param known null when there is none. A status that is not listed counts as the earliest.
 * @param isNewer the carrier says of both when they came about, and of this one a later time.
 */
export function isLaterReceipt(known: string | null, next: string, isNewer = false): boolean {
  if (known === null) return true
  const cameAfterAll = isNewer && next === 'delivered' && (known === 'undelivered' || known === 'failed')
  return cameAfterAll || stageOf(next) > stageOf(known)
}
