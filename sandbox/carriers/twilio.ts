import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import {
  type CarrierFault,
  createCarrierServer,
  type MessageServer,
  type MessageServerOptions,
  pushBounded,
} from './api-server.ts'
import { createSmsInbox, type NamedFaults, type StandInModule } from './stand-in.ts'

/** A request as it came in. The password is compared, never kept. */
export interface TwilioRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Account SID or API key SID of the basic authentication; empty without one. */
  readonly username: string
  readonly authorized: boolean
  /** Form fields; the last value of a repeated one. */
  readonly form: Readonly<Record<string, string>>
  readonly headers: Readonly<http.IncomingHttpHeaders>
  /** ms since the epoch. */
  readonly at: number
}

export type TwilioStandIn = MessageServer<TwilioRequest, TwilioMessage>

export interface TwilioStandInOptions extends MessageServerOptions<TwilioRequest, TwilioMessage> {
  readonly accountSid: string
  readonly authToken: string
  /** API keys that may be used instead of the account: SID → secret. */
  readonly keys?: Readonly<Record<string, string>>
}

/**
 * Twilio's API as far as sending an SMS needs it, for trying and testing without an account: creates messages
 * (`POST /2010-04-01/Accounts/{Sid}/Messages.json`: 201 with a Message resource, or an error with Twilio's code) and
 * lists them. Numbers behave as with Twilio's test credentials:
 * to +15005550001 is invalid (21211), …0002 unroutable (21612), …0003 not permitted (21408), …0004 blocked (21610),
 * …0009 no mobile (21614); from …0001 is invalid (21212), …0007 not owned (21606), …0008 has a full queue (21611).
 */
export function createTwilioStandIn(options: TwilioStandInOptions): TwilioStandIn {
  const { accountSid, onMessage, fault, keep = 10_000, now = Date.now } = options
  const passwords = new Map([...Object.entries(options.keys ?? {}), [accountSid, options.authToken]])
  const messages: TwilioMessage[] = []

  function route(request: TwilioRequest): { status: number; body: string } {
    const account = /^\/2010-04-01\/Accounts\/([^/?]+?)\/Messages\.json(?:\?|$)/.exec(request.url)
    if (!account)
      return failure({ status: 404, code: 20404, message: 'The requested resource was not found' })
    if (!request.authorized) return failure({ status: 401, code: 20003, message: 'Authenticate' })
    if (account[1] !== accountSid)
      return failure({
        status: 404,
        code: 20404,
        message: `The requested resource ${request.url} was not found`,
      })
    if (request.method === 'GET')
      return {
        status: 200,
        body: JSON.stringify(messagePage(accountSid, messages, readMessageQuery(request.url))),
      }
    if (request.method !== 'POST') return failure({ status: 405, code: 20004, message: 'Method not allowed' })
    const refusal = verdictOnMessage(request.form)
    if (refusal) return failure(refusal)
    const message = acceptedMessage(request)
    pushBounded(messages, message, keep)
    onMessage?.(message)
    return { status: 201, body: JSON.stringify(messageResource(accountSid, message)) }
  }

  const server = createCarrierServer({
    read: (incoming, body) => readRequest(incoming, body, passwords, now()),
    route,
    fault,
    keep,
  })
  return { ...server, messages }
}

function readRequest(
  incoming: http.IncomingMessage,
  body: string,
  passwords: ReadonlyMap<string, string>,
  at: number,
): TwilioRequest {
  const { authorization, ...headers } = incoming.headers
  const basic = /^Basic (.+)$/i.exec(authorization ?? '')?.[1] ?? ''
  const [username = '', ...rest] = Buffer.from(basic, 'base64').toString().split(':')
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    username,
    authorized: passwords.get(username) === rest.join(':') && rest.length > 0,
    form: Object.fromEntries(new URLSearchParams(body)),
    headers,
    at,
  }
}

function acceptedMessage({ form, at }: TwilioRequest): TwilioMessage {
  return {
    sid: `SM${randomBytes(16).toString('hex')}`,
    to: form['To'] ?? '',
    from: form['From'] ?? form['MessagingServiceSid'] ?? '',
    messagingServiceSid: form['MessagingServiceSid'] ?? null,
    body: form['Body'] ?? '',
    validityPeriod: form['ValidityPeriod'] === undefined ? null : Number(form['ValidityPeriod']),
    statusCallback: form['StatusCallback'] ?? null,
    at,
  }
}

