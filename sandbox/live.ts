import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Server-sent events (WHATWG HTML, section 9.2) that say only "look again". */
export interface Live {
  open(request: IncomingMessage, reply: FastifyReply): void
  tell(): void
  close(): void
}

export function createLive(): Live {
  const open = new Set<ServerResponse>()
  return {
    open(request, reply) {
      reply.hijack()
      const stream = reply.raw
      stream.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      stream.write('retry: 1000\n\ndata: changed\n\n')
      open.add(stream)
      request.once('close', () => open.delete(stream))
    },
    tell() {
      for (const stream of open) stream.write('data: changed\n\n')
    },
    close() {
      for (const stream of open) stream.end()
    },
  }
}
