import { createRequire } from 'node:module'
import { quote, type Sentence, say, term, type Words } from '../language/sentence.ts'
import type { SmsSender } from '../messages/message.ts'
import { type CheckResult, checksOf } from '../runtime/check-result.ts'
import { readFrom } from '../settings/senders.ts'
import type { ParsedSetting, SettingFault, Values } from '../settings/setting.ts'
import { missingSettings, settingWithReader, textSetting } from '../settings/setting.ts'
import { readApiUrl } from '../settings/urls.ts'
import { createCodeTable, faultOfReport, judgeStatus, outcomeOfVerdict, type Refusal } from './codes.ts'
import { type Diagnosis, diagnoseExchange, unverified } from './diagnosis.ts'
import type { FailedExchange, HttpApiSettings, HttpLimits } from './http-client.ts'
import { longestExchangeMs, outcomeWithoutAnswer, readRetryAfter } from './http-client.ts'
import { textOf } from './json-answer.ts'
import { type ChannelSettings, checkLogin, type ProviderModule, proxyOf } from './module.ts'
import type { LookUp, Outcome, Provider } from './provider.ts'
import { type ReceiptSource, readOurId, receiptPath } from './receipts.ts'
import { createRedactor, NO_MESSAGE, type Redactor, type RepeatedMessage, readWord } from './redact.ts'
import { createSmsProvider } from './sms-provider.ts'
import published from './twilio.codes.json' with { type: 'json' }
import type { TwilioSdk } from './twilio-sdk.ts'

/** Twilio's SDK, once there is an account: it takes 7 MB. */
const loadSdk = () => createRequire(import.meta.url)('./twilio-sdk.ts') as typeof import('./twilio-sdk.ts')

// Settings

/** Settings of the enterprise's Twilio account. */
const twilioSettings = {
  TWILIO_ACCOUNT_SID: textSetting({
    pattern: /AC[0-9a-fA-F]{32}/u,
    form: 'AC and 32 hex digits',
    meaning: "Your Twilio account, as Twilio's console shows it.",
    example: 'AC00000000000000000000000000000000',
  }),
  TWILIO_AUTH_TOKEN: textSetting({
    secret: true,
    meaning: "The account's Auth Token. Also proves that a delivery report really comes from Twilio.",
    example: 'the-auth-token-of-the-account',
  }),
  TWILIO_API_KEY: settingWithReader(readApiKey, {
    secret: true,
    meaning:
      'Instead of the Auth Token: an API key and its secret, with a colon between. Without an Auth Token there are no delivery reports.',
    example: 'SK00000000000000000000000000000000:the-secret-of-the-api-key',
  }),
  TWILIO_FROM: settingWithReader(readFrom, {
    meaning:
      'Who SMS are from: a Twilio number, or a name of up to 11 letters where the country allows it. Or a messaging service (MG…), which chooses the sender.',
    example: '+15005550006',
  }),
  TWILIO_API_URL: settingWithReader(readApiUrl, {
    default: 'https://api.twilio.com',
    meaning: "Twilio's API.",
    example: 'https://api.dublin.ie1.twilio.com',
  }),
} as const

type TwilioConfig = Values<typeof twilioSettings> & ChannelSettings

/** The faults of these settings together, when SMS is on. */
function* findFaults(s: Partial<Values<typeof twilioSettings>>): Generator<SettingFault> {
  const because = say('SMS is on (SMS_TOKEN)')
  yield* missingSettings(s, {
    TWILIO_ACCOUNT_SID: say('{because}, so name your Twilio account (AC…)', { because }),
    TWILIO_AUTH_TOKEN:
      s.TWILIO_API_KEY === undefined && say('{because}: set it, or TWILIO_API_KEY', { because }),
    TWILIO_FROM: say('{because}: set it to a number of yours, or to a messaging service', { because }),
  })
}

