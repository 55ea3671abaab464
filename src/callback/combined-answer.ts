import type { Verdict } from '../delivery/port.ts'
import type { Channel } from '../messages/message.ts'
import type { Accepted } from '../outbox/outbox.ts'
import { type Answer, answerRefusal, createAnswer, OK, type RefusalReason } from './answers.ts'
import type { Recipient, Recipients } from './recipients.ts'

/** Refuses a callback that has nobody, or too many, to send to; null: somebody is left. */
export function refuseRecipients(channel: Channel, to: Recipients, maxRecipients: number): Answer | null {
  const given = to.valid.length + to.invalid
  if (given > maxRecipients)
    return answerRefusal(channel, 'recipient', `/to: more than ${maxRecipients} recipients`)
  if (to.valid.length > 0) return null
  if (given === 0) return answerRefusal(channel, 'recipient', '/to: no recipient')
  const expected =
    channel === 'email'
      ? 'an address'
      : to.why === 'country'
        ? 'a number of an allowed country'
        : 'a mobile number'
  return answerRefusal(
    channel,
    to.why,
    given === 1 ? `/to: not ${expected}` : `/to: none of ${given} is ${expected}`,
  )
}

/**
 * Builds the answer for all recipients together.
 * @param verdicts one for each that was accepted; null where nothing was stored.
 */
export function combineAnswers(
  channel: Channel,
  to: Recipients,
  accepted: readonly Accepted[],
  verdicts: readonly (Verdict | null)[],
): Answer {
  let refused = 0
  let why: RefusalReason | undefined
  let overQuota = 0
  let retryAfter = 1
  for (const [at, each] of accepted.entries()) {
    const verdict = verdicts[at]
    if (each.is === 'over-quota') {
      overQuota += 1
      retryAfter = Math.max(retryAfter, each.retryAfterSeconds)
    } else if (verdict?.is === 'final' && verdict.answer !== null) {
      refused += 1
      why ??= verdict.answer
    }
  }
  const total = accepted.length + to.invalid
  if (overQuota === accepted.length)
    return createAnswer('quota', 'too many messages; nothing was sent', { retryAfter })
  if (refused + overQuota === accepted.length) {
    return answerRefusal(
      channel,
      why ?? 'recipient',
      total > 1
        ? 'every recipient was refused'
        : accepted[0]?.is === 'refused'
          ? 'the message cannot be stored'
          : `refused by the provider${hintFor(to.valid[0])}`,
    )
  }
  const lost = refused + overQuota + to.invalid
  return lost === 0 ? OK : createAnswer('ok', `${lost} of ${total} recipients refused`)
}

/** Hints at SMTPUTF8, which the mail server may lack, when the only recipient was refused and has an address beyond ASCII. */
function hintFor(recipient: Recipient | undefined): string {
  return recipient !== undefined && /[^ -~]/.test(recipient.to)
    ? ' (an address beyond ASCII needs a mail server with SMTPUTF8)'
    : ''
}
