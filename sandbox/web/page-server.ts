import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { CHINESE } from '../words.ts'

/** A page that is served to one person on this machine. */
export interface Page {
  /** Serves it on 127.0.0.1; 0: any free port. Resolves with its address. */
  listen(port: number): Promise<string>
  /** Tells the open pages that there is something new. */
  changed(): void
  close(): Promise<void>
}

export interface PageServerOptions {
  /** The folder of the page's own files, `index.html` among them; the shell's files are served beside them. */
  readonly folder: URL
  /** All that the page shows: the answer to `GET /state`. */
  readonly state: () => object
  /** Directives that the page's content security policy needs beyond the usual ones. */
  readonly policy?: readonly string[]
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

/** Nothing is loaded from anywhere else, and no script or style stands in the HTML. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/**
 * Serves the files of a page, its state (`GET /state`) and an event for each change of it (`GET /events`), to loopback
 * names only. The page's own routes are added to `app` before it listens.
 */
export function createPageServer(options: PageServerOptions): Page & { readonly app: FastifyInstance } {
  const app = fastify({ forceCloseConnections: true })
  const events = createChangeEvents()
  const policy = [...CONTENT_SECURITY_POLICY, ...(options.policy ?? [])].join('; ')

  refuseStrangers(app)
  for (const folder of [new URL('shell/', import.meta.url), options.folder]) {
    for (const name of readdirSync(folder)) {
      const type = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream'
      app.get(name === 'index.html' ? '/' : `/${name}`, async (_request, reply) => {
        const file = await readFile(new URL(name, folder), 'utf8')
        return reply.headers({ 'content-type': type, 'content-security-policy': policy }).send(file)
      })
    }
  }
  app.get('/events', (request, reply) => events.subscribe(request.raw, reply))
  app.get('/state', async () => options.state())
  app.get('/words.json', async () => CHINESE)

  return {
    app,
    async listen(port) {
      await app.listen({ host: '127.0.0.1', port })
      return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    },
    changed: () => events.notify(),
    async close() {
      events.close()
      await app.close()
    },
  }
}

export function replyNotFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'no such thing' })
}

/**
 * Keeps other web pages out. The check of Host is against DNS rebinding, that of Origin against other pages; and only
 * JSON is read, which a foreign form cannot send.
 */
function refuseStrangers(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (request, reply) => {
    const host = request.headers.host ?? ''
    const { origin } = request.headers
    const loopback = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host)
    if (!loopback || (origin !== undefined && origin !== `http://${host}`))
      return reply.code(403).send({ error: 'only for this machine' })
    reply.headers({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
  })
}

/** Server-sent events (WHATWG HTML, section 9.2) that only say that something changed. */
export interface ChangeEvents {
  /** Answers a request of an `EventSource`, and keeps the answer open. */
  subscribe(request: IncomingMessage, reply: FastifyReply): void
  notify(): void
  close(): void
}

export function createChangeEvents(): ChangeEvents {
  const streams = new Set<ServerResponse>()
  return {
    subscribe(request, reply) {
      reply.hijack()
      const stream = reply.raw
      stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      stream.write('retry: 1000\n\ndata: changed\n\n')
      streams.add(stream)
      request.once('close', () => streams.delete(stream))
    },
    notify() {
      for (const stream of streams) stream.write('data: changed\n\n')
    },
    close() {
      for (const stream of streams) stream.end()
    },
  }
}