/** The name and the secret of an API key, from `SK…:secret`. */
function readApiKey(
  text: string,
): ParsedSetting<{ readonly apiKeySid: string; readonly apiKeySecret: string }> {
  const [, apiKeySid, apiKeySecret] = /^(SK[0-9a-fA-F]{32}):(.+)$/.exec(text.trim()) ?? []
  return apiKeySid === undefined || apiKeySecret === undefined
    ? { fault: 'must be SK and 32 hex digits, a colon, and the secret of the key' }
    : { value: { apiKeySid, apiKeySecret } }
}

/** Twilio answers within a second as a rule; 30 s is the SDK's own limit. */
const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 30_000, bodyMs: 5_000 }

export interface TwilioSettings extends HttpApiSettings {
  readonly accountSid: string
  /** Either the account's token or an API key. */
  readonly login:
    | { readonly authToken: string }
    | { readonly apiKeySid: string; readonly apiKeySecret: string }
  readonly apiUrl: string
  /** The sender of a message that names none itself. */
  readonly sender?: SmsSender | undefined
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
  /** Says where Twilio shall report what becomes of a message, by its id; undefined: nowhere. */
  readonly statusCallback?: (id: string) => string | undefined
}

// Request

/** Sends SMS through Twilio's API with its own SDK. */
export function createTwilioProvider(settings: TwilioSettings): Provider {
  const { accountSid, login, apiUrl: baseUrl, concurrency: connections = 200, clock } = settings
  const [user, secret] =
    'authToken' in login ? [accountSid, login.authToken] : [login.apiKeySid, login.apiKeySecret]
  const api = loadSdk().createTwilioApi({ accountSid, user, secret }, { ...settings, baseUrl, connections })
  const redactorFor = (message: RepeatedMessage) => createRedactor(message, [secret])

  return createSmsProvider({
    name: 'twilio',
    concurrency: connections,
    clock,
    // A text that cannot be made throws here, before anything is sent.
    pack: message => ({ body: message.text() }),
    namesOf(_parcel, { sender = settings.sender }) {
      if (sender === undefined) return {}
      return { sender: 'from' in sender ? sender.from : sender.messagingServiceSid }
    },
    async send(message, { body }, signal) {
      const { to, id, expiresAt, sender = settings.sender } = message
      const leftSeconds = Math.floor((expiresAt - clock.now()) / 1000)
      const validityPeriod = Math.min(Math.max(leftSeconds, VALIDITY_SECONDS.least), VALIDITY_SECONDS.most)
      const statusCallback = settings.statusCallback?.(id)
      const create = ({ messages }: TwilioSdk) =>
        messages.create({ to, body, ...sender, validityPeriod, statusCallback })
      const result = await api.call(create, signal, expiresAt)
      const redactor = redactorFor(message)
      return 'value' in result
        ? judgeCreated(result.value, redactor)
        : judgeFailure(result, redactor, clock.now())
    },
    /** Asks for the messages to the number, and looks for ours among them. */
    async lookUp(message, since, signal) {
      const list = async ({ messages }: TwilioSdk) =>
        (await messages.page({ to: message.to, pageSize: LOOK_UP_PAGE })).instances
      const result = await api.call(list, signal)
      if ('value' in result) return findInList(result.value, message.text(), since)
      const { reply } = judgeFailure(result, redactorFor(message), clock.now())
      return { is: 'unreachable', reply }
    },
    probe: api.probe,
    /** Asks for one message, which an API key may do, too: it may not read the account. */
    async verify() {
      const result = await api.call(({ messages }) => messages.page({ pageSize: 1 }))
      if ('value' in result) return { ok: true, detail: 'the login works' }
      const { reply } = judgeFailure(result, redactorFor(NO_MESSAGE), clock.now())
      return unverified(diagnoseFailure(result, baseUrl), reply)
    },
    close: api.close,
  })
}

/** Twilio's bounds of ValidityPeriod, s: https://www.twilio.com/docs/messaging/api/message-resource */
const VALIDITY_SECONDS = { least: 1, most: 36_000 }

// What an answer means

