import net from 'node:net'
import tls from 'node:tls'
import { callbackKeys } from '../../src/callback/authenticate.ts'
import { CORP_ID, SMS_TOKEN, smsBody } from '../rigs/service.ts'

const { current } = callbackKeys('sms', { corpId: CORP_ID, token: SMS_TOKEN })

export interface PairsOrder {
  readonly url: string
  readonly pairs: number
  /** How many connections are open at a time; each has one pair. */
  readonly connections: number
}

/**
 * Sends pairs of requests, each over a connection of its own: one with a wrong key, and right after its answer a
 * callback with the right one, as a proxy does that shares its connections among its callers.
 * @returns how many right ones got no answer, or another than 0.
 */
export async function playPairs({ url, pairs, connections }: PairsOrder): Promise<number> {
  let begun = 0
  let lost = 0
  const inTurn = async () => {
    while (begun < pairs) {
      begun += 1
      const said = await playPair(url, begun)
      if (!/^HTTP\/1\.1 403 [^]*HTTP\/1\.1 200 [^]*"err_code":0/.test(said)) lost += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, inTurn))
  return lost
}

/** @returns all that the service said. */
function playPair(url: string, n: number): Promise<string> {
  const { hostname: host, port, protocol } = new URL(url)
  const to = { host, port: Number(port) }
  const socket = protocol === 'https:' ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to)
  const wrong = post('0'.repeat(32), '{}')
  const right = post(current, JSON.stringify(smsBody({}, { code: String(100_000 + n) })))
  socket.setNoDelay(true)
  socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => socket.write(wrong))
  return new Promise(resolve => {
    let said = ''
    let asked = false
    socket.on('data', chunk => {
      said += chunk.toString('latin1')
      const answers = said.split('"err_msg":').length - 1
      if (answers === 1 && !asked) {
        asked = true
        socket.write(right)
      }
      if (answers === 2) socket.destroy()
    })
    socket.on('error', () => {})
    socket.once('close', () => resolve(said))
  })
}

function post(key: string, body: string): string {
  return `POST /callback/${CORP_ID}/${key}/sms HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
