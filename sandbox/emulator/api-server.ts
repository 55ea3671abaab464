import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PlatformApi } from './api.ts'

const MOST_BYTES = 1024 * 1024

export interface PlatformServer {
  /** On 127.0.0.1; 0: any free port. Resolves with its address: the {base_url} of the contract. */
  listen(port: number): Promise<string>
  close(): Promise<void>
}

/** Serves the emulated API over HTTP/1.1, without TLS, since it is reached from this machine only. */
export function createPlatformServer(api: PlatformApi): PlatformServer {
  const server = createServer((request, response) => {
    respond(api, request, response).catch(() => response.destroy())
  })
  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, '127.0.0.1', resolve)
      })
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function respond(api: PlatformApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    parts.push(part as Buffer)
    bytes += (part as Buffer).length
    if (bytes > MOST_BYTES) {
      response.destroy()
      return
    }
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  )
  const { status, body } = api.answer({
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    body: Buffer.concat(parts).toString('utf8'),
  })
  response.writeHead(status, { 'content-type': 'application/json;charset=UTF-8' }).end(body)
}
