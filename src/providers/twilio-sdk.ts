import { arch, platform } from 'node:os'
import type { Client, RequestOpts } from 'twilio/lib/base/BaseTwilio.js'
import domains from 'twilio/lib/base/Domain.js'
import versions from 'twilio/lib/base/Version.js'
import { MessageListInstance } from 'twilio/lib/rest/api/v2010/account/message.js'
import sdk from 'twilio/package.json' with { type: 'json' }
import { createHttpClient, type Exchange, type HttpClientOptions, type HttpResponse } from './http-client.ts'

/** The parts of Twilio's SDK that are used. */
export interface TwilioSdk {
  readonly messages: MessageListInstance
  /** The parent of a resource that is loaded by itself. */
  readonly version: Parameters<typeof MessageListInstance>[0]
}

/**
 * Puts the parts of Twilio's SDK together that SMS need, as its own client does. That client loads axios and every product
 * of Twilio's, 37 MB and 150 ms, for an HTTP client that is not used. The modules are not documented as an interface: the
 * SDK's version is pinned, and a test compares this with its own client.
 *
 * @param options.user an account or an API key, and its secret
 */
export function createSdk(options: {
  readonly accountSid: string
  readonly user: string
  readonly secret: string
  readonly apiUrl: string
  readonly httpClient: SdkClient['httpClient']
}): TwilioSdk {
  const { accountSid, user, secret, apiUrl, httpClient } = options
  // This is what BaseTwilio does, without its edges and regions, which it takes from the environment.
  const request = ({ headers = {}, ...request }: RequestOpts) => {
    const own = {
      'User-Agent': `twilio-node/${sdk.version} (${platform()} ${arch()}) node/${process.version}`,
      'Accept-Charset': 'utf-8',
    }
    const login = { username: user, password: secret }
    return httpClient.request({ ...request, ...login, headers: { ...headers, ...own } } as SdkRequest)
  }
  const domain = new domains.default({ request } as unknown as Client, apiUrl)
  const version = new versions.default(domain, '2010-04-01') as TwilioSdk['version']
  return { messages: MessageListInstance(version, accountSid), version }
}

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
    const login = Buffer.from(`${sdk.username ?? ''}:${sdk.password ?? ''}`)
    return client.request(exchange, {
      method: sdk.method.toUpperCase(),
      path: pathname + (sdk.params ? `?${form(sdk.params)}` : search),
      headers: { ...sdk.headers, Authorization: `Basic ${login.toString('base64')}` },
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
    probe: client.probe,
    close: client.close,
  }
}

/** application/x-www-form-urlencoded; a list as a repeated field, as the SDK's own client does. */
function form(fields: Readonly<Record<string, unknown>>): string {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined) encoded.append(name, String(each))
  return encoded.toString()
}
