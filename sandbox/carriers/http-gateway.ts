import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type http from 'node:http'
import { join } from 'node:path'
import { objectsOf, textOf } from '../../src/providers/json-answer.ts'
import { objectOf, parseJson } from '../../src/runtime/json-object.ts'
import {
  type CarrierAnswer,
  type CarrierFault,
  createCarrierServer,
  type MessageServer,
  type MessageServerOptions,
  pushBounded,
} from './api-server.ts'
import { createSmsInbox, type NamedFaults, randomSecret, type StandInModule } from './stand-in.ts'

/** A message that was accepted. */
export interface GatewayMessage {
  /** The gateway's id of it. */
  readonly id: string
  /** Our id. */
  readonly ref: string
  readonly from: string
  /** E.164. */
  readonly to: string
  readonly body: string
  /** ms since the epoch. */
  readonly at: number
}

/** A request as it came in. */
export interface GatewayApiRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<http.IncomingHttpHeaders>
  readonly body: string
}

/** The form of one gateway's API, by its published description. */
export interface GatewayDialect {
  /** Answers a request. @param take accepts a message. */
  answer(request: GatewayApiRequest, take: (message: Omit<GatewayMessage, 'at'>) => void): CarrierAnswer
  /** A refusal by a published code. */
  refusal(code: string, words?: string): CarrierAnswer
  /** The delivery report of a message. */
  report(message: GatewayMessage, isDelivered: boolean): unknown
}

export type GatewayStandIn = MessageServer<GatewayApiRequest, GatewayMessage>

/** A stand-in of an HTTP gateway, which can misbehave. */
export function createGatewayStandIn(
  dialect: GatewayDialect,
  options: MessageServerOptions<GatewayApiRequest, GatewayMessage> = {},
): GatewayStandIn {
  const { fault, onMessage, now = Date.now, keep = 10_000 } = options
  const messages: GatewayMessage[] = []
  const server = createCarrierServer<GatewayApiRequest>({
    read: ({ method = '', url = '', headers }, body) => ({ method, url, headers, body }),
    route: request =>
      dialect.answer(request, taken => {
        const message = { ...taken, at: now() }
        pushBounded(messages, message, keep)
        onMessage?.(message)
      }),
    fault,
    keep,
  })
  return { ...server, messages }
}

/** Vonage's SMS API (https://developer.vonage.com/en/api/sms) and its balance, as far as docs/gateways/vonage.yaml uses them. */
export function createVonage({
  key,
  secret,
}: {
  readonly key: string
  readonly secret: string
}): GatewayDialect {
  const refusal = (code: string, words = `refused with ${code}`) =>
    answerOf(200, { 'message-count': '1', messages: [{ status: code, 'error-text': words }] })
  const mayEnter = (fields: URLSearchParams) =>
    fields.get('api_key') === key && fields.get('api_secret') === secret

  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      if (pathname === '/account/get-balance')
        return mayEnter(searchParams)
          ? answerOf(200, { value: 10.28, autoReload: false })
          : answerOf(401, { 'error-code': '401', 'error-code-label': 'authentication failed' })
      if (pathname !== '/sms/json' || method !== 'POST') return answerOf(404, {})
      if (headers['content-type'] !== 'application/x-www-form-urlencoded')
        return refusal('2', 'Missing api_key')
      const fields = new URLSearchParams(body)
      if (!mayEnter(fields)) return refusal('4', 'Bad Credentials')
      const [to, text, from] = ['to', 'text', 'from'].map(name => fields.get(name) ?? '')
      if (!to || !text || !from) return refusal('2', 'Missing to, from or text param')
      if (!/^[1-9]\d{6,14}$/.test(to)) return refusal('3', 'Invalid value for parameter: to')
      // It is sent in the GSM alphabet unless it says otherwise, and the rest becomes question marks.
      const shown =
        fields.get('type') === 'unicode' ? text : text.replace(/[\u1000-\u1fff\u2e80-\uffff]/g, '?')
      const [id, ref] = [randomUUID(), fields.get('client-ref') ?? '']
      take({ id, ref, from, to: `+${to}`, body: shown })
      const message = { to, 'message-id': id, status: '0', 'client-ref': ref, network: '23410' }
      return answerOf(200, {
        'message-count': '1',
        messages: [{ ...message, 'remaining-balance': '10.28', 'message-price': '0.04' }],
      })
    },
    report: ({ id, ref, from, to, at }, isDelivered) => ({
      msisdn: to.slice(1),
      to: from,
      'network-code': '23410',
      messageId: id,
      price: '0.04',
      status: isDelivered ? 'delivered' : 'failed',
      scts: '2001011400',
      'err-code': isDelivered ? '0' : '6',
      'api-key': key,
      'client-ref': ref,
      'message-timestamp': new Date(at).toISOString().slice(0, 19).replace('T', ' '),
    }),
  }
}

function answerOf(status: number, fields: object) {
  return { status, body: JSON.stringify(fields) }
}

