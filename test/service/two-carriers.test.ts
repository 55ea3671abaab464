import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { LOGIN, SIGN_NAME, startAliyunServer } from '../providers/aliyun/rig.ts'
import { APP_ID, startTencentServer, LOGIN as TENCENT } from '../providers/tencent/rig.ts'
import { smsBody, startRig, until } from '../rigs/service.ts'

t.test(
  'the second carrier sends when the first is down; whoever looks sees both, and a spoilt templates file',
  async t => {
    const [aliyun, tencent] = await Promise.all([startAliyunServer(), startTencentServer()])
    t.teardown(async () => Promise.all([aliyun.standIn.close(), tencent.standIn.close()]))
    const file = join(t.testdir(), 'templates.yaml')
    const templates = `aliyun:
  login-code: { mainland: { template: SMS_1, params: { code: code } } }
tencent:
  login-code: { mainland: { template: 1110, params: [code, minute] } }
`
    await writeFile(file, templates)
    const rig = await startRig(t, {
      SMS_ROUTES: 'CN=aliyun,tencent; *=twilio',
      SMS_TEMPLATES_FILE: file,
      ALIYUN_ACCESS_KEY_ID: LOGIN.keyId,
      ALIYUN_ACCESS_KEY_SECRET: LOGIN.secret,
      ALIYUN_SMS_SIGN_NAME: SIGN_NAME,
      ALIYUN_API_URL: aliyun.url,
      TENCENT_SECRET_ID: TENCENT.secretId,
      TENCENT_SECRET_KEY: TENCENT.secretKey,
      TENCENT_SMS_APP_ID: APP_ID,
      TENCENT_SMS_SIGN_NAME: SIGN_NAME,
      TENCENT_API_URL: tencent.url,
    })
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

    await writeFile(file, `${templates}  nonsense: {}\n`)
    await until(
      async () => (await page('/console')).includes('SMS_TEMPLATES_FILE, line'),
      'the console says so',
    )
    t.equal(await send('13800138003'), 0, 'the last good one is in force')
    await writeFile(file, templates)
    await until(async () => !(await page('/console')).includes('SMS_TEMPLATES_FILE, line'), 'mended')
  },
)
