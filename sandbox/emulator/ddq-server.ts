import {
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { stringifyExactly } from '../../src/platform/exact-json.ts'
import { CODES, type Code } from './api-answers.ts'
import type { Contract, SchemaName } from './contract/contract.ts'
import { createFeed, type Feed, type FeedFault } from './ddq-feed.ts'
import { createFaultProxy, type FaultProxy } from './fault-proxy.ts'

/** A message for the subscribers of its topic. */
export interface Publication {
  readonly topic: string
  readonly id: string | number
  readonly payload: object
  /** Schema of its payload; left out for a topic that the contract does not have. */
  readonly schema?: SchemaName
}

export interface DdqServerOptions {
  readonly contract: Contract
  readonly authenticatePath: string
  readonly subscribePath: string
  /** Whether the application may connect with this token. */
  readonly accepts: (appId: string, token: string) => boolean
  readonly randomInt: (below: number) => number
  /** The wildcard that a topic may have in place of a product. */
  readonly anyProduct: string
  readonly onChange?: () => void
}

/** What the contract leaves open about how messages are sent. */
export interface DdqVariant {
  idKey: 'message_id' | 'msgId'
  /** The HTTP/2 stream that messages are sent on: each subscription's own, or the authentication's. */
  on: 'subscription' | 'authentication'
  separator: '\n' | ''
}

export interface DdqServer {
  /** On 127.0.0.1; 0: any free port. Resolves with the port of {ddq_host}. */
  listen(port: number): Promise<number>
  /** Sends a message to its subscriptions and returns their number. Who subscribes later does not get it. */
  publish(publication: Publication): number
  readonly proxy: Pick<FaultProxy, 'setSilent' | 'setDown' | 'cut'>
  readonly variant: DdqVariant
  setFault(fault: FeedFault, on: boolean): void
  faults(): readonly FeedFault[]
  /** Makes each new subscription get the last messages once more, as from a broker that got no acknowledgement. */
  setRedelivery(on: boolean): void
  statistics(): {
    readonly connections: number
    readonly topics: readonly string[]
    readonly sent: number
    readonly overruns: number
  }
  close(): Promise<void>
}

interface ClientConnection {
  authenticated: boolean
  authentication: ServerHttp2Stream | undefined
  readonly feeds: { readonly topic: string; readonly feed: Feed }[]
}

const KEPT_FOR_REDELIVERY = 20

/** Serves the platform's data subscription (DDQ) over HTTP/2 without TLS, behind a proxy that can fail. */
export function createDdqServer(options: DdqServerOptions): DdqServer {
  const { contract, accepts, randomInt, anyProduct, onChange = () => {} } = options
  const clients = new Map<Http2Session, ClientConnection>()
  const faults = new Set<FeedFault>()
  const variant: DdqVariant = { idKey: 'message_id', on: 'subscription', separator: '\n' }
  let recent: readonly { readonly topic: string; readonly text: string }[] = []
  let redelivering = false
  let sent = 0
  let overruns = 0

  const server = createServer()
  const proxy = createFaultProxy(() => (server.address() as AddressInfo).port)
  server.on('session', session => {
    clients.set(session, { authenticated: false, authentication: undefined, feeds: [] })
    onChange()
    session.on('error', () => {})
    session.once('close', () => {
      for (const { feed } of clients.get(session)?.feeds ?? []) feed.close()
      clients.delete(session)
      onChange()
    })
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    serve(stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  })

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const path = headers[':path'] ?? ''
    const client = stream.session === undefined ? undefined : clients.get(stream.session)
    if (client === undefined) return
    const known = path === options.authenticatePath || path === options.subscribePath
    if (!known) return refuse(stream, 'noInterface')
    if (headers[':method'] !== 'POST') return refuse(stream, 'method')
    const authenticates = path === options.authenticatePath
    const body = parseObject(await text(stream))
    if (body === undefined) return refuse(stream, 'unparsable')
    const violation = contract.validate(
      'client',
      authenticates ? 'DDQ authenticate request' : 'DDQ subscribe request',
      body,
    )
    if (violation !== null) return refuse(stream, violation.keyword === 'required' ? 'empty' : 'invalid')
    if (authenticates) authenticate(stream, client, body)
    else subscribe(stream, client, String(body['topic']))
  }

  function authenticate(stream: ServerHttp2Stream, client: ClientConnection, body: JsonObject): void {
    if (!accepts(String(body['app_id']), String(body['access_token']))) return refuse(stream, 'forbidden')
    client.authenticated = true
    const open = variant.on === 'authentication'
    if (open) client.authentication = stream
    respond(stream, 200, envelope(200, ''), !open)
  }

  function subscribe(stream: ServerHttp2Stream, client: ClientConnection, topic: string): void {
    if (!client.authenticated) return refuse(stream, 'noToken')
    const own = client.authentication === undefined
    respond(stream, 200, envelope(200, ''), !own)
    const feed = createFeed({
      stream: client.authentication ?? stream,
      faulty: fault => faults.has(fault),
      randomInt,
      onOverrun: () => {
        overruns += 1
      },
    })
    client.feeds.push({ topic, feed })
    if (redelivering) for (const each of recent) if (matchesTopic(topic, each.topic)) feed.send(each.text)
    onChange()
  }

  /** Whether a subscription is for a topic: for the same one, or for the same one of any product. */
  function matchesTopic(subscribed: string, topic: string): boolean {
    const [have, want] = [subscribed.split('/'), topic.split('/')]
    return have.length === want.length && have.every((part, at) => part === want[at] || part === anyProduct)
  }

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', resolve)
      })
      return proxy.listen(port)
    },
    publish({ topic, id, payload, schema }) {
      const body = { topic, [variant.idKey]: id, payload }
      for (const [name, value] of [
        ['DDQ message', body],
        [schema, payload],
      ] as const) {
        const violation = name === undefined ? null : contract.validate('emulator', name, value)
        if (violation !== null)
          throw new Error(`the emulator's ${violation.body} leaves the contract: ${violation.fault}`)
      }
      const line = `${stringifyExactly(body)}${variant.separator}`
      recent = [...recent, { topic, text: line }].slice(-KEPT_FOR_REDELIVERY)
      let count = 0
      for (const { feeds } of clients.values()) {
        for (const { topic: subscribed, feed } of feeds) {
          if (!matchesTopic(subscribed, topic)) continue
          feed.send(line)
          count += 1
        }
      }
      sent += count
      return count
    },
    proxy,
    variant,
    setFault(fault, on) {
      if (on) faults.add(fault)
      else faults.delete(fault)
    },
    faults: () => [...faults],
    setRedelivery(on) {
      redelivering = on
    },
    statistics: () => ({
      connections: clients.size,
      topics: [...clients.values()].flatMap(({ feeds }) => feeds.map(({ topic }) => topic)),
      sent,
      overruns,
    }),
    async close() {
      await proxy.close()
      for (const session of clients.keys()) session.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

type JsonObject = Readonly<Record<string, unknown>>

function parseObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function envelope(code: number, msg: string): string {
  const status = code === 200 ? 200 : Math.floor(code / 10_000)
  return `${JSON.stringify({ code, status, msg, data: {} })}\n`
}

function respond(stream: ServerHttp2Stream, status: number, body: string, last: boolean): void {
  if (stream.destroyed) return
  stream.respond({
    [constants.HTTP2_HEADER_STATUS]: status,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/json',
  })
  if (last) stream.end(body)
  else stream.write(body)
}

function refuse(stream: ServerHttp2Stream, name: Code): void {
  const code = CODES[name]
  respond(stream, Math.floor(code / 10_000), envelope(code, name), true)
}