/** Infobip's SMS API (https://www.infobip.com/docs/api/channels/sms) and its balance, as far as docs/gateways/infobip.yaml uses them. */
export function createInfobip({ key }: { readonly key: string }): GatewayDialect {
  const known = new Set<string>()
  const refusal = (code: string, words = `refused with ${code}`) =>
    code.startsWith('E')
      ? answerOf(Number(code.slice(1)), { errorCode: code, description: words, action: '', violations: [] })
      : answerOf(200, { bulkId: 'b', messages: [rowOf('', '', code, words)] })

  return {
    refusal,
    answer({ method, url, headers, body }, take) {
      if (headers.authorization !== `App ${key}`) return refusal('E401', 'Invalid or missing authentication')
      if (url === '/account/1/balance' && method === 'GET')
        return answerOf(200, { balance: 47.8, currency: 'EUR' })
      if (url !== '/sms/3/messages' || method !== 'POST') return refusal('E404', 'Not found')
      const [message] = objectsOf(objectOf(parseJson(body))?.['messages'])
      const [destination] = objectsOf(message?.['destinations'])
      const [to, ref] = [textOf(destination?.['to']), textOf(destination?.['messageId'])]
      const text = textOf(objectOf(message?.['content'])?.['text'])
      if (to === '' || text === '' || headers['content-type'] !== 'application/json')
        return refusal('E400', 'The request is invalid')
      const row = (name: string) => answerOf(200, { bulkId: 'b', messages: [rowOf(ref, to, name, name)] })
      if (known.has(ref)) return row('REJECTED_DUPLICATE_MESSAGE_ID')
      known.add(ref)
      take({ id: ref, ref, from: textOf(message?.['sender']), to: `+${to}`, body: text })
      return row('PENDING_ACCEPTED')
    },
    report: ({ id, to, at }, isDelivered) => ({
      results: [
        {
          bulkId: 'b',
          messageId: id,
          to: to.slice(1),
          sentAt: new Date(at).toISOString(),
          doneAt: new Date(at).toISOString(),
          status: isDelivered
            ? { groupId: 3, groupName: 'DELIVERED', id: 5, name: 'DELIVERED_TO_HANDSET' }
            : { groupId: 2, groupName: 'UNDELIVERABLE', id: 9, name: 'UNDELIVERABLE_NOT_DELIVERED' },
          error: {
            groupId: 0,
            groupName: 'OK',
            id: 0,
            name: isDelivered ? 'NO_ERROR' : 'EC_ABSENT_SUBSCRIBER',
          },
        },
      ],
    }),
  }
}

function rowOf(messageId: string, to: string, name: string, description: string) {
  const isPending = name.startsWith('PENDING')
  const group = { groupId: isPending ? 1 : 5, groupName: isPending ? 'PENDING' : 'REJECTED' }
  return { messageId, status: { ...group, id: 26, name, description }, destination: to }
}

/**
 * One of the examples in docs/gateways/, which the sandbox and the tests use as they stand.
 * @param url where its API is instead.
 * @param name what the gateway is called instead.
 */
export function readExample(example: string, url: string, name: string = example): string {
  const text = readFileSync(join(import.meta.dirname, '../../docs/gateways', `${example}.yaml`), 'utf8')
  return text
    .replace(/^(?! *#)(.*)https:\/\/(?:[a-z-]+\.)+[a-z]+/gm, `$1${url}`)
    .replace(new RegExp(`^${example}:`, 'm'), `${name}:`)
}

const NAME = 'http-gateway'

const refuse = (code: string, words: string): CarrierFault => ({
  is: 'answer',
  ...createVonage({ key: '', secret: '' }).refusal(code, words),
})

/** How the gateway can be made to behave. */
const GATEWAY_FAULTS: NamedFaults<CarrierFault> = {
  none: { title: 'takes every SMS', fault: null },
  recipient: { title: 'finds the number invalid', fault: refuse('6', 'Unroutable number') },
  content: { title: 'refuses the content', fault: refuse('12', 'Message too long') },
  later: { title: 'is asked too often', fault: refuse('1', 'Throttled') },
  down: { title: 'fails (HTTP 503)', fault: { is: 'answer', status: 503, body: '' } },
  silent: { title: 'takes it and never answers', fault: { is: 'stall', accept: true } },
  slow: { title: 'answers after 4 seconds', fault: { is: 'delay', ms: 4000 } },
}

/** Vonage's SMS API, used by the example of docs/gateways/vonage.yaml. */
export const standIn: StandInModule = {
  title: 'Gateway',
  faults: GATEWAY_FAULTS,
  async start({ clock, changed }) {
    const inbox = createSmsInbox(GATEWAY_FAULTS, changed)
    const login = { key: 'sandbox1', secret: randomSecret() }
    const server = createGatewayStandIn(createVonage(login), {
      now: () => clock.now(),
      fault: inbox.fault,
      onMessage({ id, at, from, to, body }) {
        inbox.add({ id, at, from, to, body })
      },
    })
    return inbox.serve(server, url => ({
      settings: {
        SMS_GATEWAYS: readExample('vonage', url, NAME),
        SMS_GATEWAY_SECRETS: JSON.stringify({ vonage_key: login.key, vonage_secret: login.secret }),
      },
      route: { country: 'GB', number: '+447400123400' },
    }))
  },
}
