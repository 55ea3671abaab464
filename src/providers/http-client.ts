import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import type { Clock } from '../runtime/clock.ts'
import { createExchanges, type Exchange, type HttpLimits } from './http-exchange.ts'

type Undici = typeof import('undici')
// undici's pool alone: its index also loads a fetch, a cache and WebSockets, 6 MB and 20 ms.
const require = createRequire(import.meta.url)
const Pool = require('undici/lib/dispatcher/pool.js') as Undici['Pool']
const errors = require('undici/lib/core/errors.js') as Undici['errors']

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
    connections,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    connect: { timeout: limits.connectMs, ...(ca !== undefined && { ca }) },
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.bodyMs,
    maxResponseSize: MAX_BODY_BYTES,
  }
  const pool =
    proxy === undefined
      ? new Pool(origin, settings)
      : new (require('undici') as Undici).EnvHttpProxyAgent({
          ...settings,
          connectTimeout: limits.connectMs,
          httpsProxy: proxy.url,
          // Plain HTTP goes to this machine alone. Empty rather than absent, or the environment would be read instead.
          httpProxy: '',
          noProxy: proxy.except ?? '',
        })
  return {
    /** Makes `exchange`'s request. Its errors carry no headers. */
    request: (exchange: Exchange, { headers, ...request }: HttpRequest): Promise<HttpResponse> =>
      dispatch(pool, exchange, { ...request, origin, headers: { ...headers } }),
    /** Ends all connections. */
    close: () => pool.destroy(),
  }
}

export type HttpAnswer = HttpResponse & { readonly retryAfter: string | undefined }
export type HttpApi = ReturnType<typeof createHttpApi>

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
      signal = new AbortController().signal,
      expiresAt = Number.POSITIVE_INFINITY,
    ) =>
      exchanges.run(
        async exchange => {
          const response = await client.request(exchange, request)
          return read({ ...response, retryAfter: exchange.answer?.retryAfter })
        },
        signal,
        expiresAt,
      ),
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
