import tls from 'node:tls'
import { type LoopResult, summarize } from './loop.ts'

/**
 * A keep-alive HTTPS client that costs as little as possible, because it shares the machine with what it measures: of the
 * headers it reads Content-Length alone. Each connection carries one request at a time.
 */
export interface Client {
  /** Sends as many requests as the connections carry, for some seconds (a closed loop). */
  saturate(seconds: number, next: () => Exchange): Promise<LoopResult>
  /**
   * Sends `perSecond` requests at even intervals, whether answers come or not (an open loop). Times count from the moment
   * a request was due, so that a stall shows in full.
   */
  sendAtRate(perSecond: number, seconds: number, next: () => Exchange): Promise<LoopResult>
  /**
   * Sends at even intervals what finds a free connection when it is due, and never later.
   * @returns how many were due, and how many got no answer, once all others are answered.
   */
  flood(
    perSecond: number,
    seconds: number,
    next: () => Exchange,
  ): Promise<{ readonly due: number; readonly unanswered: number }>
  close(): void
}

export interface Exchange {
  readonly request: Buffer | string
  /** Checks the answer; throws when it is wrong. */
  readonly check: (status: number, body: string, head: string) => void
}

interface Connection {
  exchange(one: Exchange): Promise<void>
  isOpen(): boolean
  end(): void
}

/** What each connection says as soon as it stands, to be kept: any answer will do. */
export const GREETING: Exchange = { request: buildGet('/'), check: () => {} }
/** Handshakes under way at most where connections greet: a busy machine takes seconds for hundreds of them. */
const HANDSHAKES = 50

/**
 * @param options.greeting is sent over each connection at once: the service hangs up on who has said nothing for 5 s, and
 *   a busy machine may take longer to open hundreds, or to use each.
 */
export async function openClient(options: {
  readonly port: number
  readonly ca: string
  readonly connections: number
  readonly greeting?: Exchange
}): Promise<Client> {
  const { greeting } = options
  let connections: Connection[] = []
  // A service closes connections that were idle for a while, so each run opens what is missing.
  const openMissing = async (): Promise<void> => {
    connections = connections.filter(each => each.isOpen())
    for (let missing: number; (missing = options.connections - connections.length) > 0; ) {
      const together = greeting === undefined ? missing : Math.min(missing, HANDSHAKES)
      const opened = await Promise.all(Array.from({ length: together }, () => openConnection(options)))
      if (greeting !== undefined) await Promise.all(opened.map(each => each.exchange(greeting)))
      connections.push(...opened)
    }
  }
  await openMissing()
  return {
    async saturate(seconds, next) {
      await openMissing()
      const times: number[] = []
      const began = performance.now()
      const until = began + seconds * 1000
      await Promise.all(
        connections.map(async connection => {
          for (let at = performance.now(); at < until; ) {
            await connection.exchange(next())
            const now = performance.now()
            times.push(now - at)
            at = now
          }
        }),
      )
      return summarize(times, performance.now() - began)
    },
    async sendAtRate(perSecond, seconds, next) {
      await openMissing()
      return sendPaced(connections, perSecond, seconds, next)
    },
    async flood(perSecond, seconds, next) {
      await openMissing()
      return flood(connections, perSecond, seconds, next)
    },
    close() {
      for (const connection of connections) connection.end()
    },
  }
}

async function sendPaced(
  connections: readonly Connection[],
  perSecond: number,
  seconds: number,
  next: () => Exchange,
): Promise<LoopResult> {
  const free = [...connections]
  const due: number[] = []
  const times: number[] = []
  const all = Math.round(perSecond * seconds)
  const began = performance.now()
  let planned = 0
  return new Promise((resolve, reject) => {
    const start = (): void => {
      for (let last = free.at(-1); last && due.length; last = free.at(-1)) {
        free.pop()
        // The service closed it while it was idle: the others are enough.
        if (!last.isOpen()) continue
        const at = due.shift() ?? 0
        const connection = last
        connection.exchange(next()).then(() => {
          times.push(performance.now() - at)
          free.push(connection)
          if (times.length === all) resolve(summarize(times, performance.now() - began))
          else start()
        }, reject)
      }
    }
    const tick = (): void => {
      const now = performance.now()
      for (; planned < all && began + (planned * 1000) / perSecond <= now; planned++)
        due.push(began + (planned * 1000) / perSecond)
      start()
      if (planned < all) setTimeout(tick, 1)
    }
    tick()
  })
}

async function flood(
  connections: readonly Connection[],
  perSecond: number,
  seconds: number,
  next: () => Exchange,
): Promise<{ readonly due: number; readonly unanswered: number }> {
  const free = [...connections]
  const underWay = new Set<Promise<void>>()
  const all = Math.round(perSecond * seconds)
  const began = performance.now()
  let due = 0
  let unanswered = 0
  while (due < all) {
    const dueNow = Math.min(all, Math.ceil(((performance.now() - began) * perSecond) / 1000))
    for (; due < dueNow; due++) {
      // The one that has been idle for longest: all of them are in use.
      const connection = free.shift()
      if (connection === undefined) continue
      const exchange = connection
        .exchange(next())
        .then(
          () => void free.push(connection),
          () => void (unanswered += 1),
        )
        .then(() => void underWay.delete(exchange))
      underWay.add(exchange)
    }
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  await Promise.all(underWay)
  return { due, unanswered }
}

async function openConnection({
  port,
  ca,
}: {
  readonly port: number
  readonly ca: string
}): Promise<Connection> {
  const socket = tls.connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
  socket.setNoDelay(true)
  let unread = ''
  let waiting:
    | { readonly one: Exchange; readonly done: () => void; readonly failed: (error: unknown) => void }
    | undefined
  const fail = (error: unknown): void => {
    waiting?.failed(error)
    waiting = undefined
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the service closed a connection')))
  socket.on('data', (chunk: Buffer) => {
    // What nobody asked for is the service's farewell, such as a 408 before the first request: the connection is spent.
    if (!waiting) return void socket.destroy()
    unread += chunk.toString('latin1')
    const head = unread.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(unread.slice(0, head + 2))?.[1] ?? 0)
    if (unread.length < head + 4 + length) return
    const status = Number(unread.slice(9, 12))
    const headers = unread.slice(0, head)
    const body = unread.slice(head + 4, head + 4 + length)
    unread = unread.slice(head + 4 + length)
    const { one, done, failed } = waiting
    waiting = undefined
    try {
      one.check(status, body, headers)
      done()
    } catch (error) {
      failed(error)
    }
  })
  return {
    exchange: async one =>
      new Promise((done, failed) => {
        // Its connection may have been closed while it was idle.
        if (socket.destroyed) return failed(new Error('the service closed an idle connection'))
        waiting = { one, done, failed }
        socket.write(one.request)
      }),
    isOpen: () => !socket.destroyed && socket.writable,
    end: () => socket.destroy(),
  }
}

/** Builds a POST of JSON. */
export function buildPost(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

export function buildGet(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n`
}

/** Throws unless the answer is HTTP 200 with err_code 0. */
export function expectErrCodeZero(status: number, body: string): void {
  if (status !== 200 || (JSON.parse(body) as { err_code?: unknown }).err_code !== 0)
    throw new Error(`wrongly answered: HTTP ${status} ${body.slice(0, 200)}`)
}
