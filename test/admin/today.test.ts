import { readFileSync } from 'node:fs'
import t from 'tap'
import { readableText } from '../language/english.ts'
import { inZone } from '../rigs/in-zone.ts'
import { mailBody, NO_QUOTAS, type Settings, smsBody, startRig, until } from '../rigs/service.ts'
import { signedReport } from '../rigs/twilio-server.ts'

const HOUR = 3_600_000

/** A service whose clock is put forward, and what it says on a page, in one line. */
async function start(at: string, settings: Settings) {
  let ahead = Date.parse(at) - Date.now()
  const now = () => Date.now() + ahead
  const clocks = { wall: now, clock: { now: () => Math.round(now()) } }
  const rig = await startRig(t, settings, clocks)
  const read = async (path: string) => readableText(await rig.page(path)).replace(/\s+/g, ' ')
  return {
    rig,
    read,
    restart: () => rig.restart(settings, clocks),
    forward: (ms: number) => void (ahead += ms),
    post: (n: number, more = {}) =>
      rig.post('sms', smsBody({ to: `1371000${1000 + n}` }, { code: `48${1000 + n}`, ...more })),
  }
}

t.test(
  'who is it for: a prefix from ten numbers on, and what each quota held back, over a restart',
  async t => {
    const { rig, read, post, restart, forward } = await start('2026-11-20T09:00:00Z', {
      QUOTAS: 'sms-prefix-10m=12',
    })
    for (let n = 0; n < 9; n += 1) await post(n)
    await post(1)
    await post(1, { code: '771234' })
    t.match(await read('/console/today'), 'numbers of a prefix that is not named: 9 10')
    t.notMatch(await read('/console/today'), '1371000')
    await restart()
    await post(9)
    t.match(await read('/console/today'), '+861371000****: 10 numbers')
    for (let n = 10; n < 15; n += 1) await post(n)
    for (const [n, at] of ['a', 'b', 'b'].entries())
      await rig.post('email', mailBody({ to: `${at}@${at}.example.com` }, { code: `12345${n}` }))
    const page = await read('/console/today')
    const held =
      '4 by sms-prefix-10m, at most 12: SMS in 10 minutes to numbers that differ only in their last four digits.'
    for (const line of ['+861371000****: 15 numbers', 'registration-code: 15 numbers', 'CN: 15 numbers'])
      t.match(page, `${line} 16 ${held}`)
    t.match(page, 'example.com: 2 addresses 3 ')
    for (const file of ['outbox.db', 'outbox.db-wal'])
      t.notMatch(readFileSync(`${rig.directory}/${file}`, 'latin1'), '1371000', 'the store names no prefix')
    forward(2 * HOUR)
    t.notMatch(await read('/console/today'), '1371000', 'not within the last hour')
    t.match(await read('/console/today?period=day'), '+861371000****: 15 numbers')
    forward(24 * HOUR)
    t.notMatch(await read('/console/today?period=day'), '1371000')
  },
)

t.test('how many today, with the day before, over a restart, and which did not arrive', async t => {
  inZone(t, 'Asia/Shanghai')
  const PUBLIC_URL = 'https://courier.example.com'
  const settings = { ...NO_QUOTAS, PUBLIC_URL }
  // In Shanghai it is ten minutes to midnight.
  const { rig, read, post, restart, forward } = await start('2026-11-20T15:50:00Z', settings)
  const ends = () => rig.events().filter(each => each['event'] === 'final')
  for (const n of [1, 2, 3]) {
    if (n === 3) forward(HOUR / 4)
    await post(n)
    await until(() => ends().length === n, `${n} ends`)
  }
  await restart()
  const MessageSid = String(ends()[2]?.['provider_id'])
  const fields = { MessageSid, MessageStatus: 'undelivered', ErrorCode: '30005' }
  await rig.ask('/receipt/twilio', signedReport(PUBLIC_URL, fields))
  t.match(await read('/console/today'), 'SMS: registration-code 1 (2) 1 (0) 0 (0) 0 (0) ')
  t.match(await read('/console/messages?state=undelivered'), /1 message .*1003/)
})
