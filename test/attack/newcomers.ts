import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { Agent, request } from 'undici'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import type { ConnectorOrder } from '../rigs/connector.ts'
import { CORP_ID, SMS_TOKEN, smsBody } from '../rigs/service.ts'

const { current } = callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN })

/** Where the platform calls from; on loopback every 127.x.y.z is an address of this machine. */
const PLATFORM = '127.0.200.1'

/** Addresses of so many networks of 256 each. */
export function sources(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `127.0.${n + 1}.1`)
}

/** A way to the service that takes so long, ms there and back; a connection over it comes from PLATFORM. */
async function openFarWay(t: Test, url: string, roundTripMs: number): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const open = new Set<net.Socket>()
  const server = net.createServer(near => {
    const far = net.connect({ host, port: Number(port), localAddress: PLATFORM })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      const later = (act: () => void) => setTimeout(act, roundTripMs / 2)
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('data', data => later(() => other.destroyed || other.write(data)))
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        later(() => other.destroy())
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface NewcomersSize {
  readonly url: string
  readonly ca: string
  readonly order: Omit<ConnectorOrder, 'url'>
  readonly roundTripMs: number
  readonly callers: number
  /** How long strangers connect before the first caller comes, ms. */
  readonly leadMs: number
}

/**
 * Lets callers come over a long way, one after the other and each over a new connection, while strangers connect.
 * @returns how many got their callback in, and the rate that the strangers reached.
 */
export async function playNewcomers(
  t: Test,
  { url, ca, order, roundTripMs, callers, leadMs }: NewcomersSize,
): Promise<{ readonly gotIn: number; readonly perSecond: number }> {
  const far = await openFarWay(t, url, roundTripMs)
  const workerData: ConnectorOrder = { ...order, url }
  const strangers = new Worker(new URL('../rigs/connector.ts', import.meta.url), { workerData })
  await new Promise(resolve => setTimeout(resolve, leadMs))
  let gotIn = 0
  for (let n = 0; n < callers; n += 1)
    if (await getsIn(`${far}/callback/${CORP_ID}/${current}/sms`, ca, n)) gotIn += 1
  const said = once(strangers, 'message')
  strangers.postMessage('end', [])
  const [perSecond] = (await said) as [number]
  return { gotIn, perSecond }
}

async function getsIn(url: string, ca: string, n: number): Promise<boolean> {
  const agent = new Agent({ connect: { ca, timeout: 60_000 } })
  try {
    const body = JSON.stringify(smsBody({}, { code: String(200_000 + n) }))
    const answer = await request(url, { dispatcher: agent, method: 'POST', body })
    await answer.body.dump()
    return answer.statusCode === 200
  } catch {
    return false
  } finally {
    await agent.destroy()
  }
}
