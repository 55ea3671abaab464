import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'

const DATA = 0
const HEADERS = 1
const SETTINGS = 4
const WINDOW_UPDATE = 8
const END_STREAM = 1
const ACK = 1
const END_HEADERS = 4
const NOTHING = Buffer.alloc(0)
/** HPACK: the indexed field `:status: 200`, and `:status: 103` written out. */
const OK = Buffer.from([0x88])
const EARLY_HINTS = Buffer.from([0x08, 3, ...Buffer.from('103')])

function frame(type: number, flags: number, stream: number, payload: Buffer = NOTHING): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const text = (length: number) => Buffer.alloc(length, 'x')
const data = (stream: number, payload: Buffer) => frame(DATA, 0, stream, payload)
const message = Buffer.from(`{"topic":"a/b","message_id":1,"payload":{"value":"${'x'.repeat(150)}"}}`)
const origins = Buffer.concat(
  Array.from({ length: 600 }, (_, n) => {
    const origin = Buffer.from(`https://host-${n}.example`)
    return Buffer.concat([Buffer.from([0, origin.length]), origin])
  }),
)

/** What is written over and over, for the stream of a subscription. */
export const FLOODS = {
  'DATA of one octet': stream => data(stream, Buffer.from('{')),
  'DATA of one octet, an object without an end': (stream, n) =>
    data(stream, Buffer.from(n === 0 ? '{' : ' ')),
  'DATA that is empty': stream => data(stream, NOTHING),
  'DATA that is no message': stream => data(stream, text(8000)),
  'DATA that is white space': stream => data(stream, Buffer.alloc(8000, ' ')),
  'objects that are no messages': stream => data(stream, Buffer.from('{}'.repeat(4000))),
  'objects without an end': stream => data(stream, Buffer.from(`{"topic":"${'x'.repeat(8000)}`)),
  HEADERS: stream => frame(HEADERS, END_HEADERS, stream, EARLY_HINTS),
  'HEADERS that are large': stream =>
    frame(
      HEADERS,
      END_HEADERS,
      stream,
      Buffer.concat([EARLY_HINTS, Buffer.from([0, 1, 0x61, 0x7f, 0x81, 0x7c]), text(16_000)]),
    ),
  trailers: stream => frame(HEADERS, END_HEADERS | END_STREAM, stream, OK),
  CONTINUATION: (stream, n) => frame(n === 0 ? HEADERS : 9, 0, stream, n === 0 ? OK : NOTHING),
  PRIORITY: stream => frame(2, 0, stream, Buffer.from([0, 0, 0, 0, 16])),
  'RST_STREAM (rapid reset)': stream => frame(3, 0, stream, Buffer.from([0, 0, 0, 8])),
  SETTINGS: () => frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100])),
  'SETTINGS that are empty': () => frame(SETTINGS, 0, 0),
  PUSH_PROMISE: stream => frame(5, END_HEADERS, stream, Buffer.from([0, 0, 0, 2, 0x82])),
  PING: () => frame(6, 0, 0, Buffer.alloc(8)),
  'PING ACK': () => frame(6, ACK, 0, Buffer.alloc(8)),
  WINDOW_UPDATE: () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1])),
  ALTSVC: () => frame(10, 0, 0, Buffer.concat([Buffer.from([0, 9]), Buffer.from('https://ah2=":1"')])),
  ORIGIN: () => frame(12, 0, 0, origins),
  'an unknown type': stream => frame(0xee, 0, stream, text(100)),
  'a frame that is too long': stream => frame(0xee, 0, stream, text(20_000)),
} as const satisfies Readonly<Record<string, (stream: number, n: number) => Buffer>>

/** Is no flood: messages as fast as they are read. */
export const MESSAGES = 'messages'
export type Flood = keyof typeof FLOODS | typeof MESSAGES

/** A connection whose flood has begun, and how many octets of it were written. */
interface Begun {
  readonly flood: Flood
  octets: number
  open: boolean
}

