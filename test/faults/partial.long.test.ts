import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { ownHost } from '../rigs/own-host.ts'
import { NO_QUOTAS, type Settings, SMTP_PASSWORD, SMTP_USER, startRig, until } from '../rigs/service.ts'
import { createCallbacks } from './callbacks.ts'

/** Servers that are gone for a while, against the running service with its usual limits. */

const SETTINGS: Settings = { ...NO_QUOTAS, ANSWER_WITHIN_MS: '300' }

/** A way to a server that can be gone. */
async function openWay(t: Test) {
  /** What each connection has asked, the oldest first. */
  let asked: string[] = []
  const open = new Set<Socket>()
  let target = new URL('tcp://127.0.0.1:1')
  const server = createServer(client => {
    const nth = asked.push('') - 1
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      open.add(socket.on('error', () => {}).on('close', () => other.destroy() && open.delete(socket)))
    client.on('data', data => (asked[nth] += data.toString('latin1'))).pipe(upstream)
    upstream.pipe(client)
  })
  const host = ownHost()
  const listen = async (port = 0): Promise<number> => {
    server.listen(port, host)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const close = async (): Promise<void> => {
    server.close()
    for (const socket of open) socket.destroy()
    await once(server, 'close')
  }
  const port = await listen()
  t.teardown(() => server.listening && close())
  return {
    at: `${host}:${port}`,
    leadTo(url: string) {
      target = new URL(url)
    },
    close,
    async openAgain() {
      asked = []
      await listen(port)
    },
    asked: () => asked,
  }
}

/** Five codes, then the server is gone, and seven more come. It is back when three trials have failed: the next one is far. */
async function outlive(t: Test, channel: 'email' | 'sms'): Promise<void> {
  const way = await openWay(t)
  const rig = await startRig(t, {
    ...SETTINGS,
    TWILIO_API_URL: `http://${way.at}`,
    SMTP_URL: `smtp://${SMTP_USER}:${SMTP_PASSWORD}@${way.at}?ignoreTLS=true`,
  })
  way.leadTo(rig.settings[channel === 'email' ? 'SMTP_URL' : 'TWILIO_API_URL'] ?? '')
  const callback = createCallbacks()
  const count = (event: string) => rig.events().filter(each => each['event'] === event).length
  const attempts = async () => {
    const { body } = await request(`${rig.service().adminUrl}/metrics`)
    const counts = (await body.text()).matchAll(/^\w*attempts_total\{.*?\} (\d+)$/gm)
    return [...counts].reduce((sum, [, each]) => sum + Number(each), 0)
  }
  const post = async (times: number) => {
    for (let n = 0; n < times; n += 1) t.equal((await rig.post(channel, callback(channel).body)).errCode, 0)
  }
  await post(5)
  await until(() => count('final') === 5, 'five are sent')
  await way.close()
  await post(1)
  await until(() => count('breaker') === 1, 'it is noticed')
  await post(6)
  const tried = await attempts()
  await until(async () => (await attempts()) === tried + 3, 'three trials')
  await way.openAgain()
  await until(() => count('final') === 12, 'all have ended')
  t.equal(await attempts(), tried + 3 + 7, 'no other attempt failed')
  // A look without a message finds it, and one of the messages follows at once.
  const looks = way.asked().findIndex(asked => /^MAIL|^POST/m.test(asked))
  t.ok(looks >= 1 && looks <= 3, `${looks} looks`)
  const arrived =
    channel === 'email' ? rig.smtp.mails.map(({ to }) => to[0]) : rig.twilio.messages.map(({ to }) => to)
  t.equal(arrived.length, 12, 'each was taken once')
  t.equal(new Set(arrived).size, 12)
}

t.test('a server is gone; what came meanwhile is sent when a look finds it back', t =>
  Promise.all([outlive(t, 'email'), outlive(t, 'sms')]),
)
