import { createHttpClient, type HttpClientOptions, type HttpResponse } from '../http-client.ts'
import type { Exchange } from '../http-exchange.ts'

/** The interface of the SDK's httpClient (its base/RequestClient), as far as the SDK uses it. */
export interface SdkRequest {
  readonly method: string
  readonly uri: string
  readonly username?: string
  readonly password?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly params?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, unknown>>
}

export type SdkClient = ReturnType<typeof createSdkClient>

/** Our HTTP client as the SDK's: requests go to `baseUrl`'s origin, whatever the SDK makes of region and edge. */
export function createSdkClient(options: HttpClientOptions) {
  const client = createHttpClient(options)
  // The SDK hands no context through to its client, but it calls it before it first waits.
  let current: Exchange | undefined

  async function request(sdk: SdkRequest): Promise<HttpResponse> {
    const exchange = current
    current = undefined
    if (!exchange) throw new Error('the SDK made a request outside of an exchange')
    const { pathname, search } = new URL(sdk.uri)
    return client.request(exchange, {
      method: sdk.method.toUpperCase(),
      path: pathname + (sdk.params ? `?${form(sdk.params)}` : search),
      headers: headersOf(sdk),
      body: sdk.data ? form(sdk.data) : null,
    })
  }

  return {
    httpClient: { request },
    /** Runs a call of the SDK, whose one request then is `exchange`'s. */
    async during<T>(exchange: Exchange, call: () => Promise<T>): Promise<T> {
      current = exchange
      try {
        return await call()
      } finally {
        if (current === exchange) current = undefined
      }
    },
    close: client.close,
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