const codes = createCodeTable(published.send)
const codesOfReceipts = createCodeTable(published.receipt)

/**
 * Makes the outcome of an answer with an error.
 *
 * @param status HTTP status. 429 is never processed and always safe to try again
 *   (https://www.twilio.com/docs/usage/rest-api-best-practices); neither is any other 4xx, nor a redirect, which is
 *   not followed; a 5xx may have been.
 * @param code Twilio's code, if the body had one.
 */
function refused(status: number, code: unknown, reply: Words): Outcome {
  const known = textOf(code)
  const named = /^\d+$/.test(known) ? known : `http-${status}`
  const listed = codes(named)
  const isListed = listed !== undefined && (status !== 429 || listed.verdict === 'limit')
  return outcomeOfVerdict((isListed ? listed : judgeStatus(status)) as Refusal, named, reply)
}

/**
 * The outcome of a failed request, by status, code and words of its error alone.
 *
 * @param now ms since the epoch: what a Retry-After date counts from.
 */
function judgeFailure(failed: FailedExchange, redactor: Redactor, now: number): Outcome {
  const { status, code, message } = (failed.error ?? {}) as Readonly<Record<string, unknown>>
  const { answer } = failed
  if (!answer || typeof status !== 'number') return outcomeWithoutAnswer(failed, 'Twilio')
  const words = (typeof message === 'string' && message) || `HTTP ${status}`
  const refusal = refused(status, code, quote(redactor.reply(words)))
  if (refusal.is !== 'retry') return refusal
  const retryAfterMs = readRetryAfter(answer.retryAfter, now)
  return { ...refusal, retryAfterMs, ...(status === 429 && { overload: 'requests' as const }) }
}

/** The part of an answer about the message that it made. */
interface CreatedMessage {
  readonly sid: string
  readonly status: string
  readonly errorCode: number | null
  readonly errorMessage: string | null
}

function statusOf(status: string): Sentence {
  const word = readWord(status)
  return word === undefined ? say('of no known status') : term(word)
}

/** Statuses of a message that goes nowhere: https://www.twilio.com/docs/messaging/api/message-resource */
const NOT_SENT: ReadonlySet<string> = new Set(['failed', 'undelivered', 'canceled'])

/** The outcome of an answer with a message. Twilio may take it back in the same answer: then nothing was sent. */
function judgeCreated({ sid, status, errorCode, errorMessage }: CreatedMessage, redactor: Redactor): Outcome {
  if (NOT_SENT.has(status)) {
    const why = errorMessage ? quote(redactor.reply(errorMessage)) : say('no reason was given')
    const reply = say('{about}: {what}', { about: status, what: why })
    return errorCode ? refused(400, errorCode, reply) : { is: 'retry', whose: 'later', code: status, reply }
  }
  const providerId = readWord(sid)
  return providerId !== undefined
    ? { is: 'sent', reply: say('accepted, {status}', { status: statusOf(status) }), providerId }
    : { is: 'ambiguous', code: 'no-sid', reply: 'accepted, but the answer names no message' }
}

// What became of an ambiguous one

/** The fields of a message resource that a look-up reads (https://www.twilio.com/docs/messaging/api/message-resource). */
export interface ListedMessage {
  readonly sid: string
  /** Null for a message without text; what else may stand there is no text either. */
  readonly body: string | null
  readonly status: string
  readonly dateCreated: Date | null
}

/**
 * The messages that are asked for, newest first; some 160 KB. The list is filtered by recipient alone: DateSent is of no use,
 * since a message that Twilio has taken and not sent yet has none.
 */
export const LOOK_UP_PAGE = 200

/** Twilio's clock and ours may differ by so much, ms; the dates that it gives are in whole seconds. */
const CLOCK_SKEW_MS = 30_000

/**
 * Finds out from the messages to one number whether one of ours is among them. Twilio knows both ways: a message that
 * it has is in its list, and one that is not there was never taken.
 *
 * @param listed the answer to a list by recipient, at most LOOK_UP_PAGE of them.
 * @param body our text. A trial account puts its own words in front of it.
 * @param since ours was not sent before, ms since the epoch.
 */
