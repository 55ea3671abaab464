import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import { type CarrierFault, type CarrierServer, createCarrierServer, pushBounded } from '../api-server.ts'
import {
  accountResource,
  messagePage,
  messageResource,
  readMessageQuery,
  type TwilioError,
  type TwilioMessage,
  verdictOnMessage,
} from './answers.ts'

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

export interface TwilioStandIn extends CarrierServer<TwilioRequest> {
  /** Accepted messages, oldest first, at most `keep` of them. */
  readonly messages: readonly TwilioMessage[]
}

/**
 * Twilio's API as far as sending an SMS needs it, for trying and testing without an account: creates messages
 * (`POST /2010-04-01/Accounts/{Sid}/Messages.json`: 201 with a Message resource, or an error with Twilio's code) and
 * shows the account (`GET /2010-04-01/Accounts/{Sid}.json`). Numbers behave as with Twilio's test credentials:
 * to +15005550001 is invalid (21211), …0002 unroutable (21612), …0003 not permitted (21408), …0004 blocked (21610),
 * …0009 no mobile (21614); from …0001 is invalid (21212), …0007 not owned (21606), …0008 has a full queue (21611).
 *
 * @param options.onMessage called for each accepted message, before it is answered.
 * @param options.fault asked for each request once its body was read; undefined: answer as Twilio does.
 * @param options.keys API keys that may be used instead of the account: SID → secret.
 * @param options.keep how many messages and requests to remember, 10,000 by default.
 * @param options.now ms since the epoch.
 */
export function createTwilioStandIn(options: {
  readonly accountSid: string
  readonly authToken: string
  readonly keys?: Readonly<Record<string, string>>
  readonly onMessage?: (message: TwilioMessage) => void
  readonly fault?: (request: TwilioRequest) => CarrierFault | undefined
  readonly keep?: number
  readonly now?: () => number
}): TwilioStandIn {
  const { accountSid, onMessage, fault, keep = 10_000, now = Date.now } = options
  const passwords = new Map([...Object.entries(options.keys ?? {}), [accountSid, options.authToken]])
  const messages: TwilioMessage[] = []

  function route(request: TwilioRequest): { status: number; body: string } {
    const account = /^\/2010-04-01\/Accounts\/([^/?]+?)(\/Messages)?\.json(?:\?|$)/.exec(request.url)
    if (!account)
      return failure({ status: 404, code: 20404, message: 'The requested resource was not found' })
    if (!request.authorized) return failure({ status: 401, code: 20003, message: 'Authenticate' })
    if (account[1] !== accountSid)
      return failure({
        status: 404,
        code: 20404,
        message: `The requested resource ${request.url} was not found`,
      })
    if (!account[2]) return { status: 200, body: JSON.stringify(accountResource(accountSid, request.at)) }
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
