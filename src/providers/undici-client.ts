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
    connect: { timeout: limits.connectMs, ...(options.ca !== undefined && { ca: options.ca }) },
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.bodyMs,
  })
  const dispatcher = pool.compose(noteWriting)
  // The SDK hands no context through to its client, but it calls it before it first waits.
  let current: Exchange | undefined

  async function request(sdk: SdkRequest): Promise<SdkResponse> {
    const exchange = current
    current = undefined
    if (!exchange) throw new Error('the SDK made a request outside of an exchange')
    const { pathname, search } = new URL(sdk.uri)
    const { statusCode, headers, body } = await untilAborted(
      exchange,
      dispatcher.request({
        method: sdk.method.toUpperCase(),
        path: pathname + (sdk.params ? `?${form(sdk.params)}` : search),
        headers: headersOf(sdk),
        body: sdk.data ? form(sdk.data) : null,
        signal: exchange.signal,
        opaque: exchange,
      }),
    )
    const retryAfter = headers['retry-after']
    exchange.answer = {
      status: statusCode,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    }
    return { statusCode, headers, body: await read(body) }
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

/** Marks the exchange when its request is about to be written: undici calls `onRequestStart` just before. */
function noteWriting(dispatch: Dispatcher['dispatch']): Dispatcher['dispatch'] {
  return (options, handler) => {
    const exchange = (options as { opaque?: Exchange }).opaque
    const noting: Dispatcher.DispatchHandler = {
      onRequestStart(controller, context) {
        exchange?.beforeWriting?.()
        if (exchange && !exchange.signal.aborted) exchange.written = true
        handler.onRequestStart?.(controller, context)
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    }
    return dispatch(options, noting)
  }
}

/** undici notices an abort only once the request has a connection; one that waits for it is given up at once. */
async function untilAborted<T>({ signal }: Exchange, request: Promise<T>): Promise<T> {
  if (signal.aborted) {
    request.catch(() => {})
    throw new errors.RequestAbortedError()
  }
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new errors.RequestAbortedError())
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([request, aborted])
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
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

async function read(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += (chunk as Buffer).length
    if (length > MAX_BODY_BYTES) throw new errors.ResponseExceededMaxSizeError('the answer is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}
