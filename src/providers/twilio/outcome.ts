import type { Outcome } from '../provider.ts'
import { presentableReply } from '../reply.ts'
import { verdictOnTwilioError } from './codes.ts'
import type { Exchange } from './http-client.ts'

/** How a call of the SDK failed. */
export interface TwilioFailure {
  readonly error: unknown
  readonly exchange: Exchange
  /** We ended it ourselves, and why. */
  readonly stopped?: string
}

/**
 * What a failed request came to. Only status, code and words of an error are looked at.
 *
 * @param recipient is taken out of the words.
 * @param now ms since the epoch: what a Retry-After date counts from.
 * @param secrets must not show up in the reply, wherever Twilio has them from.
 */
export function twilioFailure(
  { error, exchange, stopped }: TwilioFailure,
  recipient: string,
  now: number,
  secrets: readonly string[] = [],
): Outcome {
  const { status, code, message } = fields(error)
  const { answer, written } = exchange
  if (answer && status !== undefined) {
    const refusal = refused(status, code, presentableReply(message || `HTTP ${status}`, recipient, secrets))
    const retryAfterMs = readRetryAfter(answer.retryAfter, now)
    if (refusal.is !== 'retry') return refusal
    return { ...refusal, retryAfterMs, ...(status === 429 && { overload: 'requests' as const }) }
  }
  if (answer) return unreadable(answer.status)
  const cause = stopped ?? (typeof code === 'string' ? code : undefined)
  if (cause === undefined) throw new Error('sending by Twilio failed in an unexpected way', { cause: error })
  // The network's words, not Twilio's: they name at most the host.
  const reply = ((STOPPED[cause] ?? message) || cause).slice(0, 160)
  if (written)
    return {
      is: 'ambiguous',
      code: cause,
      reply: `no answer after the request was written: ${reply}`.slice(0, 200),
    }
  return { is: 'retry', whose: 'later', code: cause, reply, untouched: true }
}

/** Twilio answered, with an error. */
function refused(status: number, code: string | number | undefined, reply: string): Outcome {
  const number = code === undefined || code === '' ? Number.NaN : Number(code)
  const known = Number.isInteger(number) ? number : undefined
  const verdict = verdictOnTwilioError(status, known)
  const named = known === undefined ? `http-${status}` : String(known)
  if (verdict === 'ambiguous') return { is: 'ambiguous', code: named, reply }
  if (verdict === 'ours' || verdict === 'later') return { is: 'retry', whose: verdict, code: named, reply }
  return { is: 'rejected', why: verdict, code: named, reply }
}

/** The head of an answer came, but nothing that can be read. */
function unreadable(status: number): Outcome {
  const code = `http-${status}`
  if (status >= 300 && status < 500)
    return { is: 'retry', whose: 'later', code, reply: `HTTP ${status}, and the rest of the answer was lost` }
  return { is: 'ambiguous', code, reply: `HTTP ${status}, but the answer cannot be read` }
}

const STOPPED: Readonly<Record<string, string>> = {
  aborted: 'stopped by us',
  expired: 'its validity is over',
  'answer-limit': 'the answer took too long',
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

/** Retry-After is seconds or a date (RFC 9110 10.2.3). @returns ms; undefined when it is neither. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  // Date.parse makes a date of `-5`, too.
  const date = /^\s*[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
