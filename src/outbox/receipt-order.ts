/**
 * The order in which Twilio's statuses of an outgoing message come about
 * (https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks). Callbacks arrive in any
 * order; a status counts only if it is later than the known one.
 */
const STAGES: Readonly<Record<string, number>> = {
  accepted: 1,
  scheduled: 1,
  queued: 2,
  sending: 3,
  sent: 4,
  delivered: 5,
  undelivered: 5,
  failed: 5,
  canceled: 5,
  partially_delivered: 5,
  read: 6,
  complained: 6,
}

export const RECEIPT_STATUSES: readonly string[] = Object.keys(STAGES)

/**
 * Says whether a status takes the place of the known one.
 * @param known null when there is none. A status that is not listed counts as the earliest.
 * @param isNewer the carrier says of both when they came about, and of this one a later time.
 */
export function isLaterReceipt(known: string | null, next: string, isNewer = false): boolean {
  if (known === null) return true
  const cameAfterAll = isNewer && next === 'delivered' && (known === 'undelivered' || known === 'failed')
  return cameAfterAll || (STAGES[next] ?? 0) > (STAGES[known] ?? 0)
}
