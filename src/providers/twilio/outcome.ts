import { outcomeOfVerdict } from '../code-verdict.ts'
import { type FailedExchange, outcomeWithoutAnswer, readRetryAfter } from '../http-exchange.ts'
import type { Outcome } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import { PERHAPS_RECIPIENT, verdictOnTwilioError } from './codes.ts'

/**
 * The outcome of a failed request, by status, code and words of its error alone.
 *
 * @param recipient is taken out of the words.
 * @param now ms since the epoch: what a Retry-After date counts from.
 * @param secrets must not show up in the reply, wherever Twilio has them from.
 */
export function twilioFailure(
  failed: FailedExchange,
  recipient: string,
  now: number,
  secrets: readonly string[] = [],
): Outcome {
  const { status, code, message } = fields(failed.error)
  const { answer } = failed.exchange
  if (!answer || status === undefined) return outcomeWithoutAnswer(failed, 'Twilio')
  const refusal = refused(status, code, presentableReply(message || `HTTP ${status}`, recipient, secrets))
  const retryAfterMs = readRetryAfter(answer.retryAfter, now)
  if (refusal.is !== 'retry') return refusal
  return { ...refusal, retryAfterMs, ...(status === 429 && { overload: 'requests' as const }) }
}

/** Makes the outcome of an answer with an error. */
function refused(status: number, code: string | number | undefined, reply: string): Outcome {
  const number = code === undefined || code === '' ? Number.NaN : Number(code)
  const known = Number.isInteger(number) ? number : undefined
  const verdict = verdictOnTwilioError(status, known)
  const named = known === undefined ? `http-${status}` : String(known)
  const outcome = outcomeOfVerdict(verdict, named, reply)
  return outcome.is === 'retry' && known !== undefined && PERHAPS_RECIPIENT.has(known)
    ? { ...outcome, perhapsRecipient: true }
    : outcome
}

/** Makes the outcome when Twilio made the message and took it back in the same answer: nothing was sent. */
export function failedAtOnce(
  { status, errorCode, errorMessage }: CreatedMessage,
  recipient: string,
  secrets: readonly string[],
): Outcome {
  const reply = presentableReply(`${status}: ${errorMessage || 'no reason was given'}`, recipient, secrets)
  if (errorCode) return refused(400, errorCode, reply)
  return { is: 'retry', whose: 'later', code: status, reply }
}

/** The part of an answer about the message that it made. */
export interface CreatedMessage {
  readonly status: string
  readonly errorCode: number | null
  readonly errorMessage: string | null
}

function fields(error: unknown): {
  status: number | undefined
  code: string | number | undefined
  message: string
} {
  const { status, code, message } = (error ?? {}) as Record<string, unknown>
  return {
    status: typeof status === 'number' ? status : undefined,
    code: typeof code === 'number' || typeof code === 'string' ? code : undefined,
    message: typeof message === 'string' ? message : '',
  }
}
