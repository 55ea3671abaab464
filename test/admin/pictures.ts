import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { testBody } from '../../src/admin/console/send.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { openBrowser } from '../rigs/browser.ts'
import { startRig } from '../rigs/service.ts'

/**
 * Takes the pictures of docs/console.md: `node test/admin/pictures.ts docs/images`. The real service lives through a day
 * within a minute, by a clock that is put forward: its mail server refuses the login from 11:40 to 12:25.
 */
const out = process.argv[2] ?? '.'
const MINUTE = 60_000
const EVENING = Date.parse('2026-11-20T21:10:00Z')
const DAY_BEGINS = EVENING - 24 * 60 * MINUTE
const [BROKEN, MENDED] = [Date.parse('2026-11-20T11:40:00Z'), Date.parse('2026-11-20T12:25:00Z')]

const origin = Date.now()
let ahead = DAY_BEGINS - origin
const now = () => Date.now() + ahead
const goOnAt = (at: number) => {
  ahead = Math.max(ahead, at - Date.now())
}

/** The same numbers at each run. */
let seed = 7
const random = () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}
const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

const ends: (() => unknown)[] = []
const atEnd = { teardown: (end: () => unknown) => void ends.push(end) } as Test
const rig = await startRig(
  atEnd,
  {
    TLS: 'off',
    PUBLIC_URL: 'https://courier.example.com',
    QUOTAS: 'recipient-10m=off recipient-day=off sms-prefix-10m=off',
  },
  { wall: now, clock: { now: () => Math.round(now()) } },
)
const broken = () => now() >= BROKEN && now() < MENDED
rig.smtp.act = ({ step }) => {
  if (!broken()) return undefined
  if (step === 'AUTH')
    return { is: 'say', reply: '535 5.7.8 Error: authentication failed: account is locked' }
  return step === 'MAIL' ? { is: 'say', reply: '421 4.3.2 closing connection', close: true } : undefined
}
rig.twilio.fault = request =>
  JSON.stringify(request).includes('13800138099')
    ? {
        is: 'answer',
        status: 400,
        body: JSON.stringify({
          code: 21_211,
          message: "Invalid 'To' Phone Number: +861380013XXXX",
          status: 400,
        }),
        headers: { 'content-type': 'application/json' },
      }
    : undefined

const PEOPLE = 'ann bob carla dmitri elif fatima goran hua ines jonas kim lara mei noor olga pablo'.split(' ')
const PLACES = ['example.com', 'example.org', 'mail.example.net']
const often = callbackKinds.filter(({ name }) =>
  ['registration-activation', 'activation-code', 'recovery-code', 'registration-code', 'login-code'].includes(
    name,
  ),
)
const signed = () => String(Math.floor(now() / 1000))
let count = 0

/** One callback as the platform sends it; codes are valid for half an hour. */
async function one(): Promise<void> {
  count += 1
  const kind = random() < 0.9 ? oneOf(often) : oneOf(callbackKinds)
  const to =
    kind.channel === 'email'
      ? `${oneOf(PEOPLE)}${count}@${oneOf(PLACES)}`
      : `+861380013${random() < 0.03 ? 8099 : 1000 + (count % 7000)}`
  const body = testBody(kind, to, now())
  if (kind.name.endsWith('-code') && kind.channel === 'email')
    body['email_param'] = { ...(body['email_param'] as object), hour: '0.5' }
  await rig.post(kind.channel, body, { query: rig.sign(kind.channel, signed()) })
}

/** Lives on until then: few callbacks at night, many by day. */
async function liveUntil(end: number): Promise<void> {
  for (let at = now(); at < end; at += MINUTE) {
    goOnAt(at)
    const hour = new Date(at).getUTCHours() + new Date(at).getUTCMinutes() / 60
    const busy = 0.1 + 2.2 * Math.max(0, Math.sin(((hour - 5) / 18) * Math.PI))
    await Promise.all(Array.from({ length: Math.floor(busy * 2 * random() + random()) }, one))
    // What is due is tried by a loop in real time.
    if (broken()) await new Promise(resolve => setTimeout(resolve, 350))
  }
  goOnAt(end)
}

const browser = await openBrowser()
const open = (options: object): Promise<Page> => browser.newPage({ timezoneId: 'UTC', ...options })
const page = await open({ viewport: { width: 1240, height: 900 } })
const path = (name: string) => join(out, `${name}.png`)
const go = (where: string, on = page) => on.goto(`${rig.service().adminUrl}${where}`)
const take = async (name: string, where: string, height: number) => {
  await go(where)
  await page.screenshot({ path: path(name), fullPage: true, clip: { x: 0, y: 0, width: 1240, height } })
}

await rig.validate('email', rig.sign('email', signed()))
await rig.validate('sms', rig.sign('sms', signed()))
await liveUntil(BROKEN + 28 * MINUTE)
await take('console-outage', '/console', 1180)
const phone = await open({
  viewport: { width: 360, height: 800 },
  colorScheme: 'dark',
  deviceScaleFactor: 1.5,
})
await go('/console', phone)
await phone.screenshot({ path: path('console-phone') })

const rows = page.locator('tbody tr')
await take('console-waiting', '/console/messages?state=queued&channel=email', 760)
const tries = await rows.locator('td[data-l=Attempts]').allInnerTexts()
const most = tries.map(Number).reduce((best, each, at, all) => (each > (all[best] ?? 0) ? at : best), 0)
await rows.nth(most).getByRole('link').click()
await page.getByRole('button', { name: 'Try now' }).waitFor()
await page.screenshot({ path: path('console-message'), clip: { x: 0, y: 0, width: 1240, height: 800 } })

await browser.close()
for (const end of ends.reverse()) await end()
