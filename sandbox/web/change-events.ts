import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

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
