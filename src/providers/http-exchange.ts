import type { Clock } from '../runtime/clock.ts'
import { createObjectSet } from '../runtime/collections.ts'
import type { Outcome } from './provider.ts'

/** Time limits, ms. */
export interface HttpLimits {
  /** DNS, TCP and TLS. */
  readonly connectMs: number
  /** The longest time from the request's last byte to the head of the answer. */
  readonly answerMs: number
  /** Silence within the answer's body. */
  readonly bodyMs: number
}

/** The longest that a request may take, ms. A lease must outlive it. */
export function longestExchangeMs(limits: HttpLimits): number {
  return limits.connectMs + limits.answerMs + limits.bodyMs
}

/** One request and what is known of it: filled while it runs. */
export interface Exchange {
  readonly signal: AbortSignal
  /** A byte of the request may have left. */
  written: boolean
  /** Called when the request has its connection; it is not written when this aborts `signal`. */
  readonly beforeWriting?: () => void
  /** The head of the answer, once it came. */
  answer?: { readonly status: number; readonly retryAfter: string | undefined }
}

/** A request that ended without a value. */
export interface FailedExchange {
  readonly error: unknown
  readonly exchange: Exchange
  /** We ended it ourselves, and why. */
  readonly stopped?: string
}

/** Makes the requests of one provider: each ends at its time limit, when its signal aborts, or when its message has expired. */
export function createExchanges(limits: HttpLimits, clock: Clock) {
  const running = createObjectSet<AbortController>()
  return {
    /**
     * @param call makes one request, which is `exchange`'s.
     * @param expiresAt the request is not written from this moment on, ms since the epoch.
     */
    async run<T>(
      call: (exchange: Exchange) => Promise<T>,
      signal: AbortSignal,
      expiresAt: number,
    ): Promise<{ readonly value: T } | FailedExchange> {
      const abort = new AbortController()
      const forget = running.add(abort)
      let stopped: string | undefined
      const stop = (reason: string): void => {
        stopped ??= reason
        abort.abort()
      }
      const onAbort = (): void => stop('aborted')
      if (signal.aborted) onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      const timer = setTimeout(stop, longestExchangeMs(limits), 'answer-limit')
      const beforeWriting = (): void => {
        if (clock.now() >= expiresAt) stop('expired')
      }
      const exchange: Exchange = { signal: abort.signal, written: false, beforeWriting }
      try {
        return { value: await call(exchange) }
      } catch (error) {
        return { error, exchange, ...(stopped !== undefined && { stopped }) }
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        forget()
      }
    },
    /** Aborts what is under way. */
    abort(): void {
      for (const abort of running) abort.abort()
    },
  }
}

/**
 * The outcome of a request without a usable answer: ambiguous once it may have been written, untouched before.
 *
 * @param provider for the words of a bug.
 */
export function outcomeWithoutAnswer(
  { error, exchange, stopped }: FailedExchange,
  provider: string,
): Outcome {
  const { answer, written } = exchange
  if (answer) return unreadableAnswer(answer.status)
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const cause = stopped ?? (typeof code === 'string' ? code : undefined)
  if (cause === undefined)
    throw new Error(`sending by ${provider} failed in an unexpected way`, { cause: error })
  // The network's words, not the provider's: they name at most the host.
  const words = STOPPED[cause] ?? (typeof message === 'string' ? message : '')
  const reply = (words || cause).slice(0, 160)
  if (written)
    return {
      is: 'ambiguous',
      code: cause,
      reply: `no answer after the request was written: ${reply}`.slice(0, 200),
    }
  return { is: 'retry', whose: 'later', code: cause, reply, untouched: true }
}

/** Makes the outcome of an answer whose head came, but nothing that can be read. */
export function unreadableAnswer(status: number): Outcome {
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

/** A longer wait, ms, is not believed: what waits would be over, and whoever asked for it may have been wrong. */
const LONGEST_WAIT_MS = 3_600_000

/** Retry-After is seconds or a date (RFC 9110 10.2.3). @returns ms, an hour at most; undefined when it is neither. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  const ms = value === undefined ? undefined : waitOf(value, now)
  return ms === undefined ? undefined : Math.min(ms, LONGEST_WAIT_MS)
}

function waitOf(value: string, now: number): number | undefined {
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000
  // Date.parse makes a date of `-5`, too.
  const date = /^\s*[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
