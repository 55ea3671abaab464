import type { Twilio } from 'twilio'
import type { Clock } from '../../runtime/clock.ts'
import { createObjectSet } from '../../runtime/collections.ts'
import type { Exchange, HttpLimits, UndiciClient } from './http-client.ts'
import { longestTwilioAttemptMs } from './limits.ts'
import type { TwilioFailure } from './outcome.ts'

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
  ): Promise<{ readonly value: T } | TwilioFailure>
  /** Loads the SDK, which takes a fifth of a second; otherwise the first call does. */
  load(): Promise<unknown>
  /** Aborts what is under way and ends all connections. */
  close(): Promise<void>
}

interface Sdk {
  readonly client: Twilio
  readonly http: UndiciClient
}

/** @param connections requests at the same time at most; one connection each. */
export function createTwilioApi(
  settings: TwilioApiSettings,
  { connections, limits, clock }: { connections: number; limits: HttpLimits; clock: Clock },
): TwilioApi {
  const running = createObjectSet<AbortController>()
  let sdk: Promise<Sdk> | undefined

  async function load(): Promise<Sdk> {
    sdk ??= openSdk(settings, connections, limits)
    return sdk
  }

  return {
    load,
    async call(call, signal, expiresAt) {
      const { client, http } = await load()
      const abort = new AbortController()
      const forget = running.add(abort)
      const isExpired = (): boolean => clock.now() >= expiresAt
      try {
        return await callWithinLimits(http, () => call(client), { abort, signal, limits, isExpired })
      } finally {
        forget()
      }
    },
    async close() {
      for (const abort of running) abort.abort()
      if (sdk) await (await sdk).http.close()
    },
  }
}

/** Runs one call of the SDK; ends it at its time limit, when `signal` aborts, or when the message has expired. */
async function callWithinLimits<T>(
  http: UndiciClient,
  call: () => Promise<T>,
  options: {
    readonly abort: AbortController
    readonly signal: AbortSignal
    readonly limits: HttpLimits
    readonly isExpired: () => boolean
  },
): Promise<{ readonly value: T } | TwilioFailure> {
  const { abort, signal, limits, isExpired } = options
  let stopped: string | undefined
  const stop = (reason: string): void => {
    stopped ??= reason
    abort.abort()
  }
  const onAbort = (): void => stop('aborted')
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => stop('answer-limit'), longestTwilioAttemptMs(limits))
  const beforeWriting = (): void => {
    if (isExpired()) stop('expired')
  }
  const exchange: Exchange = { signal: abort.signal, written: false, beforeWriting }
  try {
    return { value: await http.during(exchange, call) }
  } catch (error) {
    return { error, exchange, stopped }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Loads the SDK and undici, which nothing else needs, and puts them together. */
async function openSdk(settings: TwilioApiSettings, connections: number, limits: HttpLimits): Promise<Sdk> {
  const { accountSid, login, apiUrl = 'https://api.twilio.com', ca } = settings
  const [{ default: twilio }, { createUndiciClient }] = await Promise.all([
    import('twilio'),
    import('./http-client.ts'),
  ])
  const http = createUndiciClient({ baseUrl: apiUrl, connections, limits, ...(ca !== undefined && { ca }) })
  const [user, secret] =
    'authToken' in login ? [accountSid, login.authToken] : [login.apiKeySid, login.apiKeySecret]
  // edge, region and logLevel are named, because the SDK reads them from the environment otherwise.
  const options = { accountSid, edge: '', region: '', logLevel: '', httpClient: http.httpClient }
  const client = twilio(user, secret, options as unknown as Parameters<typeof twilio>[2] & object)
  client.api.baseUrl = apiUrl
  return { client, http }
}
