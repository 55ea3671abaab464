import { msUntilChinaMidnight } from '../china-time.ts'
import { type CodeVerdict, createVerdictTable, outcomeOfRefusal } from '../code-verdict.ts'
import { unreadableAnswer } from '../http-exchange.ts'
import { type JsonAnswer, textOf } from '../json-answer.ts'
import type { LimitWindow, Outcome } from '../provider.ts'
import { presentableCode, presentableReply, readWord } from '../reply.ts'
import published from './error-codes.json' with { type: 'json' }

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const listed = createVerdictTable(published.send, published.gateway.codes)

/** The verdict on a code of a delivery report; undefined: it is not listed. */
export const receiptVerdict = createVerdictTable(published.receipt, published.send)

/**
 * The verdict on a code: that of error-codes.json for a listed one; of others, `isp.` is a fault on Aliyun's side, and
 * nobody knows how far the message got.
 *
 * @param status HTTP status: the service itself refuses with 200, the gateway before it with 4xx.
 */
export function verdictOnCode(status: number, code: string): CodeVerdict {
  if (code === 'OK') return status === 200 ? 'ok' : 'ambiguous'
  const known = listed(code)
  if (known !== undefined) return known
  if (status === 429) return 'later'
  return status >= 500 || code.startsWith('isp.') ? 'ambiguous' : 'ours'
}

/**
 * The outcome of an answer to SendSms.
 *
 * @param recipient is taken out of the words.
 * @param secrets must not show up in the reply, such as the code: the gateway repeats a request that was signed wrongly.
 * @param now ms since the epoch.
 */
export function aliyunOutcome(
  answer: JsonAnswer,
  recipient: string,
  secrets: readonly string[],
  now: number,
): Outcome {
  const { status, body } = answer
  const code = textOf(body?.['Code'])
  if (code === '' && (status === 200 || status >= 500)) return unreadableAnswer(status)
  const message = textOf(body?.['Message'])
  const verdict = verdictOnCode(status, code)
  if (verdict === 'ok') {
    return { is: 'sent', reply: 'accepted', providerId: readWord(textOf(body?.['BizId'])) }
  }
  const named = presentableCode(code, recipient, secrets) ?? `http-${status}`
  const reply = presentableReply(withoutRequest(message) || named, recipient, secrets)
  if (verdict === 'limit') return { is: 'limit', code: named, reply, ...windowOf(code, message, now) }
  return outcomeOfRefusal(verdict, named, reply, answer, now)
}

/** Cuts the request off the refusal of a signature, which ends with the request as Aliyun understood it, number and code included. */
function withoutRequest(message: string): string {
  return message.replace(/\b(?:server )?(?:string to sign|canonical ?request)\b.*$/is, '').trim()
}

/**
 * The owner of the limit, and how long it holds. A number's window stands in the message alone: 分钟级 a minute, 小时级 an hour,
 * 天级 24 hours from the send. The account's totals are the operator's own, who may raise them at any time.
 */
function windowOf(code: string, message: string, now: number): LimitWindow {
  if (code === 'isv.BUSINESS_LIMIT_CONTROL') {
    const retryAfterMs = message.includes('分钟') ? MINUTE : message.includes('小时') ? HOUR : DAY
    return { scope: 'number', retryAfterMs }
  }
  return { scope: 'account', retryAfterMs: Math.min(msUntilChinaMidnight(now), HOUR) }
}