/**
 * A DDQ server on free ports of loopback that accepts whoever comes, and then floods: HTTP/2 written by hand, since no library sends
 * what nobody should. It keeps to the flow control, which would end the easiest floods.
 */
export async function startHostileDdq(flood: Flood) {
  const sockets = new Set<Socket>()
  const floods: Begun[] = []
  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    serve(socket, () => {
      const begun = { flood: hostile.flood, octets: 0, open: true }
      floods.push(begun)
      socket.once('close', () => (begun.open = false))
      return begun
    })
  })
  const api = createHttpServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ access_token: 'a', refresh_token: 'r', expire_in: 3600 }))
  })
  for (const each of [server, api]) await new Promise<void>(resolve => each.listen(0, '127.0.0.1', resolve))
  const portOf = (each: typeof server | typeof api) => (each.address() as AddressInfo).port
  const hostile = {
    port: portOf(server),
    /** Of the platform's API, where the client logs in. */
    authUrl: `http://127.0.0.1:${portOf(api)}`,
    /** What the next connections are flooded with. */
    flood,
    floods,
    /** Ends the connections that there are. */
    hangUp() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      hostile.hangUp()
      api.closeAllConnections()
      await Promise.all([server, api].map(each => new Promise(resolve => each.close(resolve))))
    },
  }
  return hostile
}

/** Answers the first request and ends its stream; the second one's stream is that of the flood. */
function serve(socket: Socket, begin: () => Begun): void {
  let unread = NOTHING
  let preface = true
  let requests = 0
  const credit = { connection: 65_535, stream: 65_535 }
  let resume = (): void => {}
  socket.on('error', () => {})
  socket.write(frame(SETTINGS, 0, 0))
  socket.on('data', chunk => {
    unread = Buffer.concat([unread, chunk])
    if (preface && unread.length >= 24) {
      unread = unread.subarray(24)
      preface = false
    }
    while (!preface && unread.length >= 9 && unread.length >= 9 + unread.readUIntBE(0, 3)) {
      const payload = unread.subarray(9, 9 + unread.readUIntBE(0, 3))
      const [type, flags] = [unread[3], unread[4] ?? 0]
      const stream = unread.readUInt32BE(5)
      unread = unread.subarray(9 + payload.length)
      if (type === SETTINGS && (flags & ACK) === 0) {
        for (let at = 0; at < payload.length; at += 6)
          if (payload.readUInt16BE(at) === 4) credit.stream = payload.readUInt32BE(at + 2)
        socket.write(frame(SETTINGS, ACK, 0))
      }
      if (type === WINDOW_UPDATE) {
        credit[stream === 0 ? 'connection' : 'stream'] += payload.readUInt32BE(0)
        resume()
      }
      if (type !== HEADERS) continue
      requests += 1
      socket.write(frame(HEADERS, END_HEADERS, stream, OK))
      if (requests === 1) socket.write(frame(DATA, END_STREAM, stream, Buffer.from('{}')))
      if (requests === 2) resume = writeFlood(socket, stream, credit, begin())
    }
  })
}

/** @returns what goes on once there is credit again */
function writeFlood(
  socket: Socket,
  stream: number,
  credit: { connection: number; stream: number },
  begun: Begun,
): () => void {
  const make = begun.flood === MESSAGES ? () => data(stream, message) : FLOODS[begun.flood]
  const repeated = make(stream, 1)
  const times = Math.max(1, Math.floor(64_000 / repeated.length))
  const block = Buffer.concat(Array(times).fill(repeated))
  const isData = repeated[3] === DATA
  const costs = isData ? times * (repeated.length - 9) : 0
  const write = (): void => {
    while (socket.writable && !socket.writableNeedDrain) {
      if (costs > Math.min(credit.connection, credit.stream)) return
      credit.connection -= costs
      credit.stream -= costs
      begun.octets += block.length
      socket.write(block)
    }
  }
  socket.on('drain', () => setImmediate(write))
  const first = make(stream, 0)
  if (isData) credit.connection -= first.length - 9
  if (isData) credit.stream -= first.length - 9
  socket.write(first)
  write()
  return write
}
