import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import type { Clock } from '../runtime/clock.ts'
import { createObjectSet } from '../runtime/collections.ts'
import { lookUpName } from '../runtime/name-lookup.ts'
import { type Outcome, PROBE_MS } from './provider.ts'

type Undici = typeof import('undici')
const require = createRequire(import.meta.url)
/** undici's pool alone, once it is used: its index also loads a fetch, a cache and WebSockets, 6 MB and 20 ms. */
const loadPool = () => require('undici/lib/dispatcher/pool.js') as Undici['Pool']
const loadErrors = () => require('undici/lib/core/errors.js') as Undici['errors']

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

export interface HttpRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface HttpResponse {
  readonly statusCode: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** A proxy that is asked for a tunnel to the API. */
export interface HttpProxy {
  readonly url: string
  /** Hosts that are reached without it, as NO_PROXY has them. */
  readonly except?: string | undefined
}

/** How the client of an API is made. */
export interface HttpApiSettings {
  readonly clock: Clock
  readonly limits: HttpLimits
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
  readonly proxy?: HttpProxy | undefined
}

export interface HttpClientOptions extends Omit<HttpApiSettings, 'clock'> {
  readonly baseUrl: string
  /** Requests at the same time at most; one connection each. */
  readonly connections: number
}

/**
 * An idle connection is kept so long, ms, unless the API says less (Keep-Alive): a little less than by the clients of
 * the vendors' own SDKs (30 s). With undici's 4 s most would be gone by the next burst, and opening 200 with TLS holds
 * everything up.
 */
const IDLE_MS = 25_000

/** Interim answers (1xx) in front of one: each counts as a sign of life, and a stream of them would be read for ever. */
const MOST_INTERIM = 10

/** More than an answer of an API ever is: a gateway that sends a film is not read to its end. */
const MAX_BODY_BYTES = 256 * 1024

/**
 * HTTP to one provider's API: keep-alive connections, one request at a time each, TLS verified, no redirects, no
 * retries. Requests only ever go to `baseUrl`'s origin, so that the credentials do too.
 */
export function createHttpClient({ baseUrl, connections, limits, ca, proxy }: HttpClientOptions) {
  const { origin } = new URL(baseUrl)
  const settings = {
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.bodyMs,
    maxResponseSize: MAX_BODY_BYTES,
  }
  const openPool = (most: number, connectMs: number): Dispatcher => {
    const connect = { timeout: connectMs, lookup: lookUpName, ...(ca !== undefined && { ca }) }
    return proxy === undefined
      ? new (loadPool())(origin, { ...settings, connect, connections: most })
      : new (require('undici') as Undici).EnvHttpProxyAgent({
          ...settings,
          connect,
          connections: most,
          connectTimeout: connectMs,
          proxyTls: { lookup: lookUpName },
          httpsProxy: proxy.url,
          // Plain HTTP goes to this machine alone. Empty rather than absent, or the environment would be read instead.
          httpProxy: '',
          noProxy: proxy.except ?? '',
        })
  }
  const pool = openPool(connections, limits.connectMs)
  return {
    /** Makes `exchange`'s request. Its errors carry no headers. */
    request: (exchange: Exchange, { headers, ...request }: HttpRequest): Promise<HttpResponse> =>
      dispatch(pool, exchange, { ...request, origin, headers: { ...headers } }),
    /** See Provider.probe: connects, TLS and the proxy's tunnel included, and hangs up where a request would be written. */
    async probe(): Promise<'up' | 'down'> {
      // To destroy it takes until it has connected, or failed to.
      const fresh = openPool(1, PROBE_MS)
      const ended = new AbortController()
      const limit = setTimeout(() => ended.abort(), PROBE_MS)
      let isUp = false
      const beforeWriting = (): void => {
        isUp = true
        ended.abort()
      }
      const exchange = { signal: ended.signal, written: false, beforeWriting }
      await dispatch(fresh, exchange, { method: 'HEAD', path: '/', origin }).catch(() => undefined)
      clearTimeout(limit)
      await fresh.destroy()
      return isUp ? 'up' : 'down'
    },
    /** Ends all connections. */
    close: () => pool.destroy(),
  }
}

export type HttpAnswer = HttpResponse & { readonly retryAfter: string | undefined }

/** HTTP to one provider's API, each request within its limits. */
export function createHttpApi({ clock, ...options }: HttpClientOptions & Pick<HttpApiSettings, 'clock'>) {
  const client = createHttpClient(options)
  const exchanges = createExchanges(options.limits, clock)
  return {
    /**
     * @param read takes what is wanted from the answer.
     * @param expiresAt the request is not written from this moment on, ms since the epoch.
     */
    request: <T>(
      request: HttpRequest,
      read: (answer: HttpAnswer) => T,
      signal?: AbortSignal,
      expiresAt?: number,
    ) =>
      exchanges.run(
        async exchange => {
          const response = await client.request(exchange, request)
          return read({ ...response, retryAfter: exchange.answer?.retryAfter })
        },
        signal,
        expiresAt,
      ),
    probe: client.probe,
    /** Aborts what is under way and ends all connections. */
    async close() {
      exchanges.abort()
      await client.close()
    },
  }
}

/**
 * One request by undici's `dispatch`, which its `request` is made of: it says when the request is about to be written,
 * and spares a stream for each answer.
 */
async function dispatch(
  pool: Dispatcher,
  exchange: Exchange,
  options: Dispatcher.DispatchOptions,
): Promise<HttpResponse> {
  const { signal } = exchange
  const errors = loadErrors()
  if (signal.aborted) throw new errors.RequestAbortedError()
  return new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined
    let response: Omit<HttpResponse, 'body'> | undefined
    const chunks: Buffer[] = []
    let interim = 0
    const failed = (error: Error): void => {
      signal.removeEventListener('abort', abort)
      reject(error)
    }
    // undici notices an abort only once the request has a connection; one that waits for it is given up at once.
    const abort = (): void => {
      const aborted = new errors.RequestAbortedError()
      if (running) running.abort(aborted)
      else failed(aborted)
    }
    signal.addEventListener('abort', abort, { once: true })
    pool.dispatch(options, {
      onRequestStart(controller) {
        if (!signal.aborted) exchange.beforeWriting?.()
        if (signal.aborted) return controller.abort(new errors.RequestAbortedError())
        running = controller
        exchange.written = true
      },
      onResponseStart(controller, statusCode, headers) {
        if (statusCode < 200) {
          interim += 1
          if (interim > MOST_INTERIM) controller.abort(new errors.ResponseExceededMaxSizeError())
          return
        }
        response = { statusCode, headers }
        const retryAfter = headers['retry-after']
        exchange.answer = {
          status: statusCode,
          retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        }
      },
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd() {
        signal.removeEventListener('abort', abort)
        if (response) resolve({ ...response, body: Buffer.concat(chunks).toString() })
      },
      onResponseError: (_controller, error) =>
        failed(error instanceof errors.HTTPParserError ? notHttp(error) : error),
    })
  })
}

/** undici gives this error no code, and keeps what was read in it, which may be an echo of the message. */
function notHttp({ message }: Error): Error {
  return Object.assign(new Error(message), { code: 'NOT_HTTP' })
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
      signal = new AbortController().signal,
      expiresAt = Number.POSITIVE_INFINITY,
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
    return {
      is: 'retry',
      whose: 'later',
      scope: 'transport',
      code,
      reply: `HTTP ${status}, and the rest of the answer was lost`,
    }
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
  if (value === undefined) return undefined
  if (/^\s*\d{1,9}\s*$/.test(value)) return Math.min(Number(value) * 1000, LONGEST_WAIT_MS)
  // Date.parse makes a date of `-5`, too.
  const date = /^\s*[a-z]{3}/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now), LONGEST_WAIT_MS)
}
