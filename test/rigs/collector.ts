import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the collector does instead of taking spans. */
export type CollectorAct =
  | { readonly is: 'answer'; readonly status: number; readonly body?: string }
  | { readonly is: 'stall' }
  | { readonly is: 'drop' }

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  /** ms since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, string>>
  readonly failed: boolean
}

interface WireAttribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

interface WireSpan extends Pick<CollectedSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'kind'> {
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly WireAttribute[]
  readonly status: { readonly code?: number }
}

/** A collector that takes OTLP over HTTP as JSON and can be told to misbehave. */
export async function startCollector() {
  const requests: {
    readonly path: string
    readonly headers: NodeJS.Dict<string | string[]>
    readonly body: string
  }[] = []
  const spans: CollectedSpan[] = []
  const resources: Readonly<Record<string, string>>[] = []
  const rig = { act: undefined as CollectorAct | undefined }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      requests.push({ path: request.url ?? '', headers: request.headers, body })
      const { act } = rig
      if (act?.is === 'stall') return
      if (act?.is === 'drop') return void request.socket.destroy()
      if (act?.is === 'answer') return void response.writeHead(act.status).end(act.body)
      for (const each of read(body)) {
        resources.push(each.resource)
        spans.push(...each.spans)
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(rig, {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    resources,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

function read(body: string): { resource: Record<string, string>; spans: CollectedSpan[] }[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: {
      resource: { attributes: WireAttribute[] }
      scopeSpans: { spans: WireSpan[] }[]
    }[]
  }
  return resourceSpans.map(({ resource, scopeSpans }) => ({
    resource: attributesOf(resource.attributes),
    spans: scopeSpans.flatMap(each => each.spans).map(collected),
  }))
}

function collected({
  startTimeUnixNano,
  endTimeUnixNano,
  attributes,
  status,
  ...span
}: WireSpan): CollectedSpan {
  return {
    ...span,
    startedAt: Number(BigInt(startTimeUnixNano) / 1000n) / 1000,
    endedAt: Number(BigInt(endTimeUnixNano) / 1000n) / 1000,
    attributes: attributesOf(attributes),
    failed: status.code === 2,
  }
}

function attributesOf(attributes: readonly WireAttribute[]): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
  )
}
