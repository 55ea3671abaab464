import net from 'node:net'
import tls from 'node:tls'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { CORP_ID, SMS_TOKEN, smsBody } from '../rigs/service.ts'

const PATH = `/callback/${CORP_ID}/${callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN }).current}/sms`

let taken = 0
/** A callback to a number of its own. */
function body(): string {
  taken += 1
  return JSON.stringify(smsBody({ to: String(13_800_000_000 + taken) }, { code: String(100_000 + taken) }))
}

/** What became of a callback: its err_code, `left` when its caller gave up, `closed` when its connection ended before an answer. */
export interface Fate {
  readonly became: number | 'left' | 'closed'
  /** When it was due, ms since the callers began. */
  readonly dueAt: number
  /** From when it was due to its answer, its end or its caller's leaving, ms. */
  readonly ms: number
}

export interface CallersOptions {
  /** The listener: `https:` or `http:`. */
  readonly url: string
  /** A connection of its own for each callback, or one that is free, as clients with a pool do. */
  readonly connections: 'new' | 'kept'
  /** A caller gives up after so long, ms, and closes its connection. */
  readonly patienceMs: number
}

/** Callers as they are found in the wild: each waits for an answer for so long, and leaves. */
export function createCallers({ url, connections, patienceMs }: CallersOptions) {
  const { hostname: host, port: text, protocol } = new URL(url)
  const port = Number(text)
  const idle: net.Socket[] = []
  const open = new Set<net.Socket>()

  function connect(): net.Socket {
    const socket =
      protocol === 'https:'
        ? tls.connect({ host, port, rejectUnauthorized: false })
        : net.connect({ host, port })
    socket.setNoDelay(true)
    socket.on('error', () => {})
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      const at = idle.indexOf(socket)
      if (at >= 0) idle.splice(at, 1)
    })
    return socket
  }

  /** Posts one callback. */
  function call(began: number): Promise<Fate> {
    const dueAt = performance.now() - began
    const socket = idle.pop() ?? connect()
    socket.write(postOf(connections === 'new' ? 'close' : 'keep-alive'))
    return new Promise(resolve => {
      let answer = ''
      const end = (became: Fate['became'], keep: boolean): void => {
        clearTimeout(timer)
        socket.off('data', read)
        socket.off('close', closed)
        resolve({ became, dueAt, ms: performance.now() - began - dueAt })
        if (keep && !socket.destroyed) idle.push(socket)
        else socket.destroy()
      }
      const read = (bytes: Buffer): void => {
        answer += bytes.toString('latin1')
        const code = /\r\n\r\n\{"err_code":(\d+).*\}$/s.exec(answer)?.[1]
        if (code !== undefined)
          end(Number(code), connections === 'kept' && !/\r\nconnection: close\r\n/i.test(answer))
      }
      const closed = (): void => end('closed', false)
      const timer = setTimeout(() => end('left', false), patienceMs)
      socket.on('data', read)
      socket.once('close', closed)
    })
  }

  return {
    /** So many callbacks at any time, for so long. @returns how many were answered 0 in a second. */
    async saturate(atOnce: number, seconds: number): Promise<number> {
      const began = performance.now()
      const end = began + seconds * 1000
      let taken = 0
      const one = async (): Promise<void> => {
        while (performance.now() < end) if ((await call(began)).became === 0) taken += 1
      }
      await Promise.all(Array.from({ length: atOnce }, one))
      return taken / ((performance.now() - began) / 1000)
    },
    /** So many callbacks a second at even intervals, whatever becomes of them. */
    async callAtRate(perSecond: number, seconds: number): Promise<readonly Fate[]> {
      const began = performance.now()
      const fates: Promise<Fate>[] = []
      for (let due = 0; due < seconds * 1000; ) {
        for (; fates.length * (1000 / perSecond) <= due; ) fates.push(call(began))
        await new Promise(resolve => setTimeout(resolve, 5))
        due = performance.now() - began
      }
      return Promise.all(fates)
    },
    callOnce: () => call(performance.now()),
    close(): void {
      for (const socket of open) socket.destroy()
    },
  }
}

/** Writes a callback of its own as bytes. */
export function postOf(connection = 'close'): string {
  const text = body()
  return `POST ${PATH} HTTP/1.1\r\nHost: callback\r\nConnection: ${connection}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** Counts what became of callbacks, for people. */
export function countFates(fates: readonly Fate[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { became } of fates) counts[became] = (counts[became] ?? 0) + 1
  return counts
}
