import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import {
  createUnauthenticatedConnections,
  type UnauthenticatedConnections,
} from './unauthenticated-connections.ts'

/** A stalled TLS handshake, head or whole request ends after this long, ms. The largest body takes 100 ms on a phone. */
const READ_LIMIT_MS = 5000
/** How often Node looks for them, ms. */
const CHECK_MS = 1000
/** Longer than the usual 60 s of load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000
/** Octets of all headers: the platform's have some 300. Node's default is twice as much. */
const MAX_HEAD = 8 * 1024
/** Connections of who has not shown the key, and of all. */
const MOST_STRANGERS = 1000
const MOST_CONNECTIONS = 10_000

export interface PublicListenerOptions {
  /** What Node's HTTPS server is made with; undefined: plain HTTP, behind a proxy that ends TLS. */
  readonly tls: object | undefined
  /** Hears of bytes that are not HTTP, of requests that never ended, and of a stranger's pipelined ones. */
  readonly notHttp: () => void
  /** Answers what the router cannot make sense of; Fastify's own answer repeats the URL, with the key in it. */
  readonly nonsense: (request: FastifyRequest, reply: FastifyReply) => void
}

/** The listener that the platform reaches, without its routes: what protects it from slow, idle and noisy clients. */
export function createPublicListener(options: PublicListenerOptions): {
  readonly app: FastifyInstance
  readonly strangers: UnauthenticatedConnections
} {
  const { tls, notHttp, nonsense } = options
  const strangers = createUnauthenticatedConnections(MOST_STRANGERS)
  const app = Fastify({
    serverFactory: (handler: RequestListener) =>
      createServer(tls, onlyInTurn(handler, strangers, notHttp), strangers),
    // Ours instead: the default log prints the URL, with the key in it.
    logger: false,
    forceCloseConnections: 'idle',
    // A callback that comes over an open connection while we end is served like any other.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      notHttp()
      farewell(error.code ?? '', socket)
    },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) =>
      nonsense(request, reply),
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: 256,
      // The query is read raw: how its `+` is decoded is a question of the signature's.
      querystringParser: () => ({}),
    },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        allowUnionTypes: true,
      },
    },
  } as object)
  return { app, strangers }
}

function createServer(
  tls: object | undefined,
  handler: RequestListener,
  strangers: UnauthenticatedConnections,
): Server {
  const limits = {
    connectionsCheckingInterval: CHECK_MS,
    headersTimeout: READ_LIMIT_MS,
    requestTimeout: READ_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD,
  }
  const server =
    tls === undefined
      ? http.createServer(limits, handler)
      : https.createServer({ ...limits, handshakeTimeout: READ_LIMIT_MS, ...tls }, handler)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', socket => strangers.add(socket))
  return server
}

/**
 * Hangs up on a stranger who does not wait for the answer to one request before sending the next: thousands fit into
 * what is read at once, and all of them would be answered before anybody else's turn. No client of HTTP does so after
 * a POST (RFC 9112, 9.3.2).
 */
function onlyInTurn(
  handler: RequestListener,
  strangers: UnauthenticatedConnections,
  hungUp: () => void,
): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // What was read at once is parsed to its end, whatever became of the socket.
    if (socket.destroyed) return
    // A response has its socket once those before it are done.
    if (response.socket === null && !strangers.isAuthenticated(socket)) {
      hungUp()
      hangUp(socket)
      return
    }
    handler(request, response)
  }
}

/**
 * Destroys a socket on which many requests are queued. Node makes an error for each of them, and the stack of a
 * thousand errors that nobody reads takes 100 ms, so they get none.
 */
function hangUp(socket: Socket): void {
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
 * The last words to who does not speak HTTP, or never ends: a status without a body. As Node's own handler does, the
 * socket is not waited for: one whose TLS handshake never ended would never be done writing.
 */
function farewell(code: string, socket: Socket): void {
  if (code !== 'ECONNRESET' && socket.writable) {
    const status =
      code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : code === 'HPE_HEADER_OVERFLOW'
          ? '431 Request Header Fields Too Large'
          : '400 Bad Request'
    socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }
  socket.destroy()
}
