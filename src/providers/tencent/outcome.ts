import { msUntilChinaMidnight } from '../china-time.ts'
import { type CodeVerdict, createVerdictTable, outcomeOfRefusal } from '../code-verdict.ts'
import { unreadableAnswer } from '../http-exchange.ts'
import { type JsonAnswer, objectOf, objectsOf, textOf } from '../json-answer.ts'
import type { LimitWindow, Outcome } from '../provider.ts'
import { presentableCode, presentableReply, readWord } from '../reply.ts'
import published from './error-codes.json' with { type: 'json' }

const HOUR = 3_600_000

const listed = createVerdictTable(published.send, published.common.codes)
const codes: readonly string[] = published.send.map(({ code }) => code)

/** The verdicts on unlisted codes, by the part before the dot; all others are for the operator to mend. */
const FAMILIES: Readonly<Record<string, CodeVerdict>> = {
  LimitExceeded: 'limit',
  RequestLimitExceeded: 'later',
  FailedOperation: 'ambiguous',
  InternalError: 'ambiguous',
}

/**
 * The verdict on a code, of one number or of the whole request. Tencent spells some in several ways, and one of its own
 * examples lacks the last letter.
 */
export function verdictOnCode(code: string): CodeVerdict {
  const cutOff =
    code.includes('.') && codes.find(each => each.startsWith(code) && each.length - code.length <= 2)
  return listed(code) ?? (cutOff ? listed(cutOff) : undefined) ?? FAMILIES[code.split('.')[0] ?? ''] ?? 'ours'
}

/** The code and the words of a refusal of the whole request; null: it was processed. */
export function errorOf({ body }: JsonAnswer): { readonly code: string; readonly message: string } | null {
  const error = objectOf(body?.['Error'])
  return error === null ? null : { code: textOf(error['Code']), message: textOf(error['Message']) }
}

/**
 * The outcome of an answer to SendSms. It is HTTP 200 whenever it was processed, a wrong signature included.
 *
 * @param to the number, E.164, which is also taken out of the words.
 * @param secrets must not show up in the reply, such as the code.
 * @param now ms since the epoch.
 */
export function tencentOutcome(
  answer: JsonAnswer,
  to: string,
  secrets: readonly string[],
  now: number,
): Outcome {
  const { status, body } = answer
  // Something in front of the service failed, or answered in its place.
  if (status !== 200) {
    const verdict = status >= 500 ? 'ambiguous' : status === 429 ? 'later' : 'ours'
    return outcomeOfRefusal(verdict, `http-${status}`, `HTTP ${status}`, answer, now)
  }
  const error = errorOf(answer)
  const row = objectsOf(body?.['SendStatusSet']).find(each => each['PhoneNumber'] === to)
  const code = error?.code ?? textOf(row?.['Code'])
  if (code === '') return unreadableAnswer(status)
  const verdict = verdictOnCode(code)
  if (verdict === 'ok') {
    return { is: 'sent', reply: 'accepted', providerId: readWord(textOf(row?.['SerialNo'])) }
  }
  const named = presentableCode(code, to, secrets) ?? 'unreadable-code'
  const reply = presentableReply((error?.message ?? textOf(row?.['Message'])) || named, to, secrets)
  if (verdict === 'limit') return { is: 'limit', code: named, reply, ...windowOf(code, now) }
  return outcomeOfRefusal(verdict, named, reply, answer, now)
}

/** The owner of the limit, and how long it holds. An application's totals may be raised by the operator at any time. */
function windowOf(code: string, now: number): LimitWindow {
  const untilMidnight = msUntilChinaMidnight(now)
  const isOfNumber = /PhoneNumber|DeliveryFrequency/.test(code)
  if (!isOfNumber) return { scope: 'account', retryAfterMs: Math.min(untilMidnight, HOUR) }
  if (code.includes('ThirtySecond')) return { scope: 'number', retryAfterMs: 30_000 }
  return { scope: 'number', retryAfterMs: code.includes('Daily') ? untilMidnight : HOUR }
}
