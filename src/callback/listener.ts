import { randomBytes } from 'node:crypto'
import http, { type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { schemaCompilers } from '../runtime/schema-compilers.ts'
import { createAnswer, encodeAnswer } from './answers.ts'
import {
  attributeToCaller,
  closeIdleConnections,
  closeInSteps,
  rejectAmbiguousRequests,
  rejectPipelining,
} from './connection-guards.ts'
import { delayHandshake } from './delayed-handshake.ts'
import type { SourceNetworks } from './source-networks.ts'
import {
  createUnauthenticatedConnections,
  type UnauthenticatedConnections,
} from './unauthenticated-connections.ts'

/** The time limit of a TLS handshake, a head and a whole request, ms. The largest body takes 100 ms on a phone. */
const READ_LIMIT_MS = 5000
/** How often Node looks for stalled requests, ms. */
const CHECK_MS = 1000
/** Limit of an idle connection: longer than the usual 60 s of load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000
/** Limit counted from a connection's last request: Node's own, which counts from its answer, must always come first. */
const IDLE_LIMIT_MS = 2 * KEEP_ALIVE_MS
/** The rest of a request that was answered before it had come whole is thrown away for so long, ms. */
const LAST_OCTETS_MS = 2000
/** A key of session tickets is used for so long, ms. */
const TICKET_KEY_MS = 60 * 60_000
/** Octets of all headers: the platform's have some 300. Node's default is twice as much. */
const MAX_HEAD = 8 * 1024
/** The most connections that have not shown the key, of which every source has a share, and the most connections in all. */
const MOST_UNAUTHENTICATED = 1000
const MOST_CONNECTIONS = 10_000

/**
 * Validates the shapes of bodies. Fastify's own ajv would coerce types and drop unknown fields, and each listener would make
 * another one. A test, and not each start, proves that the shapes are valid schemas.
 */
const ajv = new Ajv({ allowUnionTypes: true, validateSchema: false })

export interface PublicListenerOptions {
  /** The options of Node's HTTPS server; undefined: plain HTTP, behind a proxy that ends TLS. */
  readonly tls: object | undefined
  /** Called for bytes that are not HTTP, requests that never ended, and pipelined ones without authentication. */
  readonly onNotHttp: () => void
  /** Tells for whom a trusted proxy speaks; undefined when none is trusted. */
  readonly callerOf: SourceNetworks['callerOf'] | undefined
  /** How long a connection is kept from its last request on, whatever comes over it, ms; 150 s unless given. */
  readonly idleLimitMs?: number
  /** Answers a URL that the router cannot decode; Fastify's own answer repeats the URL, with the key in it. */
  readonly onBadUrl: (reply: FastifyReply) => void
}

/** The listener that the platform reaches, without its routes, guarded against slow, idle and noisy clients. */
export function createPublicListener(options: PublicListenerOptions) {
  const { tls, onNotHttp, onBadUrl, callerOf, idleLimitMs = IDLE_LIMIT_MS } = options
  const unauthenticated = createUnauthenticatedConnections(MOST_UNAUTHENTICATED)
  const app: FastifyInstance = Fastify({
    serverFactory: (handler: RequestListener) => {
      const guarded = rejectPipelining(
        rejectAmbiguousRequests(handler, onNotHttp),
        unauthenticated,
        onNotHttp,
      )
      const listener =
        callerOf === undefined ? guarded : attributeToCaller(guarded, unauthenticated, callerOf)
      const closing = closeIdleConnections(closeInSteps(listener, LAST_OCTETS_MS), idleLimitMs)
      return createServer(tls, closing, unauthenticated)
    },
    // Fastify's log prints the URL, with the key in it.
    logger: false,
    forceCloseConnections: 'idle',
    // A callback that comes over an open connection while the service ends is served like any other.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
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
    schemaController: schemaCompilers(schema => ajv.compile(schema)),
  } as object)
  return { app, unauthenticated }
}

function createServer(
  tls: object | undefined,
  handler: RequestListener,
  unauthenticated: UnauthenticatedConnections,
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
    tls === undefined ? http.createServer(limits, handler) : createTlsServer({ ...limits, ...tls }, handler)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', socket => unauthenticated.add(socket))
  // Node would answer 417 to each without asking anybody, pipelined or not. An expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', handler)
  return server
}

function createTlsServer(options: object, handler: RequestListener): Server {
  const server = https.createServer({ handshakeTimeout: READ_LIMIT_MS, ...options }, handler)
  delayHandshake(server, READ_LIMIT_MS)
  renewTicketKeys(server, TICKET_KEY_MS)
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
 * handshake never ended would never be done writing.
 */
function endWithStatus(code: string, socket: Socket): void {
  if (code !== 'ECONNRESET' && socket.writable) {
    const [status, body] =
      code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', '']
        : code === 'HPE_HEADER_OVERFLOW'
          ? ['431 Request Header Fields Too Large', encodeAnswer(HEAD_TOO_LARGE)]
          : ['400 Bad Request', '']
    const type = body === '' ? '' : 'Content-Type: application/json; charset=utf-8\r\n'
    socket.write(
      `HTTP/1.1 ${status}\r\nConnection: close\r\n${type}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  socket.destroy()
}
