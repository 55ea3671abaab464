import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import type { ConnectorOrder } from '../rigs/connector.ts'
import { AS_IN_THE_IMAGE, startProcess } from '../rigs/process.ts'
import { CORP_ID, NO_QUOTAS, SMS_TOKEN, smsBody, startSinks } from '../rigs/service.ts'

const { current } = callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN })

/** Where the platform calls from; on loopback every 127.x.y.z is an address of this machine. */
const PLATFORM = '127.0.200.1'

/** How long it takes from the platform to the service and back, ms. */
const ROUND_TRIP_MS = 300

/** Addresses of so many networks of 256 each. */
function sources(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `127.0.${n + 1}.1`)
}

/** A way to the service that is long; a connection over it comes from PLATFORM. */
async function openFarWay(t: Test, url: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const open = new Set<net.Socket>()
  const server = net.createServer(near => {
    const far = net.connect({ host, port: Number(port), localAddress: PLATFORM })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      const later = (act: () => void) => setTimeout(act, ROUND_TRIP_MS / 2)
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

/** Half of the container that operators are told to give, MB. */
const MOST_MB = 256

for (const [perSecond, networks] of [
  [10_000, 1],
  [3000, 50],
] as const)
  t.test(`a caller 300 ms away gets in beside ${perSecond} connects/s from ${networks} networks`, async t => {
    const { settings, ca } = await startSinks(t)
    const { publicUrl: url, memory } = await startProcess(t, {
      ...settings,
      ...NO_QUOTAS,
      ...AS_IN_THE_IMAGE,
    })
    const far = await openFarWay(t, url)
    /** Ten callers come one after the other, each over a new connection, while strangers connect. */
    const play = async () => {
      const workerData: ConnectorOrder = { url, perSecond, from: sources(networks) }
      const strangers = new Worker(new URL('../rigs/connector.ts', import.meta.url), { workerData })
      await new Promise(resolve => setTimeout(resolve, 1500))
      let gotIn = 0
      for (let n = 0; n < 10; n += 1)
        if (await getsIn(`${far}/callback/${CORP_ID}/${current}/sms`, ca, n)) gotIn += 1
      const said = once(strangers, 'message')
      strangers.postMessage('end', [])
      const [reached] = (await said) as [number]
      return { gotIn, reached }
    }
    const before = memory()
    const first = await play()
    const between = memory()
    const again = await play()
    t.comment(
      `${first.reached} and ${again.reached} connects/s; ${[before, between, memory()].map(Math.round).join(', ')} MB`,
    )
    t.equal(first.gotIn + again.gotIn, 20)
    t.ok(between < MOST_MB, 'memory is bounded')
    t.ok(
      memory() - between < between - before,
      'strangers who come again cost less than those who came first',
    )
  })
