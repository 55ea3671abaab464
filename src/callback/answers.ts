import type { Verdict } from '../delivery/port.ts'
import type { Channel } from '../messages/message.ts'
import type { Accepted } from '../outbox/outbox.ts'
import type { Recipient, Recipients } from './recipients.ts'

/**
 * THE table of err_codes: every code this service ever answers, once. The first three digits are the HTTP status
 * (the platform's own scheme: {HTTP status}{number}). Source: the contract's callback tables, and its list of general
 * business codes for what those tables do not have; `quota` and `head` are ours, made by the same scheme.
 */
export const ERR_CODES = {
  ok: 0,
  smsContent: 4002001,
  smsRecipient: 4002002,
  smsCountry: 4002003,
  mailContent: 4002011,
  mailRecipient: 4002012,
  credential: 4031003,
  path: 4041001,
  corp: 4041010,
  method: 4051001,
  quota: 4291001,
  head: 4311001,
  fault: 5021001,
  unavailable: 5031002,
} as const

export type ErrName = keyof typeof ERR_CODES

export interface Answer {
  /** HTTP status. */
  readonly status: number
  readonly err_code: number
  readonly err_msg: string
  /** Seconds for a Retry-After header. */
  readonly retryAfter?: number
}

/** The codes that the contract lists for a POST of each channel: those that `ERROR_STATUS=200` answers with 200. */
const OWN_TABLE: Readonly<Record<Channel, ReadonlySet<number>>> = {
  email: new Set([ERR_CODES.mailContent, ERR_CODES.mailRecipient]),
  sms: new Set([
    ERR_CODES.credential,
    ERR_CODES.corp,
    ERR_CODES.smsContent,
    ERR_CODES.smsRecipient,
    ERR_CODES.smsCountry,
  ]),
}

/** HTTP statuses of the answer to a body that cannot be read. */
export type BodyStatus = 400 | 413 | 415

/**
 * Builds an answer.
 * @param message English, never a secret, a code, a link or a full recipient.
 */
export function createAnswer(
  name: ErrName,
  message: string,
  extra: { readonly status?: BodyStatus; readonly retryAfter?: number } = {},
): Answer {
  const err_code = ERR_CODES[name]
  const status = extra.status ?? (err_code === 0 ? 200 : Math.trunc(err_code / 10_000))
  return { status, err_code, err_msg: message, retryAfter: extra.retryAfter }
}

/** Encodes the body of an answer, as it is sent. */
export function encodeAnswer({ err_code, err_msg }: Answer): string {
  return `{"err_code":${err_code},"err_msg":${err_msg === '' ? '""' : JSON.stringify(err_msg)}}`
}

/** HTTP 200, `{"err_code":0,"err_msg":""}`. */
export const OK: Answer = createAnswer('ok', '')

/** Seconds that a platform is asked to stay away when its message cannot be stored now. */
const RETRY_AFTER = 5

/** Builds the answer to a callback that the service cannot take now. */
export function answerUnavailable(why: string): Answer {
  return createAnswer('unavailable', why, { retryAfter: RETRY_AFTER })
}

/** Builds the answer with the channel's content code: to a malformed or wrong body, or a text that cannot be rendered. */
export function answerInvalidContent(channel: Channel, why: string, status: BodyStatus = 400): Answer {
  return createAnswer(channel === 'email' ? 'mailContent' : 'smsContent', why, { status })
}

/** The reasons why a message cannot be sent; `limit`: its recipient may have no more for now. */
type RefusalReason = 'recipient' | 'content' | 'country' | 'limit'

/** Seconds after which a recipient who may have no more may be tried again. Carriers count by the hour and the day. */
const LIMIT_RETRY_AFTER = 3600

/** Builds the answer to a message that cannot be sent; e-mail has no code for a country. */
export function answerRefusal(channel: Channel, why: RefusalReason, message: string): Answer {
  if (why === 'limit') return createAnswer('quota', message, { retryAfter: LIMIT_RETRY_AFTER })
  if (why === 'content') return answerInvalidContent(channel, message)
  if (channel === 'email') return createAnswer('mailRecipient', message)
  return createAnswer(why === 'country' ? 'smsCountry' : 'smsRecipient', message)
}

/**
 * Decides the HTTP status of the answer to a POST.
 * @param errorStatus `code`: the err_code's first three digits; `200`: 200 for the codes of the channel's own table,
 *   for a platform that reads the body only of a 200.
 */
export function statusOfAnswer(channel: Channel, given: Answer, errorStatus: 'code' | '200'): number {
  return errorStatus === '200' && OWN_TABLE[channel].has(given.err_code) ? 200 : given.status
}

/** Refuses a callback that has nobody, or too many, to send to; null: somebody is left. */
export function refuseRecipients(channel: Channel, to: Recipients, maxRecipients: number): Answer | null {
  const given = to.valid.length + to.invalid
  if (given > maxRecipients)
    return answerRefusal(channel, 'recipient', `/to: more than ${maxRecipients} recipients`)
  if (to.valid.length > 0) return null
  if (given === 0) return answerRefusal(channel, 'recipient', '/to: no recipient')
  if (to.why === 'area')
    return answerRefusal(
      channel,
      'country',
      '/area_code: missing, no calling code, or not that of the number',
    )
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
      total > 1 ? 'every recipient was refused' : whyRefused(accepted[0], to.valid[0]),
    )
  }
  const lost = refused + overQuota + to.invalid
  return lost === 0 ? OK : createAnswer('ok', `${lost} of ${total} recipients refused`)
}

/** Says why the only recipient of a callback was refused. */
function whyRefused(accepted: Accepted | undefined, recipient: Recipient | undefined): string {
  if (accepted?.is === 'refused') return 'the message cannot be stored'
  if (accepted?.is === 'bounced') return 'mail to this address came back: it is refused for a while'
  // The mail server may lack SMTPUTF8.
  return recipient !== undefined && /[^ -~]/.test(recipient.to)
    ? 'refused by the provider (an address beyond ASCII needs a mail server with SMTPUTF8)'
    : 'refused by the provider'
}