export function findInList(listed: readonly ListedMessage[], body: string, since: number): LookUp {
  const ours = comparable(body)
  // A message without a date may be as recent as any.
  const recent = listed.filter(({ dateCreated }) => !(Number(dateCreated ?? since) < since - CLOCK_SKEW_MS))
  const found = recent.find(each => comparable(wordsIn(each)).endsWith(ours))
  if (found !== undefined)
    return {
      is: 'accepted',
      reply: say('found in the list of messages, {status}', { status: statusOf(found.status) }),
      providerId: readWord(found.sid),
    }
  // An account may redact what its messages say: then one of them may be ours.
  if (recent.some(each => /^\s*$|redacted/i.test(wordsIn(each))))
    return { is: 'not-known', reply: 'the account redacts its messages, so the list does not tell' }
  if (listed.length >= LOOK_UP_PAGE) return { is: 'not-known', reply: 'too many messages to this number' }
  return { is: 'absent', reply: 'not in the list of messages: it was never taken' }
}

function wordsIn({ body }: ListedMessage): string {
  return typeof body === 'string' ? body : ''
}

/** Twilio may replace characters beyond GSM-7 by their plain forms ("smart encoding"), and spaces with them. */
function comparable(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[‘’‚‛′]/g, "'")
    .replace(/[“”„‟″]/g, '"')
    .replace(/[‐‑‒–—―]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
}

// Delivery reports

/**
 * Says where Twilio shall report what becomes of an SMS; undefined when it cannot: without PUBLIC_URL there is no address
 * to give, and without the Auth Token its signature cannot be checked (an API key does not sign).
 */
function receiptUrl({ SMS_TOKEN, PUBLIC_URL, TWILIO_AUTH_TOKEN }: TwilioConfig): string | undefined {
  if (SMS_TOKEN === undefined || PUBLIC_URL === undefined || TWILIO_AUTH_TOKEN === undefined) return undefined
  return `${PUBLIC_URL}${receiptPath('twilio')}`
}

/**
 * Reads Twilio's status callbacks (https://www.twilio.com/docs/usage/webhooks/messaging-webhooks#status-callback),
 * which count only with a right X-Twilio-Signature over the configured URL, its query as it came, and the form's fields.
 * The query names our message (`?id=…`).
 *
 * @param url what Twilio was told to call; never what a request says of itself.
 * @param authToken the account's Auth Token, which signs (an API key does not).
 */
async function createTwilioReceipts(url: string, authToken: string): Promise<ReceiptSource> {
  const { validateRequest } = await import('twilio/lib/webhooks/webhooks.js')
  return {
    path: receiptPath('twilio'),
    format: 'form',
    parseReports({ headers, body, query }) {
      const fields = (body ?? {}) as Record<string, unknown>
      const signature = headers['x-twilio-signature']
      const called = query === '' ? url : `${url}?${query}`
      if (typeof signature !== 'string' || !validateRequest(authToken, signature, called, fields))
        return 'forged'
      const providerId = readWord(fields['MessageSid'])
      const status = readWord(fields['MessageStatus'])
      if (providerId === undefined || status === undefined || !/^[a-z_]{1,32}$/.test(status)) return []
      const code = readWord(fields['ErrorCode'])
      const errorCode = code !== undefined && /^\d{1,6}$/.test(code) ? code : null
      const id = query.startsWith('id=') ? readOurId(query.slice('id='.length)) : undefined
      const isFailed = errorCode !== null || status === 'undelivered' || status === 'failed'
      const fault = isFailed ? faultOfReport(codesOfReceipts(errorCode ?? '')) : undefined
      return [{ providerId, id, status, errorCode, fault }]
    },
  }
}

// Check

