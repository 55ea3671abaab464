import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'

export const SECRET = `whsec_${Buffer.from('a key of the tests, long enough 1').toString('base64')}`

export interface ToldEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface Post {
  readonly id: string
  readonly body: string
  readonly events: readonly ToldEvent[]
}

/** What the receiver does with a POST that is signed right. */
export type Act = (response: ServerResponse, request: IncomingMessage) => void

/**
 * Another machine: takes webhooks over HTTP or HTTPS, and verifies each by the package that Standard Webhooks has for that.
 * @param options.tlsIn a folder with cert.pem and key.pem: HTTPS.
 */
export async function startReceiver(
  t: Test,
  { port = 0, tlsIn }: { readonly port?: number; readonly tlsIn?: string } = {},
) {
  const verifier = new Webhook(SECRET)
  const posts: Post[] = []
  const told: ToldEvent[] = []
  let forged = 0
  const handle: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      try {
        verifier.verify(body, request.headers as Record<string, string>)
      } catch {
        forged += 1
        response.writeHead(401).end()
        return
      }
      const { events } = (JSON.parse(body) as { readonly data: { readonly events: readonly ToldEvent[] } })
        .data
      posts.push({ id: String(request.headers['webhook-id']), body, events })
      response.on('finish', () => {
        if (response.statusCode < 300) told.push(...events)
      })
      receiver.act(response, request)
    })
  }
  const read = (name: string) => readFileSync(join(tlsIn ?? '', name))
  const server =
    tlsIn === undefined
      ? http.createServer(handle)
      : https.createServer({ cert: read('cert.pem'), key: read('key.pem') }, handle)
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const receiver = {
    port: (server.address() as AddressInfo).port,
    /** POSTs with a right signature, in their order. */
    posts,
    /** Requests whose signature is wrong. */
    forged: () => forged,
    act: ((response: ServerResponse) => void response.writeHead(204).end()) as Act,
    /** Events that were answered 2xx, each as often as it came. */
    told: (): readonly ToldEvent[] => told,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  t.teardown(() => receiver.close())
  return receiver
}