function failure({ status, code, message }: TwilioError): { status: number; body: string } {
  const more_info = `https://www.twilio.com/docs/errors/${code}`
  return { status, body: JSON.stringify({ code, message, more_info, status }) }
}

/** A message that was accepted. */
export interface TwilioMessage {
  readonly sid: string
  readonly to: string
  /** A number, an alphanumeric sender or a messaging service's SID. */
  readonly from: string
  readonly messagingServiceSid: string | null
  readonly body: string
  /** Seconds; null when the request named none. */
  readonly validityPeriod: number | null
  readonly statusCallback: string | null
  /** ms since the epoch. */
  readonly at: number
}

/** An error as Twilio's API answers it: https://www.twilio.com/docs/usage/twilios-response */
export interface TwilioError {
  readonly status: number
  readonly code: number
  readonly message: string
}

type Form = Readonly<Record<string, string>>

/** Twilio's test credentials: https://www.twilio.com/docs/iam/test-credentials */
const TO: Readonly<Record<string, readonly [code: number, message: (number: string) => string]>> = {
  '+15005550001': [21211, number => `The 'To' number ${number} is not a valid phone number.`],
  '+15005550002': [
    21612,
    number => `The 'To' phone number: ${number}, is not currently reachable using the 'From' phone number.`,
  ],
  '+15005550003': [
    21408,
    number =>
      `Permission to send an SMS has not been enabled for the region indicated by the 'To' number: ${number}.`,
  ],
  '+15005550004': [21610, number => `Attempt to send to unsubscribed recipient ${number}.`],
  '+15005550009': [21614, number => `'To' number: ${number}, is not a valid mobile number.`],
}

const FROM: Readonly<Record<string, readonly [code: number, message: string]>> = {
  '+15005550001': [21212, "The 'From' number is not a valid phone number."],
  '+15005550007': [
    21606,
    "The 'From' phone number is not a valid, SMS-capable inbound phone number for your account.",
  ],
  '+15005550008': [21611, "This 'From' number has exceeded the maximum number of queued messages."],
}

/** Why Twilio would refuse to create this message; undefined: it would not. */
export function verdictOnMessage(form: Form): TwilioError | undefined {
  const { To: to = '', From: from = '', MessagingServiceSid: service = '', Body: body = '' } = form
  const refuse = (code: number, message: string): TwilioError => ({ status: 400, code, message })
  if (!to) return refuse(21604, "A 'To' phone number is required.")
  if (!from && !service) return refuse(21603, "A 'From' phone number is required.")
  if (!body.trim()) return refuse(21602, 'Message body is required.')
  if (body.length > 1600)
    return refuse(21617, 'The concatenated message body exceeds the 1600 character limit')
  const period = form['ValidityPeriod']
  if (period !== undefined && !(/^\d+$/.test(period) && Number(period) >= 1 && Number(period) <= 36_000))
    return refuse(21624, `The ValidityPeriod ${period} is invalid`)
  const recipient = TO[to]
  if (recipient) return refuse(recipient[0], recipient[1](to))
  if (!/^\+[1-9]\d{6,14}$/.test(to))
    return refuse(21211, `The 'To' number ${to} is not a valid phone number.`)
  const sender = FROM[from]
  if (sender) return refuse(sender[0], sender[1])
  return undefined
}

/** Whether a text fits the GSM 7-bit default alphabet and its extension (3GPP TS 23.038). */
function isGsm7(text: string): boolean {
  return /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà\f^{}\\[~\]|€]*$/.test(
    text,
  )
}

