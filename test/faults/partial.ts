import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { request } from 'undici'
import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import { seededRandom } from '../delivery/simulation.ts'
import { refuse as refuseAtAliyun } from '../providers/aliyun/rig.ts'
import { refuse as refuseAtTencent } from '../providers/tencent/rig.ts'
import { ownHost } from '../rigs/own-host.ts'
import {
  NO_QUOTAS,
  type ServiceRig,
  type Settings,
  SMTP_PASSWORD,
  SMTP_USER,
  startRig,
  until,
} from '../rigs/service.ts'
import { startTwoCarriers, TEMPLATES } from '../rigs/two-carriers.ts'
import { createCallbacks } from './callbacks.ts'
import { every } from './scopes.ts'

/** Carriers that fail in part, and servers that are gone for a while, against the running service with its usual limits. */

const SECOND = 1000
const SETTINGS: Settings = { ...NO_QUOTAS, ANSWER_WITHIN_MS: '300' }

interface Shares {
  readonly refused?: number
  readonly cut: number
  readonly hang: number
}

/** Draws what becomes of a request. */
function createDice(seed: number, { refused = 0, cut, hang }: Shares) {
  const random = seededRandom(seed)
  return (refusal: CarrierFault | undefined): CarrierFault | undefined => {
    const dice = random()
    if (dice < refused) return refusal
    if (dice < refused + cut) return { is: 'reset' }
    return dice < refused + cut + hang ? { is: 'stall' } : { is: 'delay', ms: 100 + 200 * random() }
  }
}

/** Posts so many codes a second, and judges how many have arrived when the last of them is posted; how soon, test/delivery says. */
async function judgeLoad(
  t: Test,
  rig: ServiceRig,
  { perSecond, forMs }: { readonly perSecond: number; readonly forMs: number },
  arrived: () => readonly { readonly to: string }[],
): Promise<void> {
  const callback = createCallbacks()
  let posted = 0
  await every(SECOND / perSecond, forMs, () => {
    posted += 1
    void rig.post('sms', callback('sms').body).catch(() => undefined)
  })
  const count = new Set(arrived().map(({ to }) => to)).size
  t.ok(count >= 0.75 * posted, `${count} of ${posted} arrived`)
}

export async function playOneCarrier(t: Test, seed: number): Promise<void> {
  const rig = await startRig(t, SETTINGS)
  const dice = createDice(seed, { cut: 0.15, hang: 0.04 })
  rig.twilio.fault = () => dice(undefined)
  await judgeLoad(t, rig, { perSecond: 13, forMs: 45 * SECOND }, () => rig.twilio.messages)
}

export async function playThreeCarriers(t: Test, seed: number): Promise<void> {
  const two = await startTwoCarriers(t)
  await writeFile(two.templatesFile, TEMPLATES.replaceAll('login-code', 'registration-code'))
  const rig = await startRig(t, {
    ...SETTINGS,
    ...two.settings,
    SMS_ROUTES: 'CN=aliyun,tencent,twilio; *=twilio',
  })
  const shares = { refused: 0.2, cut: 0.13, hang: 0.05 }
  const [first, second, third] = [seed, seed + 1, seed + 2].map(each => createDice(each, shares))
  two.aliyun.fault = () => first?.(refuseAtAliyun('Throttling.User'))
  two.tencent.fault = () => second?.(refuseAtTencent('RequestLimitExceeded'))
  rig.twilio.fault = () =>
    third?.({ is: 'answer', status: 503, body: '{"code":20503,"message":"busy","status":503}' })
  await judgeLoad(t, rig, { perSecond: 1500 / 135, forMs: 135 * SECOND }, () => [
    ...two.aliyun.standIn.messages.map(({ phoneNumber }) => ({ to: `+86${phoneNumber}` })),
    ...two.tencent.standIn.messages.map(({ phoneNumber: to }) => ({ to })),
    ...rig.twilio.messages,
  ])
}

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
export async function outlive(t: Test, channel: 'email' | 'sms', settings: Settings = {}): Promise<void> {
  const way = await openWay(t)
  const rig = await startRig(t, {
    ...SETTINGS,
    ...settings,
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