/** Twilio's code for an account that is suspended or closed: https://www.twilio.com/docs/api/errors/20005 */
const NOT_ACTIVE = 20005
const INACTIVE: Diagnosis = {
  what: 'the account is suspended or closed',
  next: 'look at https://console.twilio.com: a bill that is open, or a question of Twilio that waits for an answer',
}

const LOGIN_REFUSED: Readonly<Record<number, Diagnosis>> = {
  401: {
    what: 'Twilio refuses the login',
    next: 'look at TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or at the API key and its secret: a token that was rotated has ended',
  },
  403: {
    what: 'Twilio knows the login, and does not allow it this',
    next: 'look at the rights of the API key, at the allowed networks of the account, and that TWILIO_API_URL is of its region',
  },
  404: {
    what: 'Twilio does not know the account',
    next: 'look at TWILIO_ACCOUNT_SID, and that TWILIO_API_URL is of its region',
  },
}

/** Finds the cause of a failed login. @param apiUrl where Twilio was asked. */
function diagnoseFailure(failed: FailedExchange, apiUrl: string): Diagnosis {
  const { status, code } = (failed.error ?? {}) as { readonly status?: unknown; readonly code?: unknown }
  if (failed.answer === undefined || typeof status !== 'number')
    return diagnoseExchange(failed, apiUrl, 'TWILIO_API_URL')
  if (Number(code) === NOT_ACTIVE) return INACTIVE
  const refusal = LOGIN_REFUSED[status]
  if (refusal !== undefined) return refusal
  return {
    what: say('Twilio refuses the request (HTTP {status})', { status }),
    next: 'look at https://console.twilio.com and https://status.twilio.com, and check again later',
  }
}

/** Says whether Twilio can report what becomes of an SMS. */
function checkReceipts(config: TwilioConfig): CheckResult {
  const url = receiptUrl(config)
  if (url !== undefined)
    return checksOf('receipts').ok(say('Twilio reports what becomes of each SMS to {url}', { url }))
  if (config.TWILIO_AUTH_TOKEN === undefined)
    return checksOf('receipts').warn(
      'off: nobody will know whether an SMS reached its phone. Only an API key is set, and Twilio signs its reports with the Auth Token',
      'set TWILIO_AUTH_TOKEN beside the API key; SMS are sent with the key all the same',
    )
  return checksOf('receipts').warn(
    'off: nobody will know whether an SMS reached its phone. Twilio is not told where to report',
    'set PUBLIC_URL',
  )
}

// The module

/** The enterprise's Twilio account. */
export const twilio: ProviderModule<'twilio', 'sms', typeof twilioSettings, HttpLimits> = {
  name: 'twilio',
  channel: 'sms',
  settings: twilioSettings,
  limits: LIMITS,
  findFaults,
  // It may be asked first what became of an earlier copy.
  longestAttemptMs: (_config, limits) => 2 * longestExchangeMs(limits),
  async open(config, { clock, limits }) {
    if (config.SMS_TOKEN === undefined || config.TWILIO_ACCOUNT_SID === undefined) return []
    const receipts = receiptUrl(config)
    const provider = createTwilioProvider({
      accountSid: config.TWILIO_ACCOUNT_SID,
      login: config.TWILIO_API_KEY ?? { authToken: config.TWILIO_AUTH_TOKEN ?? '' },
      sender: config.TWILIO_FROM,
      apiUrl: config.TWILIO_API_URL,
      proxy: proxyOf(config),
      // The URL has our id, since a report may be here before Twilio's answer has told its own.
      statusCallback: id => receipts && `${receipts}?id=${id}`,
      clock,
      limits,
    })
    return [provider]
  },
  async check(config, provider) {
    const next =
      'look at TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN or the API key, and at https://console.twilio.com'
    return [await checkLogin(provider, next), checkReceipts(config)]
  },
  async openReceipts(config) {
    const url = receiptUrl(config)
    return url === undefined ? undefined : createTwilioReceipts(url, config.TWILIO_AUTH_TOKEN ?? '')
  },
}
