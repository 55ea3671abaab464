import { type Dispatcher, errors, Pool } from 'undici'

/** Time limits, ms. */
export interface HttpLimits {
  /** DNS, TCP and TLS. */
  readonly connectMs: number
  /** From the request's last byte to the head of the answer. */
  readonly answerMs: number
  /** Silence within the answer's body. */
  readonly bodyMs: number
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

/** What the SDK asks of its httpClient (its base/RequestClient), as far as it uses it. */
export interface SdkRequest {
  readonly method: string
  readonly uri: string
  readonly username?: string
  readonly password?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly params?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, unknown>>
}

export interface SdkResponse {
  readonly statusCode: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface UndiciClient {
  /** To be handed to the SDK as its `httpClient`. */
  readonly httpClient: { request(request: SdkRequest): Promise<SdkResponse> }
  /** Runs a call of the SDK, whose one request then is `exchange`'s. */
  during<T>(exchange: Exchange, call: () => Promise<T>): Promise<T>
  /** Ends all connections. */
  close(): Promise<void>
}

/**
 * An idle connection is kept so long, ms, unless the API says less (Keep-Alive): a little less than by the SDK's own
 * client (30 s). With undici's 4 s most would be gone by the next burst, and opening 200 with TLS holds everything up.
 */
const IDLE_MS = 25_000

/** More than an answer of the API ever is: a gateway that sends a film is not read to its end. */
const MAX_BODY_BYTES = 256 * 1024

/**
 * The SDK's HTTP client on undici: keep-alive connections, one request at a time each, no redirects, no retries of its
 * own. Requests only ever go to `baseUrl`'s origin, whatever the SDK makes of region and edge, so that the
 * credentials do too. Its errors carry no headers.
 */
export function createUndiciClient(options: {
  readonly baseUrl: string
  readonly connections: number
  readonly limits: HttpLimits
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
}): UndiciClient {
  const { limits } = options
  const { origin } = new URL(options.baseUrl)
  const pool = new Pool(origin, {
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    connect: { timeout: limits.connectMs, ...(options.ca !== undefined && { ca: options.ca }) },
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.bodyMs,
    maxResponseSize: MAX_BODY_BYTES,
  })
  // The SDK hands no context through to its client, but it calls it before it first waits.
  let current: Exchange | undefined

  async function request(sdk: SdkRequest): Promise<SdkResponse> {
    const exchange = current
    current = undefined
    if (!exchange) throw new Error('the SDK made a request outside of an exchange')
    const { pathname, search } = new URL(sdk.uri)
    return dispatch(pool, exchange, {
      method: sdk.method.toUpperCase(),
      path: pathname + (sdk.params ? `?${form(sdk.params)}` : search),
      headers: headersOf(sdk),
      body: sdk.data ? form(sdk.data) : null,
    })
  }

  return {
    httpClient: { request },
    async during(exchange, call) {
      current = exchange
      try {
        return await call()
      } finally {
        if (current === exchange) current = undefined
      }
    },
    close: () => pool.destroy(),
  }
}

/**
 * One request by undici's `dispatch`, which its `request` is made of: it says when the request is about to be written,
 * and spares a stream for each answer.
 */
async function dispatch(
  pool: Pool,
  exchange: Exchange,
  options: Dispatcher.DispatchOptions,
): Promise<SdkResponse> {
  const { signal } = exchange
  if (signal.aborted) throw new errors.RequestAbortedError()
  return new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined
    let response: Omit<SdkResponse, 'body'> | undefined
    const chunks: Buffer[] = []
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
      onResponseStart(_controller, statusCode, headers) {
        if (statusCode < 200) return
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
      onResponseError: (_controller, error) => failed(error),
    })
  })
}

function headersOf({ username, password, headers }: SdkRequest): Record<string, string> {
  const basic = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')
  return { ...headers, Authorization: `Basic ${basic}` }
}

/** application/x-www-form-urlencoded; a list as a repeated field, as the SDK's own client does. */
function form(fields: Readonly<Record<string, unknown>>): string {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) encoded.append(name, String(each))
  return encoded.toString()
}
