import { writeFile } from 'node:fs/promises'
import type { Test } from 'tap'
import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import { createTwilioStandIn } from '../../sandbox/carriers/twilio.ts'
import { percentile, seededRandom } from '../delivery/simulation.ts'
import { refuse as refuseAtAliyun } from '../providers/aliyun/rig.ts'
import { refuse as refuseAtTencent } from '../providers/tencent/rig.ts'
import {
  NO_QUOTAS,
  type ServiceRig,
  type Settings,
  SMTP_PASSWORD,
  SMTP_USER,
  startRig,
} from '../rigs/service.ts'
import { createSmtpServer } from '../rigs/smtp-server.ts'
import { ACCOUNT_SID, AUTH_TOKEN } from '../rigs/twilio-server.ts'
import { startTwoCarriers, TEMPLATES } from '../rigs/two-carriers.ts'
import { type Callback, createCallbacks } from './callbacks.ts'
import { every } from './scopes.ts'
import { pause } from './stage.ts'

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

/** Posts so many codes a second, and judges how many arrived within the load and 20 s more, and how soon. */
async function judgeLoad(
  t: Test,
  rig: ServiceRig,
  { perSecond, forMs }: { readonly perSecond: number; readonly forMs: number },
  arrived: () => readonly { readonly to: string; readonly at: number }[],
): Promise<void> {
  const callback = createCallbacks()
  const sentAt = new Map<string, number>()
  await every(SECOND / perSecond, forMs, () => {
    const { to, body } = callback('sms')
    sentAt.set(to, Date.now())
    void rig.post('sms', body).catch(() => undefined)
  })
  await pause(20 * SECOND)
  const tooks = new Map<string, number>()
  for (const { to, at } of arrived()) if (!tooks.has(to)) tooks.set(to, at - (sentAt.get(to) ?? 0))
  const [p75, p90] = [0.75, 0.9].map(share => percentile([...tooks.values()], share) / SECOND)
  const limits = rig.events().filter(({ event }) => event === 'breaker').length
  t.comment(
    `${tooks.size} of ${sentAt.size}, p75 ${p75?.toFixed(1)} s, p90 ${p90?.toFixed(1)} s, circuits changed ${limits} times`,
  )
  t.ok(tooks.size >= 0.9 * sentAt.size, `${tooks.size} of ${sentAt.size} arrived`)
  t.ok((p90 ?? Infinity) < 10, `p90 ${p90} s`)
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
    ...two.aliyun.standIn.messages.map(({ phoneNumber, at }) => ({ to: `+86${phoneNumber}`, at })),
    ...two.tencent.standIn.messages.map(({ phoneNumber: to, at }) => ({ to, at })),
    ...rig.twilio.messages,
  ])
}

interface Outage {
  readonly channel: 'email' | 'sms'
  readonly downMs: number
  readonly lifeMs: number
  readonly settings?: Settings
}

interface Server {
  listen(port?: number): Promise<{ readonly port: number }>
  close(): Promise<void>
  readonly arrivals: () => readonly { readonly at: number }[]
}

function createServerOf(channel: 'email' | 'sms'): Server {
  if (channel === 'email') {
    const smtp = createSmtpServer({ login: { user: SMTP_USER, pass: SMTP_PASSWORD } })
    return { listen: port => smtp.listen(port), close: () => smtp.close(), arrivals: () => smtp.mails }
  }
  const twilio = createTwilioStandIn({ accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN })
  return { listen: port => twilio.listen(port), close: () => twilio.close(), arrivals: () => twilio.messages }
}

/** Five codes, then the server is gone; seven more come a second apart. @returns how long after its return each was taken, ms */
export async function outlive(
  t: Test,
  { channel, downMs, lifeMs, settings = {} }: Outage,
): Promise<readonly number[]> {
  const first = createServerOf(channel)
  const { port } = await first.listen()
  const rig = await startRig(t, {
    ...SETTINGS,
    ...settings,
    ...(channel === 'sms'
      ? { TWILIO_API_URL: `http://127.0.0.1:${port}` }
      : { SMTP_URL: `smtp://${SMTP_USER}:${SMTP_PASSWORD}@127.0.0.1:${port}?ignoreTLS=true` }),
  })
  const callback = createCallbacks()
  const post = (): Callback => {
    const made = callback(channel, { lifeMs })
    void rig.post(channel, made.body).catch(() => undefined)
    return made
  }
  await every(SECOND, 5 * SECOND, post)
  await first.close()
  const goneAt = Date.now()
  await every(SECOND, 7 * SECOND, post)
  await pause(goneAt + downMs - Date.now())
  const second = createServerOf(channel)
  await second.listen(port)
  const backAt = Date.now()
  t.teardown(() => second.close())
  const allEnded = Date.now() + lifeMs
  while (second.arrivals().length < 7 && Date.now() < allEnded) await pause(50)
  return second.arrivals().map(({ at }) => at - backAt)
}
