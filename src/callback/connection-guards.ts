import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { countHosts } from './host-header.ts'
import type { SourceNetworks } from './source-networks.ts'
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts'

/**
 * Closes a connection `limitMs` after its last request began. Node's own limit starts anew with every octet, and an empty line
 * begins no request: two octets a minute would keep a connection for ever.
 */
export function closeIdleConnections(handler: RequestListener, limitMs: number): RequestListener {
  const timers = new WeakMap<Socket, NodeJS.Timeout>()
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const known = timers.get(socket)
    if (known === undefined) {
      const timer = setTimeout(() => socket.destroy(), limitMs).unref()
      timers.set(socket, timer)
      socket.once('close', () => clearTimeout(timer))
    } else known.refresh()
    handler(request, response)
  }
}

/**
 * Closes a connection in two steps when its last answer is given before its request has come whole: our side at once, and the other
 * one when all has come, when the caller closes it, or after `limitMs`. What comes meanwhile is thrown away. The kernel would
 * answer it by a reset, and a caller that is still sending would lose the answer with it (RFC 9112, 9.6).
 */
export function closeInSteps(handler: RequestListener, limitMs: number): RequestListener {
  const latest = new WeakMap<Socket, IncomingMessage>()
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // It came behind the request whose answer was the last.
    if (socket.writableEnded) return
    if (!latest.has(socket)) {
      const destroySoon = socket.destroySoon.bind(socket)
      // Node calls this once the last answer is handed over.
      socket.destroySoon = () => {
        const last = latest.get(socket)
        if (last === undefined || last.complete) return destroySoon()
        last.once('end', destroySoon)
        const timer = setTimeout(() => socket.destroy(), limitMs).unref()
        socket.once('close', () => clearTimeout(timer))
        socket.end()
      }
    }
    latest.set(socket, request)
    handler(request, response)
  }
}

/** Counts a proxy's connection among those of the caller that it forwards for: otherwise the proxy would be the source with most. */
export function attributeToCaller(
  handler: RequestListener,
  unauthenticated: UnauthenticatedConnections,
  callerOf: SourceNetworks['callerOf'],
): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket, headers } = request
    const forwarded = headers['x-forwarded-for']
    if (!unauthenticated.isAuthenticated(socket))
      unauthenticated.attribute(socket, callerOf(socket.remoteAddress ?? '', forwarded?.toString()))
    handler(request, response)
  }
}

/**
 * Closes a connection that sends a second request before the answer to the first, unless it is authenticated: thousands
 * of requests fit into one read, and all of them would be answered before any other connection's turn. No HTTP client
 * does so after a POST (RFC 9112, 9.3.2). An answer is given once it is handed to the socket: over TLS its caller has it,
 * and may send again, before Node calls it finished. One that was given within the turn of the event loop that read its
 * request cannot have been waited for.
 */
export function rejectPipelining(
  handler: RequestListener,
  unauthenticated: UnauthenticatedConnections,
  onRejected: () => void,
): RequestListener {
  const latest = new WeakMap<Socket, ServerResponse>()
  const readInThisTurn = new WeakSet<Socket>()
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // Node parses a whole read, even after the socket was destroyed.
    if (socket.destroyed) return
    if (!unauthenticated.isAuthenticated(socket)) {
      const isAnswered = latest.get(socket)?.writableEnded ?? true
      if (!isAnswered || readInThisTurn.has(socket)) {
        onRejected()
        destroyWithoutStacks(socket)
        return
      }
      latest.set(socket, response)
      readInThisTurn.add(socket)
      setImmediate(() => readInThisTurn.delete(socket))
    }
    handler(request, response)
  }
}

/**
 * Answers a request that a proxy in front may have understood otherwise by a bare status, and closes: one with two Host
 * headers, or none (HTTP/1.0 needs none), and a body in another coding than `chunked` alone, which Node would take as it is
 * (RFC 9112, 3.2 and 6.1).
 */
export function rejectAmbiguousRequests(handler: RequestListener, onRejected: () => void): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const hosts = countHosts(request.rawHeaders)
    const isOld = request.httpVersion === '1.0'
    const coding = request.headers['transfer-encoding']
    const isPlain = coding === undefined || (!isOld && coding.trim().toLowerCase() === 'chunked')
    if (isPlain && (hosts === 1 || (hosts === 0 && isOld))) return handler(request, response)
    onRejected()
    response.writeHead(400, { connection: 'close', 'content-length': 0 }).end()
  }
}

/**
 * Destroys a socket on which many requests are queued. Node makes an error for each of them, and the stacks of a
 * thousand errors that nobody reads take 100 ms, so they get none.
 */
function destroyWithoutStacks(socket: Socket): void {
  const limit = Error.stackTraceLimit
  socket.prependOnceListener('close', () => {
    Error.stackTraceLimit = 0
  })
  socket.once('close', () => {
    Error.stackTraceLimit = limit
  })
  socket.destroy()
}
