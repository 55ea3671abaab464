import http, { type RequestListener, type Server } from 'node:http'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { rejectPipelining } from '../callback/listener.ts'
import type { UnauthenticatedConnections } from '../callback/unauthenticated-connections.ts'
import { createUnauthenticatedConnections } from '../callback/unauthenticated-connections.ts'
import { languageOfBrowser } from '../language/choose.ts'
import { tell } from '../language/sentence.ts'
import { build } from '../runtime/build.ts'
import { ADMIN_HEADERS, type AdminAuthOptions, requireAdminAuth } from './auth.ts'
import { failureOf, NO_SUCH_PAGE, sendFailure } from './failure.ts'
import type { Readiness } from './readiness.ts'

/** Slow clients, ms; connections that have not shown a token, and all; octets of a form. */
const HEAD_LIMIT_MS = 5000
const READ_LIMIT_MS = 10_000
const KEEP_ALIVE_MS = 10_000
const MOST_UNAUTHENTICATED = 500
const MOST_CONNECTIONS = 2000
const BODY_LIMIT = 64 * 1024

/** Compiles each route's schema once per process. An unknown field is an error; a query's numbers are texts. */
const ajv = new Ajv({ coerceTypes: 'array', useDefaults: true, validateSchema: false })

/**
 * The private listener: health open and without detail; everything else is registered on it by others, and passes the
 * guard.
 *
 * - `/healthz` 200 while the process answers at all, with the version that runs
 * - `/readyz` 200 while a callback would be accepted, else 503 with the reason in a few words. While a provider is down
 *   it is 200 still, and names the channel: `{"status":"ready","degraded":["email"]}`; so it is, with `certificate`, while
 *   a renewed certificate is refused, with `partial` while a provider refuses a template, a sender or a country, and with `lost` for a day after a start that found messages missing in the store
 */
export function createAdminListener(
  isReady: () => Promise<Readiness>,
  guard: AdminAuthOptions,
): FastifyInstance {
  const unauthenticated = createUnauthenticatedConnections(MOST_UNAUTHENTICATED)
  const app = Fastify({
    serverFactory: (handler: RequestListener) => createServer(handler, unauthenticated),
    logger: false,
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT,
    routerOptions: { ignoreTrailingSlash: true },
    // A URL that cannot be decoded: Fastify's own answer repeats it, without the headers of the guard.
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) =>
      sendFailure(reply.headers(ADMIN_HEADERS), NO_SUCH_PAGE),
  } as object)
  app.setValidatorCompiler(({ schema }) => ajv.compile(schema))
  requireAdminAuth(app, { ...guard, onAuthenticated: unauthenticated.markAuthenticated })
  app.setNotFoundHandler((_request, reply) => sendFailure(reply, NO_SUCH_PAGE))
  app.setErrorHandler((error: Error, _request, reply) => sendFailure(reply, failureOf(error)))
  app.get('/healthz', (_request, reply) => reply.send({ status: 'ok', ...build }))
  app.get('/readyz', async ({ headers }, reply) => {
    const { ready, ...detail } = await isReady()
    const language = languageOfBrowser(headers['accept-language'])
    const words =
      'reason' in detail
        ? { reason: tell(detail.reason).in(language) }
        : { partial: detail.partial?.map(each => each.in(language)) }
    return reply
      .code(ready ? 200 : 503)
      .header('vary', 'accept-language')
      .send({ status: ready ? 'ready' : 'not ready', ...detail, ...words })
  })
  return app
}

/** A caller with a token keeps its connection, and a probe makes a new one: neither is shut out by those that idle or flood. */
function createServer(handler: RequestListener, unauthenticated: UnauthenticatedConnections): Server {
  const guarded = rejectPipelining(handler, unauthenticated, () => {})
  const limits = {
    connectionsCheckingInterval: 1000,
    headersTimeout: HEAD_LIMIT_MS,
    requestTimeout: READ_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  }
  const server = http.createServer(limits, guarded)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', unauthenticated.add)
  // Node would answer 417 to each without asking anybody, pipelined or not.
  server.on('checkExpectation', guarded)
  return server
}
