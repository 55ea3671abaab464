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
import type { Body, Contract } from './contract/contract.ts'
import { createFeed, type Feed, type FeedFault } from './ddq-feed.ts'
import { createLine, type Line } from './line.ts'

/** A message to be sent to whoever subscribed to its topic. */
export interface Publication {
  readonly topic: string
  readonly id: string | number
  readonly payload: object
  /** What its payload must be by the contract; left out for a topic that it does not have. */
  readonly schema?: Body
}

export interface DdqServerOptions {
  readonly contract: Contract
  readonly authenticatePath: string
  readonly subscribePath: string
  /** Whether the application may connect with this token. */
  readonly accepts: (appId: string, token: string) => boolean
  readonly randomInt: (below: number) => number
  /** What a topic's product may be replaced by to get every product's. */
  readonly anyProduct: string
  readonly onChange?: () => void
}

/** How messages are written; the contract leaves each of these open. */
export interface Manner {
  idKey: 'message_id' | 'msgId'
  /** The stream that they come on: each subscription's own, or the authentication's. */
  on: 'subscription' | 'authentication'
  separator: '\n' | ''
}

export interface DdqServer {
  /** On 127.0.0.1; 0: any free port. Resolves with the port of {ddq_host}. */
  listen(port: number): Promise<number>
  /** Sends it; how many subscriptions it was for. It is not kept for those who come later. */
  publish(publication: Publication): number
  readonly line: Pick<Line, 'setSilent' | 'setDown' | 'cut'>
  readonly manner: Manner
  setFault(fault: FeedFault, on: boolean): void
  faults(): readonly FeedFault[]
  /** Sends the last messages once more to whoever subscribes next, as a broker does that heard no acknowledgement. */
  setRedelivery(on: boolean): void
  counts(): {
    readonly connections: number
    readonly topics: readonly string[]
    readonly sent: number
    readonly overruns: number
  }
  close(): Promise<void>
}

interface Peer {
  authenticated: boolean
  authentication: ServerHttp2Stream | undefined
  readonly feeds: { readonly topic: string; readonly feed: Feed }[]
}

const KEPT_FOR_REDELIVERY = 20

/** DDQ's side of the platform: HTTP/2 in the clear, behind a line that can fail. */
export function createDdqServer(options: DdqServerOptions): DdqServer {
  const { contract, accepts, randomInt, anyProduct, onChange = () => {} } = options
  const peers = new Map<Http2Session, Peer>()
  const faults = new Set<FeedFault>()
  const manner: Manner = { idKey: 'message_id', on: 'subscription', separator: '\n' }
  let kept: readonly { readonly topic: string; readonly text: string }[] = []
  let redelivers = false
  let sent = 0
  let overruns = 0

  const server = createServer()
  const line = createLine(() => (server.address() as AddressInfo).port)
  server.on('session', session => {
    peers.set(session, { authenticated: false, authentication: undefined, feeds: [] })
    onChange()
    session.on('error', () => {})
    session.once('close', () => {
      for (const { feed } of peers.get(session)?.feeds ?? []) feed.close()
      peers.delete(session)
      onChange()
    })
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    serve(stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  })

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const path = headers[':path'] ?? ''
    const peer = stream.session === undefined ? undefined : peers.get(stream.session)
    if (peer === undefined) return
    const known = path === options.authenticatePath || path === options.subscribePath
    if (!known) return refuse(stream, 'noInterface')
    if (headers[':method'] !== 'POST') return refuse(stream, 'method')
    const authenticates = path === options.authenticatePath
    const body = parsed(await text(stream))
    if (body === undefined) return refuse(stream, 'unparsable')
    const finding = contract.judge(
      'client',
      authenticates ? 'DDQ authenticate request' : 'DDQ subscribe request',
      body,
    )
    if (finding !== null) return refuse(stream, finding.keyword === 'required' ? 'empty' : 'invalid')
    if (authenticates) authenticate(stream, peer, body)
    else subscribe(stream, peer, String(body['topic']))
  }

  function authenticate(stream: ServerHttp2Stream, peer: Peer, body: Given): void {
    if (!accepts(String(body['app_id']), String(body['access_token']))) return refuse(stream, 'forbidden')
    peer.authenticated = true
    const open = manner.on === 'authentication'
    if (open) peer.authentication = stream
    respond(stream, 200, envelope(200, ''), !open)
  }

  function subscribe(stream: ServerHttp2Stream, peer: Peer, topic: string): void {
    if (!peer.authenticated) return refuse(stream, 'noToken')
    const own = peer.authentication === undefined
    respond(stream, 200, envelope(200, ''), !own)
    const feed = createFeed({
      stream: peer.authentication ?? stream,
      faulty: fault => faults.has(fault),
      randomInt,
      onOverrun: () => {
        overruns += 1
      },
    })
    peer.feeds.push({ topic, feed })
    if (redelivers) for (const each of kept) if (covers(topic, each.topic)) feed.send(each.text)
    onChange()
  }

  /** Whether a subscription is for a topic: the same, or the same with any product. */
  function covers(subscribed: string, topic: string): boolean {
    const [have, want] = [subscribed.split('/'), topic.split('/')]
    return have.length === want.length && have.every((part, at) => part === want[at] || part === anyProduct)
  }

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', resolve)
      })
      return line.listen(port)
    },
    publish({ topic, id, payload, schema }) {
      const body = { topic, [manner.idKey]: id, payload }
      for (const [name, value] of [
        ['DDQ message', body],
        [schema, payload],
      ] as const) {
        const finding = name === undefined ? null : contract.judge('emulator', name, value)
        if (finding !== null)
          throw new Error(`the emulator's ${finding.body} leaves the contract: ${finding.fault}`)
      }
      const written = `${stringifyExactly(body)}${manner.separator}`
      kept = [...kept, { topic, text: written }].slice(-KEPT_FOR_REDELIVERY)
      let count = 0
      for (const { feeds } of peers.values()) {
        for (const { topic: subscribed, feed } of feeds) {
          if (!covers(subscribed, topic)) continue
          feed.send(written)
          count += 1
        }
      }
      sent += count
      return count
    },
    line,
    manner,
    setFault(fault, on) {
      if (on) faults.add(fault)
      else faults.delete(fault)
    },
    faults: () => [...faults],
    setRedelivery(on) {
      redelivers = on
    },
    counts: () => ({
      connections: peers.size,
      topics: [...peers.values()].flatMap(({ feeds }) => feeds.map(({ topic }) => topic)),
      sent,
      overruns,
    }),
    async close() {
      await line.close()
      for (const session of peers.keys()) session.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

type Given = Readonly<Record<string, unknown>>

function parsed(body: string): Given | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Given) : undefined
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
