import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { CODES, type Code } from './api.ts'
import {
  createDdqBroker,
  type DdqBroker,
  type DdqBrokerOptions,
  type DdqConnection,
  type DdqVariant,
} from './ddq-broker.ts'

export interface DdqServerOptions extends Pick<DdqBrokerOptions, 'contract' | 'randomInt' | 'anyProduct'> {
  readonly authenticatePath: string
  readonly subscribePath: string
  /** Whether the application may connect with this token. */
  readonly accepts: (appId: string, token: string) => boolean
  readonly onChange?: () => void
}

export interface DdqServer
  extends Pick<DdqBroker, 'publish' | 'setFault' | 'faults' | 'setRedelivery' | 'statistics'> {
  /** On 127.0.0.1; 0: any free port. Resolves with the port of {ddq_host}. */
  listen(port: number): Promise<number>
  readonly proxy: Pick<FaultProxy, 'setSilent' | 'setDown' | 'cut'>
  readonly variant: DdqVariant
  close(): Promise<void>
}

/** Serves the platform's data subscription (DDQ) over HTTP/2 without TLS, behind a proxy that can fail. */
export function createDdqServer(options: DdqServerOptions): DdqServer {
  const { onChange = () => {} } = options
  const variant: DdqVariant = { idKey: 'message_id', on: 'subscription', separator: '\n' }
  const broker = createDdqBroker({ ...options, variant, onChange })
  const serve = createRequestHandler(options, broker, variant)

  const server = createServer()
  const proxy = createFaultProxy(() => (server.address() as AddressInfo).port)
  server.on('session', session => {
    broker.connect(session)
    session.on('error', () => {})
    session.once('close', () => broker.disconnect(session))
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    serve(stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  })

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', resolve)
      })
      return proxy.listen(port)
    },
    publish: broker.publish,
    proxy,
    variant,
    setFault: broker.setFault,
    faults: broker.faults,
    setRedelivery: broker.setRedelivery,
    statistics: broker.statistics,
    async close() {
      await proxy.close()
      broker.disconnectAll()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Answers the two requests of a client, `authenticate` and `subscribe`, and refuses all others as the platform does. */
function createRequestHandler(
  { contract, accepts, authenticatePath, subscribePath }: DdqServerOptions,
  broker: DdqBroker,
  variant: DdqVariant,
) {
  function authenticate(stream: ServerHttp2Stream, client: DdqConnection, body: JsonObject): void {
    if (!accepts(String(body['app_id']), String(body['access_token']))) return refuse(stream, 'forbidden')
    client.authenticated = true
    const open = variant.on === 'authentication'
    if (open) client.authentication = stream
    respond(stream, 200, envelope(200, ''), !open)
  }

  function subscribe(stream: ServerHttp2Stream, client: DdqConnection, topic: string): void {
    if (!client.authenticated) return refuse(stream, 'noToken')
    respond(stream, 200, envelope(200, ''), client.authentication !== undefined)
    broker.subscribe(client, topic, client.authentication ?? stream)
  }

  return async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const path = headers[':path'] ?? ''
    const client = stream.session === undefined ? undefined : broker.connectionOf(stream.session)
    if (client === undefined) return
    if (path !== authenticatePath && path !== subscribePath) return refuse(stream, 'noInterface')
    if (headers[':method'] !== 'POST') return refuse(stream, 'method')
    const authenticates = path === authenticatePath
    const body = parseObject(await text(stream))
    if (body === undefined) return refuse(stream, 'unparsable')
    const schema = authenticates ? 'DDQ authenticate request' : 'DDQ subscribe request'
    const violation = contract.validate('client', schema, body)
    if (violation !== null) return refuse(stream, violation.keyword === 'required' ? 'empty' : 'invalid')
    if (authenticates) authenticate(stream, client, body)
    else subscribe(stream, client, String(body['topic']))
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

/** A TCP proxy between a client and a server of this machine that can stop forwarding or close its connections. */
export interface FaultProxy {
  /** On 127.0.0.1; 0: any free port. Resolves with the port. */
  listen(port: number): Promise<number>
  /** While on, nothing is forwarded in either direction, and every connection stays open. */
  setSilent(silent: boolean): void
  /** While on, new connections are closed at once; switching it on resets those that are open. */
  setDown(down: boolean): void
  /** Resets every open connection and returns their number. */
  cut(): number
  close(): Promise<void>
}

/** @param target gives the port on 127.0.0.1 to which it forwards. */
export function createFaultProxy(target: () => number): FaultProxy {
  const pairs = new Set<readonly [Socket, Socket]>()
  let silent = false
  let down = false

  const server = createTcpServer(near => {
    if (down) return void near.destroy()
    const far = connect(target(), '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    forward(near, far, () => silent)
    forward(far, near, () => silent)
    for (const socket of pair) socket.on('close', () => pairs.delete(pair))
    if (silent) pausePair(pair)
  })

  function pausePair(pair: readonly [Socket, Socket]): void {
    for (const socket of pair) socket.pause()
  }

  function cut(): number {
    const count = pairs.size
    for (const [near, far] of pairs) {
      // A reset after our own FIN fails (libuv: EINVAL), and Node 24 then neither closes the socket nor ends the process.
      if (near.writableEnded) near.destroy()
      else near.resetAndDestroy()
      far.destroy()
    }
    return count
  }

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, '127.0.0.1', resolve)
      })
      return (server.address() as AddressInfo).port
    },
    setSilent(next) {
      silent = next
      for (const pair of pairs) {
        if (silent) pausePair(pair)
        else for (const socket of pair) socket.resume()
      }
    },
    setDown(next) {
      down = next
      if (down) cut()
    },
    cut,
    async close() {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Forwards one direction, as fast as it is read; when one side fails or ends, the other is closed too. */
function forward(from: Socket, to: Socket, isSilent: () => boolean): void {
  from.setNoDelay()
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => {
    if (!isSilent()) from.resume()
  })
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}
