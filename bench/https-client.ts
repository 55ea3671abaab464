import tls from 'node:tls'
import { type Loop, summed } from './loop.ts'

/**
 * A keep-alive HTTPS client that costs as little as can be, because it shares the machine with what it measures: no
 * headers are parsed but Content-Length. One request at a time on each connection.
 */
export interface Client {
  /** As many requests as the connections carry, for some seconds. */
  full(seconds: number, next: () => Exchange): Promise<Loop>
  /**
   * `perSecond` requests at even intervals, whether answers come or not; times count from the moment a request was
   * due, so that a stall shows in full.
   */
  paced(perSecond: number, seconds: number, next: () => Exchange): Promise<Loop>
  close(): void
}

export interface Exchange {
  readonly request: Buffer | string
  /** Looks at the answer; throws when it is not what it must be. */
  readonly check: (status: number, body: string) => void
}

interface Line {
  exchange(one: Exchange): Promise<void>
  isOpen(): boolean
  end(): void
}

export async function openClient(options: {
  readonly port: number
  readonly ca: string
  readonly connections: number
}): Promise<Client> {
  let lines: Line[] = []
  // A service closes connections that were idle for a while, so each run opens what is missing.
  const complete = async (): Promise<void> => {
    const open = lines.filter(line => line.isOpen())
    const missing = Array.from({ length: options.connections - open.length }, async () => openLine(options))
    lines = [...open, ...(await Promise.all(missing))]
  }
  await complete()
  return {
    async full(seconds, next) {
      await complete()
      const times: number[] = []
      const began = performance.now()
      const until = began + seconds * 1000
      await Promise.all(
        lines.map(async line => {
          for (let at = performance.now(); at < until; ) {
            await line.exchange(next())
            const now = performance.now()
            times.push(now - at)
            at = now
          }
        }),
      )
      return summed(times, performance.now() - began)
    },
    async paced(perSecond, seconds, next) {
      await complete()
      return pace(lines, perSecond, seconds, next)
    },
    close() {
      for (const line of lines) line.end()
    },
  }
}

async function pace(
  lines: readonly Line[],
  perSecond: number,
  seconds: number,
  next: () => Exchange,
): Promise<Loop> {
  const free = [...lines]
  const due: number[] = []
  const times: number[] = []
  const all = Math.round(perSecond * seconds)
  const began = performance.now()
  let planned = 0
  return new Promise((resolve, reject) => {
    const start = (): void => {
      for (let line = free.at(-1); line && due.length; line = free.at(-1)) {
        free.pop()
        // Closed by the service while it was idle: the others are enough.
        if (!line.isOpen()) continue
        const at = due.shift() ?? 0
        const given = line
        given.exchange(next()).then(() => {
          times.push(performance.now() - at)
          free.push(given)
          if (times.length === all) resolve(summed(times, performance.now() - began))
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

async function openLine({ port, ca }: { readonly port: number; readonly ca: string }): Promise<Line> {
  const socket = tls.connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
  socket.setNoDelay(true)
  let held = ''
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
    held += chunk.toString('latin1')
    const head = held.indexOf('\r\n\r\n')
    if (head < 0 || !waiting) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(held.slice(0, head + 2))?.[1] ?? 0)
    if (held.length < head + 4 + length) return
    const status = Number(held.slice(9, 12))
    const body = held.slice(head + 4, head + 4 + length)
    held = held.slice(head + 4 + length)
    const { one, done, failed } = waiting
    waiting = undefined
    try {
      one.check(status, body)
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

/** A POST of JSON as bytes. */
export function postOf(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

export function getOf(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n`
}

/** The only right answer of a callback. */
export function mustBeZero(status: number, body: string): void {
  if (status !== 200 || (JSON.parse(body) as { err_code?: unknown }).err_code !== 0)
    throw new Error(`wrongly answered: HTTP ${status} ${body.slice(0, 200)}`)
}
