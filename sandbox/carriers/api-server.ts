import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A fault that is played instead of answering a request as the carrier does. */
export type CarrierFault =
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

export interface CarrierAnswer {
  readonly status: number
  readonly body: string
}

/** A stand-in of a carrier's API. */
export interface CarrierServer<Request> {
  /** Listens for plain HTTP and gives the port; 0: any free one. */
  listen(port?: number, host?: string): Promise<{ port: number }>
  /** Every request, oldest first, at most `keep` of them. */
  readonly requests: readonly Request[]
  /** Open connections. */
  readonly connections: () => number
  close(): Promise<void>
}

/** A stand-in of a carrier that takes messages. */
export interface MessageServer<Request, Message> extends CarrierServer<Request> {
  /** Accepted messages, oldest first, at most `keep` of them. */
  readonly messages: readonly Message[]
}

/** What a stand-in is given beside its account. */
export interface MessageServerOptions<Request, Message> {
  /** Called for each accepted message, before it is answered. */
  readonly onMessage?: (message: Message) => void
  /** Asked for each request once its body was read; undefined: answer as the carrier does. */
  readonly fault?: ((request: Request) => CarrierFault | undefined) | undefined
  /** How many messages and requests to remember, 10,000 by default. */
  readonly keep?: number
  /** ms since the epoch. */
  readonly now?: () => number
}

/**
 * The HTTP half of a carrier's stand-in, which can misbehave.
 *
 * @param options.read makes of a request what is remembered of it.
 * @param options.route answers it as the carrier does.
 * @param options.fault asked for each request once its body was read; undefined: answer as the carrier does.
 */
export function createCarrierServer<Request>(options: {
  readonly read: (incoming: http.IncomingMessage, body: string) => Request
  readonly route: (request: Request) => CarrierAnswer
  readonly fault?: ((request: Request) => CarrierFault | undefined) | undefined
  readonly keep: number
}): CarrierServer<Request> {
  const { read, route, fault, keep } = options
  const requests: Request[] = []
  const open = new Set<Socket>()

  const server = http.createServer({ keepAliveTimeout: 30_000 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', () => {})
    incoming.on('end', () => {
      const request = read(incoming, Buffer.concat(chunks).toString())
      pushBounded(requests, request, keep)
      answer(response, () => route(request), fault?.(request))
    })
  })
  server.on('connection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })

  return {
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

/** Answers, or plays a fault instead. @param handle accepts the message, and gives the carrier's answer */
function answer(
  response: http.ServerResponse,
  handle: () => CarrierAnswer,
  fault: CarrierFault | undefined,
): void {
  if (fault?.is === 'answer') {
    if (fault.accept) handle()
    return write(response, fault.status, fault.body, fault.headers)
  }
  if ((fault?.is === 'stall' || fault?.is === 'reset') && !fault.accept) {
    if (fault.is === 'reset') response.socket?.resetAndDestroy()
    return
  }
  const { status, body } = handle()
  if (fault?.is === 'stall') return
  if (fault?.is === 'reset') return void response.socket?.resetAndDestroy()
  if (fault?.is === 'half') return writeHalf(response, status, body, fault.reset === true)
  if (fault?.is === 'delay') return void setTimeout(() => write(response, status, body), fault.ms)
  write(response, status, body)
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

/** Puts an item at the end of a list, which forgets its first beyond `keep`. */
export function pushBounded<T>(list: T[], item: T, keep: number): void {
  list.push(item)
  if (list.length > keep) list.shift()
}
