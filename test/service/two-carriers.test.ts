import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { smsBody, startRig, until } from '../rigs/service.ts'
import { startTwoCarriers, TEMPLATES } from '../rigs/two-carriers.ts'

t.test(
  'the second carrier sends when the first is down; whoever looks sees both, and a spoilt templates file',
  async t => {
    const { aliyun, tencent, templatesFile, settings } = await startTwoCarriers(t)
    const rig = await startRig(t, settings)
    const { adminUrl } = rig.service()
    const page = async (path: string) => (await fetch(`${adminUrl}${path}`)).text()
    const send = async (to: string) => (await rig.post('sms', smsBody({ to }, { type: 4 }))).errCode

    t.equal(await send('13800138001'), 0)
    t.equal(aliyun.standIn.messages.length, 1, 'the first one is asked first')
    await aliyun.standIn.close()
    t.equal(await send('13800138002'), 0)
    t.match(tencent.standIn.messages, [{ phoneNumber: '+8613800138002' }])
    t.equal(rig.twilio.messages.length, 0)

    const [newest] = [...(await page('/console/messages')).matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
    t.match(await page(newest?.[0] ?? ''), /aliyun[\s\S]*ECONNREFUSED[\s\S]*tencent/, 'its timeline')
    const overview = await page('/console')
    for (const name of ['aliyun', 'tencent', 'twilio']) t.match(overview, name)
    const metrics = await page('/metrics')
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
      async () => (await page('/console')).includes('SMS_TEMPLATES_FILE, line'),
      'the console says so',
    )
    t.equal(await send('13800138003'), 0, 'the last good one is in force')
    await writeFile(templatesFile, TEMPLATES)
    await until(async () => !(await page('/console')).includes('SMS_TEMPLATES_FILE, line'), 'mended')
  },
)
