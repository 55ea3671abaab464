import type { FastifyInstance } from 'fastify'

/**
 * For pages of one person on this machine. Host: against DNS rebinding. Origin: against other pages. Only JSON is read,
 * which a foreign form cannot send.
 */
export function guard(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (request, reply) => {
    const host = request.headers.host ?? ''
    const { origin } = request.headers
    const ours = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host)
    if (!ours || (origin !== undefined && origin !== `http://${host}`))
      return reply.code(403).send({ error: 'only for this machine' })
    reply.headers({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
  })
}
