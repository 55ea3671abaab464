import type { OutgoingSms, SmsSender } from '../../messages/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpLimits } from '../http-exchange.ts'
import type { LookUp, Outcome, Provider, Verification } from '../provider.ts'
import { readWord } from '../reply.ts'
import { createTemplateProvider } from '../template-provider.ts'
import { createTwilioApi, type TwilioApi, type TwilioApiSettings } from './api.ts'
import { diagnoseAccount, diagnoseTwilio } from './diagnosis.ts'
import { TWILIO_LIMITS } from './limits.ts'
import { findInList, LOOK_UP_PAGE } from './look-up.ts'
import { failedAtOnce, twilioFailure } from './outcome.ts'
import type { TwilioSdk } from './sdk.ts'

/** Twilio's bounds of ValidityPeriod, s: https://www.twilio.com/docs/messaging/api/message-resource */
const VALIDITY_SECONDS = { least: 1, most: 36_000 }

export interface TwilioSettings extends TwilioApiSettings {
  /** The sender of a message that names none itself. */
  readonly sender?: SmsSender
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
  /** Says where Twilio shall report what becomes of a message, by its id; undefined: nowhere. */
  readonly statusCallback?: (id: string) => string | undefined
  readonly clock: Clock
  readonly limits?: Partial<HttpLimits>
}

/** Sends SMS through Twilio's API with its own SDK, which is loaded with the first message or by `load`. */
export function createTwilioProvider(settings: TwilioSettings): Provider & Required<Pick<Provider, 'load'>> {
  const { clock, concurrency = 200 } = settings
  const limits = { ...TWILIO_LIMITS, ...settings.limits }
  const api = createTwilioApi(settings, { connections: concurrency, limits, clock })
  const provider = createTemplateProvider({
    name: 'twilio',
    concurrency,
    clock,
    // A text that cannot be made throws here, before anything is sent.
    pack: message => ({ body: message.text() }),
    send: (message, { body }, signal) => createMessage(api, settings, message, body, signal),
    lookUp: (message, since, signal) => lookUpMessage(api, settings, message, since, signal),
    verify: () => verifyAccount(api, settings),
    close: () => api.close(),
  })
  return {
    ...provider,
    async load() {
      await api.load()
    },
  }
}

async function createMessage(
  api: TwilioApi,
  settings: TwilioSettings,
  message: OutgoingSms,
  body: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { clock } = settings
  const validityPeriod = validitySeconds(message.expiresAt - clock.now())
  const statusCallback = settings.statusCallback?.(message.id)
  const create = async ({ messages }: TwilioSdk) =>
    messages.create({
      to: message.to,
      body,
      ...(message.sender ?? settings.sender),
      validityPeriod,
      statusCallback,
    })
  const result = await api.call(create, signal, message.expiresAt)
  if (!('value' in result)) return twilioFailure(result, message.to, clock.now(), [secretOf(settings)])
  const { sid, status } = result.value
  if (NOT_SENT.has(status)) return failedAtOnce(result.value, message.to, [secretOf(settings)])
  const providerId = readWord(sid)
  return providerId !== undefined
    ? { is: 'sent', reply: `accepted, ${readWord(status) ?? 'of no known status'}`, providerId }
    : { is: 'ambiguous', code: 'no-sid', reply: 'accepted, but the answer names no message' }
}

/** Statuses of a message that goes nowhere: https://www.twilio.com/docs/messaging/api/message-resource */
const NOT_SENT: ReadonlySet<string> = new Set(['failed', 'undelivered', 'canceled'])

/** Asks for the messages to the number, and looks for ours among them. */
async function lookUpMessage(
  api: TwilioApi,
  settings: TwilioSettings,
  { to, text }: OutgoingSms,
  since: number,
  signal: AbortSignal,
): Promise<LookUp> {
  const list = async ({ messages }: TwilioSdk) =>
    (await messages.page({ to, pageSize: LOOK_UP_PAGE })).instances
  const result = await api.call(list, signal, Infinity)
  if ('value' in result) return findInList(result.value, text(), since)
  return {
    is: 'unreachable',
    reply: twilioFailure(result, to, settings.clock.now(), [secretOf(settings)]).reply,
  }
}

async function verifyAccount(api: TwilioApi, settings: TwilioSettings): Promise<Verification> {
  // Loads all of an account's resources, which nothing else needs.
  const { AccountContextImpl } = await import('twilio/lib/rest/api/v2010/account.js')
  const readStatus = async ({ version, messages }: TwilioSdk): Promise<string> => {
    if ('authToken' in settings.login)
      return (await new AccountContextImpl(version, settings.accountSid).fetch()).status
    // An API key may send but not read the account, so it is asked for something that it may read.
    await messages.page({ pageSize: 1 })
    return 'active'
  }
  const result = await api.call(readStatus, new AbortController().signal, Infinity)
  if ('value' in result) {
    const wrong = diagnoseAccount(result.value)
    return wrong === null
      ? { ok: true, detail: 'the account is active' }
      : { ok: false, detail: wrong.what, next: wrong.next }
  }
  const { reply } = twilioFailure(result, '', settings.clock.now(), [secretOf(settings)])
  const { what, next } = diagnoseTwilio(result, settings.apiUrl ?? 'https://api.twilio.com')
  return { ok: false, detail: `${what} (${reply})`, next }
}

function secretOf({ login }: TwilioSettings): string {
  return 'authToken' in login ? login.authToken : login.apiKeySecret
}

/** The rest of a message's validity, ms, as Twilio counts it: never longer, but for the last second of it. */
function validitySeconds(left: number): number {
  return Math.min(Math.max(Math.floor(left / 1000), VALIDITY_SECONDS.least), VALIDITY_SECONDS.most)
}
