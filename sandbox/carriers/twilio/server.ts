import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
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

/** What to do with a request instead of answering it as Twilio does. */
export type TwilioFault =
  /** Answers so; `accept`: the message counts as accepted all the same. */
  | {
      readonly is: 'answer'
      readonly accept?: boolean
      readonly status: number
      readonly body: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Never answers; `accept`: the message counts as accepted all the same. */
  | { readonly is: 'stall'; readonly accept?: boolean }
  /** Resets the connection; `accept`: the message counts as accepted all the same. */
  | { readonly is: 'reset'; readonly accept?: boolean }
  /** Accepts, sends the head and half of the answer, then nothing (or a reset). */
  | { readonly is: 'half'; readonly reset?: boolean }
  /** Answers as usual, later. */
  | { readonly is: 'delay'; readonly ms: number }

export interface TwilioStandIn {
  /** Listens for plain HTTP and gives the port; 0: any free one. */
  listen(port?: number, host?: string): Promise<{ port: number }>
  /** Accepted messages, oldest first, at most `keep` of them. */
  readonly messages: readonly TwilioMessage[]
  /** Every request, oldest first, at most `keep` of them. */
  readonly requests: readonly TwilioRequest[]
  /** Open connections. */
  readonly connections: () => number
  close(): Promise<void>
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
  readonly fault?: (request: TwilioRequest) => TwilioFault | undefined
  readonly keep?: number
  readonly now?: () => number
}): TwilioStandIn {
  const { accountSid, onMessage, fault, keep = 10_000, now = Date.now } = options
  const passwords = new Map([...Object.entries(options.keys ?? {}), [accountSid, options.authToken]])
  const messages: TwilioMessage[] = []
  const requests: TwilioRequest[] = []
  const open = new Set<import('node:net').Socket>()

  const server = http.createServer({ keepAliveTimeout: 30_000 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', () => {})
    incoming.on('end', () => {
      const request = readRequest(incoming, Buffer.concat(chunks).toString(), passwords, now())
      remember(requests, request, keep)
      act(request, response, fault?.(request))
    })
  })
  server.on('connection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })

  function act(request: TwilioRequest, response: http.ServerResponse, doing: TwilioFault | undefined): void {
    if (doing?.is === 'answer') {
      if (doing.accept) route(request)
      return write(response, doing.status, doing.body, doing.headers)
    }
    if ((doing?.is === 'stall' || doing?.is === 'reset') && !doing.accept) {
      if (doing.is === 'reset') response.socket?.resetAndDestroy()
      return
    }
    const { status, body } = route(request)
    if (doing?.is === 'stall') return
    if (doing?.is === 'reset') return void response.socket?.resetAndDestroy()
    if (doing?.is === 'half') return writeHalf(response, status, body, doing.reset === true)
    if (doing?.is === 'delay') return void setTimeout(() => write(response, status, body), doing.ms)
    write(response, status, body)
  }

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
    remember(messages, message, keep)
    onMessage?.(message)
    return { status: 201, body: JSON.stringify(messageResource(accountSid, message)) }
  }

  return {
    messages,
    requests,
    connections: () => open.size,
    listen: (port = 0, host = '127.0.0.1') =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve({ port: (server.address() as AddressInfo).port })
        })
      }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
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

function write(
  response: http.ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json;charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}

function writeHalf(response: http.ServerResponse, status: number, body: string, reset: boolean): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.write(body.slice(0, body.length / 2), () => {
    // A moment, so that the half has left before the reset throws unsent bytes away.
    if (reset) setTimeout(() => response.socket?.resetAndDestroy(), 20)
  })
}

function remember<T>(list: T[], item: T, keep: number): void {
  list.push(item)
  if (list.length > keep) list.shift()
}
