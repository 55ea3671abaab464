import type { Twilio } from 'twilio'
import type { OutgoingSms, SmsSender } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createObjectSet } from '../../runtime/collections.ts'
import type { Outcome, Provider } from '../provider.ts'
import type { Exchange, HttpLimits, UndiciClient } from './http-client.ts'
import { longestTwilioAttemptMs, TWILIO_LIMITS } from './limits.ts'
import { twilioFailure } from './outcome.ts'

/** Twilio's bounds of ValidityPeriod, s: https://www.twilio.com/docs/messaging/api/message-resource */
const VALIDITY_SECONDS = { least: 1, most: 36_000 }

export interface TwilioSettings {
  readonly accountSid: string
  /** Either the account's token or an API key. */
  readonly login:
    | { readonly authToken: string }
    | { readonly apiKeySid: string; readonly apiKeySecret: string }
  /** Who a message is from when it does not say itself. */
  readonly sender?: SmsSender
  /** Where the API is, when not at https://api.twilio.com: another region, or a stand-in. */
  readonly apiUrl?: string
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
  /** Where Twilio shall report what becomes of a message, by its id; undefined: nowhere. */
  readonly statusCallback?: (id: string) => string | undefined
  readonly clock: Clock
  readonly limits?: Partial<HttpLimits>
  /** A certificate authority of our own, PEM. */
  readonly ca?: string
}

interface Sdk {
  readonly client: Twilio
  readonly http: UndiciClient
}

/**
 * Sends SMS through Twilio's API with its own SDK.
 *
 * The SDK takes a fifth of a second to load, so that happens with the first message, or when `load` is called (which
 * a server does once it listens).
 */
export function createTwilioProvider(settings: TwilioSettings): Provider & Required<Pick<Provider, 'load'>> {
  const { accountSid, clock, concurrency = 200 } = settings
  const limits = { ...TWILIO_LIMITS, ...settings.limits }
  const running = createObjectSet<AbortController>()
  let sdk: Promise<Sdk> | undefined
  const secrets = ['authToken' in settings.login ? settings.login.authToken : settings.login.apiKeySecret]
  let closed = false

  async function loaded(): Promise<Sdk> {
    sdk ??= openSdk(settings, concurrency, limits)
    return sdk
  }

  /** Runs one call of the SDK within the limits. */
  async function exchange<T>(
    signal: AbortSignal,
    expiresAt: number,
    call: (client: Twilio) => Promise<T>,
  ): Promise<
    | { readonly value: T }
    | { readonly error: unknown; readonly exchange: Exchange; readonly stopped?: string }
  > {
    const { client, http } = await loaded()
    const controller = new AbortController()
    let stopped: string | undefined
    const stop = (reason: string): void => {
      stopped ??= reason
      controller.abort()
    }
    const onAbort = (): void => stop('aborted')
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => stop('answer-limit'), longestTwilioAttemptMs(limits))
    const over = running.add(controller)
    const exchange: Exchange = {
      signal: controller.signal,
      written: false,
      beforeWriting() {
        if (clock.now() >= expiresAt) stop('expired')
      },
    }
    try {
      return { value: await http.during(exchange, () => call(client)) }
    } catch (error) {
      return { error, exchange, ...(stopped !== undefined && { stopped }) }
    } finally {
      clearTimeout(timer)
      over()
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function send(message: OutgoingSms, signal: AbortSignal): Promise<Outcome> {
    if (closed)
      return {
        is: 'retry',
        whose: 'later',
        code: 'closed',
        reply: 'the provider was closed',
        untouched: true,
      }
    const left = message.expiresAt - clock.now()
    if (left <= 0)
      return { is: 'retry', whose: 'later', code: 'expired', reply: 'its validity is over', untouched: true }
    const statusCallback = settings.statusCallback?.(message.id)
    const result = await exchange(signal, message.expiresAt, async client =>
      client.messages.create({
        to: message.to,
        body: message.body,
        ...(message.sender ?? settings.sender),
        validityPeriod: validitySeconds(left),
        ...(statusCallback !== undefined && { statusCallback }),
      }),
    )
    if ('value' in result && typeof result.value.sid === 'string' && result.value.sid)
      return { is: 'sent', reply: `accepted, ${result.value.status}`, providerId: result.value.sid }
    if ('value' in result)
      return { is: 'ambiguous', code: 'no-sid', reply: 'accepted, but the answer names no message' }
    return twilioFailure(result, message.to, clock.now(), secrets)
  }

  return {
    name: 'twilio',
    channel: 'sms',
    concurrency,
    async send(message, signal) {
      if (message.channel !== 'sms') throw new TypeError(`twilio sends SMS, not ${message.channel}`)
      return send(message, signal)
    },
    async verify() {
      // An API key may send but not read the account, so it is asked for something that it may read.
      const result = await exchange(
        new AbortController().signal,
        Infinity,
        async (client): Promise<string> => {
          if ('authToken' in settings.login)
            return (await client.api.v2010.accounts(accountSid).fetch()).status
          await client.messages.page({ pageSize: 1 })
          return 'active'
        },
      )
      if (!('value' in result))
        return { ok: false, detail: twilioFailure(result, '', clock.now(), secrets).reply }
      if (result.value === 'active') return { ok: true, detail: 'the account is active' }
      return { ok: false, detail: `the account is ${result.value}` }
    },
    async load() {
      await loaded()
    },
    async close() {
      closed = true
      for (const controller of running) controller.abort()
      if (sdk) await (await sdk).http.close()
    },
  }
}

/** What is left of a life, ms, as Twilio counts it: never longer, but for the last second of it. */
function validitySeconds(left: number): number {
  return Math.min(Math.max(Math.floor(left / 1000), VALIDITY_SECONDS.least), VALIDITY_SECONDS.most)
}

/** Loads the SDK and undici, which nothing else needs, and puts them together. */
async function openSdk(settings: TwilioSettings, connections: number, limits: HttpLimits): Promise<Sdk> {
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
