import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import { quote, say, tell, type Words } from '../language/sentence.ts'
import type { Clock } from '../runtime/clock.ts'
import { lookUpName } from '../runtime/name-lookup.ts'
import { type Fault, PROBE_MS } from './provider.ts'

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

export interface HttpAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: string
}

/** A proxy that is asked for a tunnel to the API. */
export interface HttpProxy {
  readonly url: string
  /** Hosts that are reached without it, as NO_PROXY has them. */
  readonly except?: string | undefined
}

/** What the client of an API is given by its surroundings. */
export interface HttpApiSettings {
  readonly clock: Clock
  readonly limits: HttpLimits
  readonly proxy?: HttpProxy | undefined
}

export interface HttpApiOptions extends HttpApiSettings {
  readonly baseUrl: string
  /** Requests at the same time at most; one connection each. */
  readonly connections: number
}

/** HTTP to one provider's API. */
export interface HttpApi {
  /**
   * Makes one request, which ends at its time limit, when `signal` aborts, or when its message has expired.
   * @param expiresAt it is not written from this moment on, ms since the epoch.
   */
  request(request: HttpRequest, signal?: AbortSignal, expiresAt?: number): Promise<Exchanged>
  /** See Provider.probe: connects, TLS and the proxy's tunnel included, and hangs up where a request would be written. */
  probe(): Promise<'up' | 'down'>
  /** Ends all connections, and with them what is under way. */
  close(): Promise<void>
}

/** What became of a request. */
export type Exchanged = { readonly value: HttpAnswer } | FailedExchange

/** A request that ended without a value. */
export interface FailedExchange {
  readonly error: unknown
  /** A byte of the request may have left. */
  readonly written: boolean
  /** The head of the answer, when it came. */
  readonly answer?: AnswerHead | undefined
  /** We ended it ourselves, and why. */
  readonly stopped?: string | undefined
}

export type AnswerHead = Omit<HttpAnswer, 'body'>

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
export function createHttpApi({ baseUrl, connections, limits, clock, proxy }: HttpApiOptions): HttpApi {
  const { origin } = new URL(baseUrl)
  const pool = openPool(origin, connections, limits, limits.connectMs, proxy)
  return {
    async request({ headers, ...request }, signal, expiresAt = Number.POSITIVE_INFINITY) {
      const abort = new AbortController()
      let stopped: string | undefined
      const stop = (reason: string): void => {
        stopped ??= reason
        abort.abort()
      }
      const onAbort = (): void => stop('aborted')
      if (signal?.aborted) onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      const timer = setTimeout(stop, longestExchangeMs(limits), 'answer-limit')
      const beforeWriting = (): void => {
        if (clock.now() >= expiresAt) stop('expired')
      }
      const exchange: Exchange = { signal: abort.signal, written: false, beforeWriting }
      try {
        return { value: await dispatch(pool, exchange, { ...request, origin, headers: { ...headers } }) }
      } catch (error) {
        return { error, written: exchange.written, answer: exchange.answer, stopped }
      } finally {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async probe() {
      // To destroy it takes until it has connected, or failed to.
      const fresh = openPool(origin, 1, limits, PROBE_MS, proxy)
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
    close: () => pool.destroy(),
  }
}

function openPool(
  origin: string,
  connections: number,
  limits: HttpLimits,
  connectMs: number,
  proxy: HttpProxy | undefined,
): Dispatcher {
  const settings = {
    connections,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.bodyMs,
    maxResponseSize: MAX_BODY_BYTES,
    connect: { timeout: connectMs, lookup: lookUpName },
  }
  if (proxy === undefined) return new (loadPool())(origin, settings)
  return new (require('undici') as Undici).EnvHttpProxyAgent({
    ...settings,
    connectTimeout: connectMs,
    proxyTls: { lookup: lookUpName },
    httpsProxy: proxy.url,
    // Plain HTTP goes to this machine alone. Empty rather than absent, or the environment would be read instead.
    httpProxy: '',
    noProxy: proxy.except ?? '',
  })
}

/** One request and what is known of it: filled while it runs. */
interface Exchange {
  readonly signal: AbortSignal
  written: boolean
  /** Called when the request has its connection; it is not written when this aborts `signal`. */
  readonly beforeWriting: () => void
  answer?: AnswerHead
}

/**
 * One request by undici's `dispatch`, which its `request` is made of: it says when the request is about to be written,
 * and spares a stream for each answer.
 */
async function dispatch(
  pool: Dispatcher,
  exchange: Exchange,
  options: Dispatcher.DispatchOptions,
): Promise<HttpAnswer> {
  const { signal } = exchange
  const errors = loadErrors()
  if (signal.aborted) throw new errors.RequestAbortedError()
  return new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined
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
        if (!signal.aborted) exchange.beforeWriting()
        if (signal.aborted) return controller.abort(new errors.RequestAbortedError())
        running = controller
        exchange.written = true
      },
      onResponseStart(controller, status, headers) {
        if (status < 200) {
          interim += 1
          if (interim > MOST_INTERIM) controller.abort(new errors.ResponseExceededMaxSizeError())
          return
        }
        const [retryAfter] = [headers['retry-after']].flat()
        exchange.answer = { status, retryAfter }
      },
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd() {
        signal.removeEventListener('abort', abort)
        if (exchange.answer) resolve({ ...exchange.answer, body: Buffer.concat(chunks).toString() })
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

/** Why a request got no answer: what ended it here, or the error's code; undefined: it has none, and is a bug. */
export function causeOf({ error, stopped }: FailedExchange): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return stopped ?? (typeof code === 'string' ? code : undefined)
}

/**
 * The outcome of a request without a usable answer: ambiguous once it may have been written, untouched before.
 *
 * @param provider for the words of a bug.
 */
export function outcomeWithoutAnswer(failed: FailedExchange, provider: string): Fault {
  const { error, answer, written } = failed
  if (answer) return unreadableAnswer(answer.status)
  const cause = causeOf(failed)
  if (cause === undefined)
    throw new Error(`sending by ${provider} failed in an unexpected way`, { cause: error })
  const { message } = error as { readonly message?: unknown }
  // The network's words, not the provider's: they name at most the host.
  const words = (typeof message === 'string' && message) || cause
  const reply = tell(STOPPED[cause] ?? quote(words.slice(0, 160), cause))
  if (written)
    return {
      is: 'ambiguous',
      code: cause,
      reply: say('no answer after the request was written: {reply}', { reply }),
    }
  return { is: 'retry', whose: 'later', code: cause, reply, untouched: true }
}

/** Makes the outcome of an answer whose head came, but nothing that can be read. */
export function unreadableAnswer(status: number): Fault {
  const code = `http-${status}`
  if (status >= 300 && status < 500)
    return {
      is: 'retry',
      whose: 'later',
      scope: 'transport',
      code,
      reply: say('HTTP {status}, and the rest of the answer was lost', { status }),
    }
  return { is: 'ambiguous', code, reply: say('HTTP {status}, but the answer cannot be read', { status }) }
}

const STOPPED: Readonly<Record<string, Words>> = {
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
