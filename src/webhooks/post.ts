import {
  createHttpApi,
  type FailedExchange,
  type HttpLimits,
  type HttpProxy,
  readRetryAfter,
} from '../providers/http-client.ts'
import type { Clock } from '../runtime/clock.ts'

export type PostResult =
  | { readonly is: 'delivered' }
  /** The receiver wants nothing any more (410). */
  | { readonly is: 'gone'; readonly reason: 'http-410' }
  /** `retryAfterMs`: the receiver asks for so long a pause. `unanswered`: no answer came, and why not. */
  | {
      readonly is: 'failed'
      readonly reason: string
      readonly retryAfterMs?: number | undefined
      readonly unanswered?: FailedExchange
    }

export type Poster = ReturnType<typeof createPoster>

/** Standard Webhooks asks a sender to wait for 15 to 30 s. */
const LIMITS: HttpLimits = { connectMs: 5000, answerMs: 15_000, bodyMs: 5000 }

/** POSTs to one URL: TLS verified, no redirects, one at a time. The status decides; what else is answered is not read. */
export function createPoster(url: string, clock: Clock, proxy: HttpProxy | undefined, limits = LIMITS) {
  const { pathname, search } = new URL(url)
  const api = createHttpApi({ baseUrl: url, connections: 1, limits, proxy, clock })
  return {
    async post(
      headers: Readonly<Record<string, string>>,
      body: string,
      signal: AbortSignal,
    ): Promise<PostResult> {
      const request = {
        method: 'POST',
        path: `${pathname}${search}`,
        headers: { 'content-type': 'application/json', 'user-agent': 'callback-courier', ...headers },
        body,
      }
      const ended = await api.request(
        request,
        ({ statusCode: status, ...head }) => ({ status, ...head }),
        signal,
      )
      if ('value' in ended) return resultOf(ended.value, clock.now())
      // The head of the answer came, and the rest was cut off or too long: it says what is to be known.
      if (ended.exchange.answer !== undefined) return resultOf(ended.exchange.answer, clock.now())
      const { code } = (ended.error ?? {}) as { readonly code?: unknown }
      const reason = ended.stopped ?? (typeof code === 'string' ? code : 'no answer')
      return { is: 'failed', reason, unanswered: ended }
    },
    close: api.close,
  }
}

function resultOf(
  { status, retryAfter }: { readonly status: number; readonly retryAfter: string | undefined },
  now: number,
): PostResult {
  if (status >= 200 && status < 300) return { is: 'delivered' }
  if (status === 410) return { is: 'gone', reason: 'http-410' }
  return { is: 'failed', reason: `http-${status}`, retryAfterMs: readRetryAfter(retryAfter, now) }
}