/** The resource as Twilio answers it: https://www.twilio.com/docs/messaging/api/message-resource */
export function messageResource(accountSid: string, message: TwilioMessage): Record<string, unknown> {
  const uri = `/2010-04-01/Accounts/${accountSid}/Messages/${message.sid}`
  const date = rfc2822(message.at)
  const service = message.messagingServiceSid
  return {
    account_sid: accountSid,
    api_version: '2010-04-01',
    body: message.body,
    date_created: date,
    date_sent: null,
    date_updated: date,
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: message.from === service ? null : message.from,
    messaging_service_sid: service,
    num_media: '0',
    // A messaging service chooses the sender later, and Twilio counts only then.
    num_segments: service ? '0' : String(countSegments(message.body)),
    price: null,
    price_unit: 'USD',
    sid: message.sid,
    status: service ? 'accepted' : 'queued',
    subresource_uris: { media: `${uri}/Media.json` },
    to: message.to,
    uri: `${uri}.json`,
  }
}

/** The filter and size of a list: the query of the request. */
export interface MessageQuery {
  readonly to: string | null
  readonly pageSize: number
}

/** @param url path and query of a GET of the list. */
export function readMessageQuery(url: string): MessageQuery {
  const query = new URL(url, 'http://localhost').searchParams
  return { to: query.get('To'), pageSize: Math.min(Number(query.get('PageSize') ?? 50), 1000) }
}

/** The first page of the list, newest first. */
export function messagePage(
  accountSid: string,
  messages: readonly TwilioMessage[],
  { to, pageSize }: MessageQuery,
): Record<string, unknown> {
  const uri = `/2010-04-01/Accounts/${accountSid}/Messages.json?PageSize=${pageSize}&Page=0`
  const found = messages.filter(message => to === null || message.to === to).toReversed()
  const page = found.slice(0, pageSize)
  return {
    messages: page.map(message => messageResource(accountSid, message)),
    page: 0,
    page_size: pageSize,
    start: 0,
    end: Math.max(page.length - 1, 0),
    uri,
    first_page_uri: uri,
    next_page_uri: found.length > pageSize ? `${uri.slice(0, -1)}1` : null,
    previous_page_uri: null,
  }
}

/** Segments of a text: 160 or 153 septets, 70 or 67 UTF-16 units (3GPP TS 23.038, 23.040). */
function countSegments(text: string): number {
  const gsm = isGsm7(text)
  const length = gsm ? text.length + (text.match(/[\f^{}\\[~\]|€]/g)?.length ?? 0) : text.length
  const [single, part] = gsm ? [160, 153] : [70, 67]
  return length <= single ? 1 : Math.ceil(length / part)
}

/** Twilio writes dates as `Thu, 24 Aug 2023 05:01:45 +0000`. */
function rfc2822(at: number): string {
  return new Date(at).toUTCString().replace('GMT', '+0000')
}

/** How Twilio can be made to behave. */
export const SMS_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: {
    title: 'finds the number invalid',
    fault: twilioSays(400, 21211, "Invalid 'To' Phone Number"),
  },
  country: {
    title: 'may not send to the country',
    fault: twilioSays(400, 21408, 'Permission to send an SMS has not been enabled for the region'),
  },
  later: {
    title: 'is asked too often',
    fault: twilioSays(429, 20429, 'Too Many Requests', { 'retry-after': '5' }),
  },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
}

function twilioSays(
  status: number,
  code: number,
  message: string,
  headers?: Record<string, string>,
): CarrierFault {
  const body = JSON.stringify({
    code,
    message,
    more_info: `https://www.twilio.com/docs/errors/${code}`,
    status,
  })
  return { is: 'answer', status, body, ...(headers ? { headers } : {}) }
}

/** Twilio's API, which takes every SMS and keeps the last 200. */
export const standIn: StandInModule = {
  title: 'Twilio',
  faults: SMS_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(SMS_FAULTS, changed)
    const accountSid = `AC${randomBytes(16).toString('hex')}`
    const authToken = randomBytes(16).toString('hex')
    const server = createTwilioStandIn({
      accountSid,
      authToken,
      now: () => clock.now(),
      fault: inbox.fault,
      onMessage({ sid, at, from, to, body, validityPeriod }) {
        inbox.add({ id: sid, at, from, to, body, validityPeriod })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        TWILIO_ACCOUNT_SID: accountSid,
        TWILIO_AUTH_TOKEN: authToken,
        TWILIO_FROM: '+15005550006',
        TWILIO_API_URL: url,
      },
      route: { country: 'US', number: '+12025550100' },
    }))
  },
}
