import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { createStrangers, type Strangers } from './strangers.ts'

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
  /** Hears of bytes that are not HTTP, and of requests that never ended. */
  readonly notHttp: () => void
  /** Answers what the router cannot make sense of; Fastify's own answer repeats the URL, with the key in it. */
  readonly nonsense: (request: FastifyRequest, reply: FastifyReply) => void
}

/** The listener that the platform reaches, without its routes: what protects it from slow, idle and noisy clients. */
export function createPublicListener(options: PublicListenerOptions): {
  readonly app: FastifyInstance
  readonly strangers: Strangers
} {
  const { tls, notHttp, nonsense } = options
  const server = {
    connectionsCheckingInterval: CHECK_MS,
    headersTimeout: READ_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD,
  }
  const app = Fastify({
    ...(tls === undefined
      ? { http: server }
      : { https: { ...server, handshakeTimeout: READ_LIMIT_MS, ...tls } }),
    // Ours instead: the default log prints the URL, with the key in it.
    logger: false,
    requestTimeout: READ_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
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
  const strangers = createStrangers(MOST_STRANGERS)
  app.server.maxConnections = MOST_CONNECTIONS
  app.server.on('connection', socket => strangers.arrived(socket))
  return { app, strangers }
}

/** The last words to who does not speak HTTP, or never ends: a status without a body. */
function farewell(code: string, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status =
    code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? '408 Request Timeout'
      : code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  // What still comes is not read, so a client that goes on sending would keep the socket.
  socket.destroySoon()
}
