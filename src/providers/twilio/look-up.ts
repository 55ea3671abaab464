import type { LookUp } from '../provider.ts'
import { readWord } from '../reply.ts'

/** The fields of a message resource that a look-up reads (https://www.twilio.com/docs/messaging/api/message-resource). */
export interface ListedMessage {
  readonly sid: string
  /** Null for a message without text; what else may stand there is no text either. */
  readonly body: string | null
  readonly status: string
  readonly dateCreated: Date | null
}

/**
 * The messages that are asked for, newest first; some 160 KB. The list is filtered by recipient alone: DateSent is of no use,
 * since a message that Twilio has taken and not sent yet has none.
 */
export const LOOK_UP_PAGE = 200

/** Twilio's clock and ours may differ by so much, ms; the dates that it gives are in whole seconds. */
const CLOCK_SKEW_MS = 30_000

/**
 * Finds out from the messages to one number whether one of ours is among them. Twilio knows both ways: a message that
 * it has is in its list, and one that is not there was never taken.
 *
 * @param listed the answer to a list by recipient, at most LOOK_UP_PAGE of them.
 * @param body our text. A trial account puts its own words in front of it.
 * @param since ours was not sent before, ms since the epoch.
 */
export function findInList(listed: readonly ListedMessage[], body: string, since: number): LookUp {
  const ours = comparable(body)
  // A message without a date may be as recent as any.
  const recent = listed.filter(({ dateCreated }) => !(Number(dateCreated ?? since) < since - CLOCK_SKEW_MS))
  const found = recent.find(each => comparable(textOf(each)).endsWith(ours))
  if (found !== undefined)
    return {
      is: 'accepted',
      reply: `found in the list of messages, ${readWord(found.status) ?? 'of no known status'}`,
      providerId: readWord(found.sid),
    }
  // An account may redact what its messages say: then one of them may be ours.
  if (recent.some(each => textOf(each).trim() === '' || /redacted/i.test(textOf(each))))
    return { is: 'not-known', reply: 'the account redacts its messages, so the list does not tell' }
  if (listed.length >= LOOK_UP_PAGE) return { is: 'not-known', reply: 'too many messages to this number' }
  return { is: 'absent', reply: 'not in the list of messages: it was never taken' }
}

function textOf({ body }: ListedMessage): string {
  return typeof body === 'string' ? body : ''
}

/** Twilio may replace characters beyond GSM-7 by their plain forms ("smart encoding"), and spaces with them. */
function comparable(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[‘’‚‛′]/g, "'")
    .replace(/[“”„‟″]/g, '"')
    .replace(/[‐‑‒–—―]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
}
