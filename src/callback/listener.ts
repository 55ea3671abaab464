import { randomBytes } from 'node:crypto'
import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import https from 'node:https'
import { Socket } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { monotonic } from '../runtime/clock.ts'
import { createTimeSlices } from '../runtime/event-loop.ts'
import { createAnswer, encodeAnswer } from './answers.ts'
import type { SourceNetworks } from './authenticate.ts'
import type { Descriptors } from './descriptors.ts'
import type { UnauthenticatedConnections } from './unauthenticated-connections.ts'
import { createUnauthenticatedConnections } from './unauthenticated-connections.ts'

/** The time limit of a TLS handshake, a head and a whole request, ms. The largest body takes 100 ms on a phone. */
const READ_LIMIT_MS = 5000
/** How often Node looks for stalled requests, ms. */
const CHECK_MS = 1000
/**
 * Limit of an idle connection: longer than the usual 60 s of load balancers, so that they close first. Empty lines keep one longer; that
 * of a stranger holds nobody's place, see unauthenticated-connections.ts.
 */
const KEEP_ALIVE_MS = 75_000
/** The rest of a request that was answered before it had come whole is thrown away for so long, ms. */
const LAST_OCTETS_MS = 2000
/** The time that a turn of the event loop spends on beginning handshakes, ms: each takes about one, and leads to a callback of its own. */
const HANDSHAKES_MS = 5
/** A key of session tickets is used for so long, ms. */
const TICKET_KEY_MS = 60 * 60_000
/** Octets of all headers: the platform's have some 300. Node's default is twice as much. */
const MAX_HEAD = 8 * 1024
/** The most connections that have not shown the key, of which every source has a share, and the most connections in all. */
const MOST_UNAUTHENTICATED = 1000
const MOST_CONNECTIONS = 10_000

/** Compiles the schema of each channel's bodies once per process. */
const ajv = new Ajv({ useDefaults: true, allowUnionTypes: true, validateSchema: false })

interface PublicListenerOptions {
  /** The options of Node's HTTPS server; undefined: plain HTTP, behind a proxy that ends TLS. */
  readonly tls: object | undefined
  /** Called for bytes that are not HTTP, requests that never ended, and pipelined ones without authentication. */
  readonly onNotHttp: () => void
  /** Tells for whom a trusted proxy speaks; undefined when none is trusted. */
  readonly callerOf: SourceNetworks['callerOf'] | undefined
  readonly descriptors: Descriptors
  /** Answers a URL that the router cannot decode; Fastify's own answer repeats the URL, with the key in it. */
  readonly onBadUrl: (reply: FastifyReply) => void
}

/** The listener that the platform reaches, without its routes, guarded against slow, idle and noisy clients. */
export function createPublicListener(options: PublicListenerOptions) {
  const { tls, onNotHttp, onBadUrl, callerOf, descriptors } = options
  const most = Math.min(MOST_UNAUTHENTICATED, descriptors.forStrangers)
  const unauthenticated = createUnauthenticatedConnections(most)
  const app: FastifyInstance = Fastify({
    serverFactory: (handler: RequestListener) => {
      const guarded = rejectPipelining(
        rejectAmbiguousRequests(handler, onNotHttp),
        unauthenticated,
        onNotHttp,
      )
      const listener =
        callerOf === undefined ? guarded : attributeToCaller(guarded, unauthenticated, callerOf)
      return createServer(tls, closeInSteps(listener), unauthenticated, descriptors)
    },
    // Fastify's log prints the URL, with the key in it.
    logger: false,
    forceCloseConnections: 'idle',
    // A callback that comes over an open connection while the service ends is served like any other.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      // More of a head that was too large, see endWithStatus.
      if (socket.writableEnded) return
      onNotHttp()
      endWithStatus(error.code ?? '', socket)
    },
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) => onBadUrl(reply),
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: 256,
      // The signature is checked on the raw query: how a `+` is decoded is its own question.
      querystringParser: () => ({}),
    },
  } as object)
  app.setValidatorCompiler(({ schema }) => ajv.compile(schema))
  return { app, unauthenticated }
}

function createServer(
  tls: object | undefined,
  handler: RequestListener,
  unauthenticated: UnauthenticatedConnections,
  descriptors: Descriptors,
): Server {
  const limits = {
    connectionsCheckingInterval: CHECK_MS,
    headersTimeout: READ_LIMIT_MS,
    requestTimeout: READ_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD,
    // Node would answer each of thousands that come in one read; ours comes after the check for pipelining.
    requireHostHeader: false,
  }
  const server =
    tls === undefined
      ? http.createServer(limits, handler)
      : https.createServer(
          { ...limits, handshakeTimeout: READ_LIMIT_MS, allowHalfOpen: true, ...tls },
          handler,
        )
  if (server instanceof https.Server) {
    delayHandshake(server, READ_LIMIT_MS, unauthenticated.isAccepting)
    renewTicketKeys(server, TICKET_KEY_MS)
  }
  // A caller may end its side behind its request and wait for the answer; Node would end ours, too, and lose it.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', descriptors.note)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', unauthenticated.add)
  // Node would answer 417 to each without asking anybody, pipelined or not. An expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', handler)
  return server
}

