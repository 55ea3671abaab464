import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { NO_QUOTAS, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'
import { signedReport } from '../rigs/twilio-server.ts'
import { startTwoCarriers, TEMPLATES } from '../rigs/two-carriers.ts'

t.test(
  'the second carrier sends when the first is down; whoever looks sees both, and a spoilt templates file',
  async t => {
    const { aliyun, tencent, templatesFile, settings } = await startTwoCarriers(t)
    await writeFile(join(t.testdirName, 'layout.txt'), 'words\n{{ brand }\n')
    const rig = await startRig(t, { ...settings, TEMPLATES_DIR: t.testdirName })
    const send = async (to: string) => (await rig.post('sms', smsBody({ to }, { type: 4 }))).errCode

    t.equal(await send('13800138001'), 0)
    t.equal(aliyun.standIn.messages.length, 1, 'the first one is asked first')
    await aliyun.standIn.close()
    t.equal(await send('13800138002'), 0)
    t.match(tencent.standIn.messages, [{ phoneNumber: '+8613800138002' }])
    t.equal(rig.twilio.messages.length, 0)

    const [newest] = [...(await rig.page('/console/messages')).matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
    t.match(await rig.page(newest?.[0] ?? ''), /aliyun[\s\S]*ECONNREFUSED[\s\S]*tencent/, 'its timeline')
    const overview = await rig.page('/console')
    for (const name of ['aliyun', 'tencent', 'twilio', 'layout.txt, line 2: ']) t.match(overview, name)
    const metrics = await rig.page('/metrics')
    t.match(
      metrics,
      /attempts_total\{channel="sms",provider="aliyun",outcome="retry",reason="ECONNREFUSED"[^}]*\} 1/,
    )
    t.match(metrics, /attempts_total\{channel="sms",provider="tencent",outcome="sent"[^}]*\} 1/)
    t.match(metrics, /provider_up\{provider="aliyun"\} 0/)
    t.match(metrics, /provider_up\{provider="tencent"\} 1/)
    t.match(
      rig.events().filter(each => each['event'] === 'attempt'),
      [{ provider: 'aliyun', outcome: 'retry', code: 'ECONNREFUSED' }],
    )

    await writeFile(templatesFile, `${TEMPLATES}  nonsense: {}\n`)
    await until(
      async () => (await rig.page('/console')).includes('SMS_TEMPLATES_FILE, line'),
      'the console says so',
    )
    t.match(await rig.page('/console'), 'SMS_TEMPLATES_FILE, line 5: ')
    t.equal(await send('13800138003'), 0, 'the last good one is in force')
    await writeFile(templatesFile, TEMPLATES)
    await until(async () => !(await rig.page('/console')).includes('SMS_TEMPLATES_FILE, line'), 'mended')
  },
)

const PUBLIC_URL = 'https://courier.example.com'

const CHINA = { area_code: '86', prefix: '1380013' }
const AMERICA = { area_code: '1', prefix: '650555' }

/** Sends so many SMS, which Twilio takes, and has it report so on each of them. */
async function sendSms(
  rig: ServiceRig,
  count: number,
  status: 'delivered' | 'undelivered',
  { area_code, prefix } = CHINA,
): Promise<void> {
  const before = rig.twilio.messages.length
  for (let n = 0; n < count; n += 1)
    await rig.post(
      'sms',
      smsBody({ area_code, to: `${prefix}${before + 1000 + n}` }, { code: `${100_000 + n}` }),
    )
  for (const { sid } of rig.twilio.messages.slice(before))
    await rig.ask('/receipt/twilio', signedReport(PUBLIC_URL, { MessageSid: sid, MessageStatus: status }))
}

t.test(
  'a resend that follows an undelivered code goes by the next carrier, and its timeline says why',
  async t => {
    const { aliyun, tencent, settings } = await startTwoCarriers(t)
    await aliyun.standIn.close()
    const rig = await startRig(t, { ...NO_QUOTAS, ...settings, PUBLIC_URL, SMS_ROUTES: '*=twilio,tencent' })
    const send = async (code: number, to = '13800138001') =>
      (await rig.post('sms', smsBody({ to }, { type: 4, code: `${code}` }))).errCode
    t.equal(await send(100_001), 0)
    const sid = rig.twilio.messages[0]?.sid ?? ''
    const fields = { MessageSid: sid, MessageStatus: 'undelivered' }
    await rig.ask('/receipt/twilio', signedReport(PUBLIC_URL, fields))

    for (const code of [100_002, 100_003]) t.equal(await send(code), 0)
    t.equal(tencent.standIn.messages.length, 2, 'none of them goes to the carrier that failed')
    t.equal(rig.twilio.messages.length, 1, 'nor does a second copy')
    t.equal(await send(100_004, '13800138002'), 0)
    t.equal(rig.twilio.messages.length, 2, 'other numbers go as ever')

    const links = [...(await rig.page('/console/messages')).matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
    const pages = await Promise.all([...new Set(links.map(([link]) => link))].map(each => rig.page(each)))
    const told = pages.filter(each => each.includes('a code before this one was reported undelivered'))
    t.equal(told.length, 2)
  },
)

t.test('where it has twenty reports of a country, a carrier is asked second for it alone', async t => {
  const { tencent, settings } = await startTwoCarriers(t)
  const rig = await startRig(t, {
    ...NO_QUOTAS,
    ...settings,
    PUBLIC_URL,
    SMS_ROUTES: '*=twilio,tencent',
    SMS_COUNTRIES: 'CN,US',
  })
  // Of the latest fifty of all, a fifth is bad.
  await sendSms(rig, 40, 'delivered', AMERICA)
  await sendSms(rig, 10, 'undelivered')
  await sendSms(rig, 40, 'delivered', AMERICA)
  await sendSms(rig, 10, 'undelivered')
  const metrics = await rig.page('/metrics')
  t.match(metrics, 'carrier_second{provider="twilio",country=""} 0\n')
  t.match(metrics, 'carrier_second{provider="twilio",country="CN"} 1\n')
  t.match(
    rig.events().filter(each => each['event'] === 'carrier-order'),
    [{ provider: 'twilio', country: 'CN', second: true }],
  )
  t.match(await rig.page('/console'), 'For SMS to CN it is asked second, because')
  // A tenth goes to it first all the same.
  for (let n = 0; n < 3; n += 1) await rig.post('sms', smsBody({ to: `1380013900${n}` }, { type: 4 }))
  t.match(tencent.standIn.messages[0], { phoneNumber: /^\+8613800139/ })
  const links = (await rig.page('/console/messages')).match(/\/console\/messages\/[0-9a-f]{32}/g) ?? []
  const newest = await Promise.all([...new Set(links)].slice(0, 3).map(each => rig.page(each)))
  t.match(
    newest.join(),
    /twilio.*asked second: its delivery reports are late or bad/s,
    'their timelines say why',
  )
})
