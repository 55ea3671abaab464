import type { Twilio } from 'twilio'
import type { Clock } from '../../runtime/clock.ts'
import { createExchanges, type FailedExchange, type HttpLimits } from '../http-exchange.ts'
import type { SdkClient } from './http-client.ts'

export interface TwilioApiSettings {
  readonly accountSid: string
  /** Either the account's token or an API key. */
  readonly login:
    | { readonly authToken: string }
    | { readonly apiKeySid: string; readonly apiKeySecret: string }
  /** Where the API is, when not at https://api.twilio.com: another region, or a stand-in. */
  readonly apiUrl?: string
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
}

/** Twilio's API by its own SDK, each call within our limits. */
export interface TwilioApi {
  /**
   * @param call makes one request with the SDK.
   * @param expiresAt the request is not written from this moment on, ms since the epoch.
   */
  call<T>(
    call: (client: Twilio) => Promise<T>,
    signal: AbortSignal,
    expiresAt: number,
  ): Promise<{ readonly value: T } | FailedExchange>
  /** Loads the SDK, which takes a fifth of a second; otherwise the first call does. */
  load(): Promise<unknown>
  /** Aborts what is under way and ends all connections. */
  close(): Promise<void>
}

interface Sdk {
  readonly client: Twilio
  readonly http: SdkClient
}

/** @param connections requests at the same time at most; one connection each. */
export function createTwilioApi(
  settings: TwilioApiSettings,
  { connections, limits, clock }: { connections: number; limits: HttpLimits; clock: Clock },
): TwilioApi {
  const exchanges = createExchanges(limits, clock)
  let sdk: Promise<Sdk> | undefined

  async function load(): Promise<Sdk> {
    sdk ??= openSdk(settings, connections, limits)
    return sdk
  }

  return {
    load,
    async call(call, signal, expiresAt) {
      const { client, http } = await load()
      return exchanges.run(exchange => http.during(exchange, () => call(client)), signal, expiresAt)
    },
    async close() {
      exchanges.abort()
      if (sdk) await (await sdk).http.close()
    },
  }
}

/** Loads the SDK and undici, which nothing else needs, and puts them together. */
async function openSdk(settings: TwilioApiSettings, connections: number, limits: HttpLimits): Promise<Sdk> {
  const { accountSid, login, apiUrl = 'https://api.twilio.com', ca } = settings
  const [{ default: twilio }, { createSdkClient }] = await Promise.all([
    import('twilio'),
    import('./http-client.ts'),
  ])
  const http = createSdkClient({ baseUrl: apiUrl, connections, limits, ...(ca !== undefined && { ca }) })
  const [user, secret] =
    'authToken' in login ? [accountSid, login.authToken] : [login.apiKeySid, login.apiKeySecret]
  // edge, region and logLevel are named, because the SDK reads them from the environment otherwise.
  const options = { accountSid, edge: '', region: '', logLevel: '', httpClient: http.httpClient }
  const client = twilio(user, secret, options as unknown as Parameters<typeof twilio>[2] & object)
  client.api.baseUrl = apiUrl
  return { client, http }
}