/**
 * Replaces the key of session tickets again and again. OpenSSL would use one as long as the process lives, and whoever got
 * hold of it could read every TLS 1.2 connection that was recorded and had a ticket, forward secrecy or not.
 */
export function renewTicketKeys(server: TlsServer, everyMs: number): void {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(48)), everyMs).unref()
  server.once('close', () => clearInterval(timer))
}

const HEAD_TOO_LARGE = createAnswer('head', `the head of the request is larger than ${MAX_HEAD} octets`)

/**
 * Answers bytes that are not HTTP, or a request that never ended, with a status without a body, and one whose head is too
 * large in our usual way; then it closes. Like Node's own handler it does not wait for the write: a socket whose TLS
 * handshake never ended would never be done writing. Only the rest of a head that is too large is waited for.
 */
function endWithStatus(code: string, socket: Socket): void {
  const isTooLarge = code === 'HPE_HEADER_OVERFLOW'
  if (code !== 'ECONNRESET' && socket.writable) {
    const [status, body] =
      code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', '']
        : isTooLarge
          ? ['431 Request Header Fields Too Large', encodeAnswer(HEAD_TOO_LARGE)]
          : ['400 Bad Request', '']
    const type = body === '' ? '' : 'Content-Type: application/json; charset=utf-8\r\n'
    socket.write(
      `HTTP/1.1 ${status}\r\nConnection: close\r\n${type}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  if (isTooLarge) endOurSide(socket)
  else socket.destroy()
}

/**
 * Ends our side of a connection whose caller may still be sending, and throws away what comes until the caller closes it, or for so
 * long. The kernel would answer it by a reset, and the caller would lose the answer with it (RFC 9112, 9.6).
 */
function endOurSide(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LAST_OCTETS_MS).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end()
}

/**
 * Closes a connection in two steps when its last answer is given before its request has come whole: our side at once, and the other
 * one when all has come, when the caller closes it, or after a while.
 */
function closeInSteps(handler: RequestListener): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // It came behind the request whose answer was the last.
    if (socket.writableEnded) return
    // Node calls this once the last answer is handed over; of several requests it is the latest one's.
    socket.destroySoon = () => {
      if (request.complete) return Socket.prototype.destroySoon.call(socket)
      request.once('end', () => Socket.prototype.destroySoon.call(socket))
      endOurSide(socket)
    }
    handler(request, response)
  }
}

/** Counts a proxy's connection among those of the caller that it forwards for: otherwise the proxy would be the source with most. */
function attributeToCaller(
  handler: RequestListener,
  unauthenticated: UnauthenticatedConnections,
  callerOf: SourceNetworks['callerOf'],
): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket, headers } = request
    const forwarded = headers['x-forwarded-for']
    unauthenticated.attribute(socket, () => callerOf(socket.remoteAddress ?? '', forwarded?.toString()))
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
function rejectAmbiguousRequests(handler: RequestListener, onRejected: () => void): RequestListener {
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

/**
 * Begins TLS at a connection's first bytes only: its objects take 50 KB and most of the time that a connection costs,
 * and strangers who connect by ten thousands a second and say nothing would have them made. Handshakes begin in short slices of
 * the event loop, so that connections are accepted and requests are answered meanwhile. Whose caller has left has none.
 *
 * @param limitMs how long the first bytes may take; the handshake has its own limit from then on.
 */
function delayHandshake(server: TlsServer, limitMs: number, isAccepting: () => boolean): void {
  const [beginTls] = server.listeners('connection')
  if (beginTls === undefined) throw new Error('the TLS server does not listen to its connections')
  const inSlices = createTimeSlices(HANDSHAKES_MS, monotonic, isAccepting)
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const giveUp = () => void socket.destroy()
    socket.on('error', giveUp)
    socket.setTimeout(limitMs, giveUp)
    // Node hands over what was read by then. Nothing was when the caller has ended.
    socket.once('readable', () => {
      const { readableLength } = socket
      if (readableLength === 0) return giveUp()
      // The stream says so, too, when it ends, and then there is no more to read.
      const noteMore = () => {
        if (socket.readableLength === readableLength) giveUp()
      }
      socket.on('readable', noteMore)
      inSlices(() => {
        if (socket.destroyed) return
        socket.off('readable', noteMore)
        socket.setTimeout(0, giveUp)
        socket.off('error', giveUp)
        beginTls.call(server, socket)
      })
    })
  })
}

/**
 * Counts the Host headers of a request; Node keeps the first alone. With two, a proxy in front may have gone by the other
 * one; HTTP/1.1 asks for exactly one, and for a 400 otherwise (RFC 9112, 3.2).
 * @param rawHeaders names and values in turn.
 */
export function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
