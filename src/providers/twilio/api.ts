import type { Clock } from '../../runtime/clock.ts'
import type { HttpApiSettings } from '../http-client.ts'
import { createExchanges, type HttpLimits } from '../http-exchange.ts'
import type { TwilioSdk } from './sdk.ts'

export interface TwilioApiSettings extends Pick<HttpApiSettings, 'ca' | 'proxy'> {
  readonly accountSid: string
  /** Either the account's token or an API key. */
  readonly login:
    | { readonly authToken: string }
    | { readonly apiKeySid: string; readonly apiKeySecret: string }
  /** Where the API is, when not at https://api.twilio.com: another region, or a stand-in. */
  readonly apiUrl?: string
}

export type TwilioApi = ReturnType<typeof createTwilioApi>

/**
 * Twilio's API by its own SDK, each call within our limits.
 * @param connections requests at the same time at most; one connection each.
 */
export function createTwilioApi(
  settings: TwilioApiSettings,
  { connections, limits, clock }: { connections: number; limits: HttpLimits; clock: Clock },
) {
  const exchanges = createExchanges(limits, clock)
  let opened: ReturnType<typeof openSdk> | undefined
  const load = () => (opened ??= openSdk(settings, connections, limits))

  return {
    /** Loads the SDK; otherwise the first call does. */
    load,
    /**
     * @param call makes one request with the SDK.
     * @param expiresAt the request is not written from this moment on, ms since the epoch.
     */
    async call<T>(call: (sdk: TwilioSdk) => Promise<T>, signal: AbortSignal, expiresAt: number) {
      const { sdk, http } = await load()
      return exchanges.run(exchange => http.during(exchange, () => call(sdk)), signal, expiresAt)
    },
    /** Aborts what is under way and ends all connections. */
    async close() {
      exchanges.abort()
      if (opened) await (await opened).http.close()
    },
  }
}

/** Loads the SDK and undici, which nothing else needs, and puts them together. */
async function openSdk(settings: TwilioApiSettings, connections: number, limits: HttpLimits) {
  const { accountSid, login, apiUrl = 'https://api.twilio.com', ca, proxy } = settings
  const [{ createSdk }, { createSdkClient }] = await Promise.all([
    import('./sdk.ts'),
    import('./http-client.ts'),
  ])
  const http = createSdkClient({ baseUrl: apiUrl, connections, limits, proxy, ca })
  const [user, secret] =
    'authToken' in login ? [accountSid, login.authToken] : [login.apiKeySid, login.apiKeySecret]
  return { sdk: createSdk({ accountSid, user, secret, apiUrl, httpClient: http.httpClient }), http }
}
