import Fastify, { type FastifyInstance } from 'fastify'

/** What the open health routes ask. */
export interface Health {
  /** Whether a callback would be accepted now: the store commits, and we are not ending. */
  ready(): Promise<{ readonly ready: boolean; readonly reason: string }>
}

/**
 * The private listener: health open and without detail; everything else is registered on it by others.
 *
 * - `/healthz` 200 while the process answers at all
 * - `/readyz` 200 while a callback would be accepted, else 503
 */
export function createAdminListener(health: Health): FastifyInstance {
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true },
  })
  app.get('/healthz', (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const { ready, reason } = await health.ready()
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: ready ? 'ready' : 'not ready', reason })
  })
  return app
}
