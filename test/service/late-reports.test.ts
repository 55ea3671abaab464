import t from 'tap'
import { reportOf } from '../../sandbox/carriers/aliyun.ts'
import { deriveReceiptKey } from '../../src/providers/receipts.ts'
import { command } from '../commands/rig.ts'
import { NO_QUOTAS, SMS_TOKEN, smsBody, startRig } from '../rigs/service.ts'
import { startTwoCarriers } from '../rigs/two-carriers.ts'

const PUBLIC_URL = 'https://courier.example.com'
const LOGIN_CODE = 4

t.test(
  'the first report that is ours to mend is said wherever somebody looks, in both languages',
  async t => {
    const { aliyun, settings } = await startTwoCarriers(t)
    const rig = await startRig(t, {
      ...NO_QUOTAS,
      ...settings,
      PUBLIC_URL,
      SMS_ROUTES: 'CN=aliyun; *=twilio',
    })
    const { adminUrl } = rig.service()
    const page = (path: string, language = 'en') => rig.page(path, { 'accept-language': language })
    const firstLine = async (language?: string) =>
      /<ul class="causes".*?<\/li>/s.exec(await page('/console', language))?.[0]
    const find = async (LANG = 'C') =>
      (await command(['find', '+8613800138001'], { ADMIN_PORT: new URL(adminUrl).port, LANG })).out
    const send = async (to: string) => rig.post('sms', smsBody({ to }, { type: LOGIN_CODE }))
    const report = async (code: string) => {
      const message = aliyun.standIn.messages.at(-1)
      if (message === undefined) throw new Error('Aliyun has nothing')
      const body = JSON.stringify([reportOf(message, code)])
      const path = `/receipt/aliyun/${deriveReceiptKey('aliyun', SMS_TOKEN)}`
      await rig.ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    }
    const faults = () => rig.events().filter(each => each['event'] === 'partial-fault')

    await send('13800138000')
    await report('MOBILE_NOT_ON_SERVICE')
    t.notMatch(await firstLine(), 'did not arrive', 'a phone that is off is nobody’s to mend')

    await send('13800138001')
    await report('PORT_NOT_REGISTERED')
    const line =
      /aliyun took messages that did not arrive, since [\d: -]+UTC, of 1 recipients so far: PORT_NOT_REGISTERED: the signature is not filed/
    const inChinese =
      /aliyun 接收的消息没有送达，目前涉及 1 个收件人：PORT_NOT_REGISTERED：签名未完成运营商的实名制报备/
    t.match(await firstLine(), line)
    t.match(await firstLine(), /This is ours to mend: register the sender/)
    t.match(await firstLine('zh-CN'), inChinese)
    t.match(await page('/console'), 'works in part')
    const ready = JSON.parse(await page('/readyz'))
    t.match(ready, { status: 'ready', degraded: ['sms'], partial: [line] })
    t.match(
      await page('/metrics'),
      /receipts_total\{status="undelivered",class="ours",result="recorded",provider="aliyun"\} 1\n/,
    )
    t.match(
      await page('/metrics'),
      /partial_fault\{channel="sms",provider="aliyun",by="report",scope="sender",name="PORT_NOT_REGISTERED"\} 1\n/,
    )
    t.match(faults(), [{ level: 50, provider: 'aliyun', scope: 'sender', code: 'PORT_NOT_REGISTERED' }])
    t.match(
      await find(),
      /aliyun took it .* It did not arrive: PORT_NOT_REGISTERED: the signature is not filed.*\n {2}→ This is ours to mend: register/,
    )
    t.match(await find('zh_CN.UTF-8'), /没有送达：PORT_NOT_REGISTERED：签名未完成运营商的实名制报备/)
    const [newest] = [...(await page('/console/messages')).matchAll(/\/console\/messages\/([0-9a-f]{32})/g)]
    t.match(
      await page(newest?.[0] ?? ''),
      /It did not arrive: PORT_NOT_REGISTERED: the signature is not filed/,
    )
    const told = JSON.parse(await page(`/api/v1/messages/${newest?.[1]}`))
    const fault = { verdict: 'ours', scope: 'sender', reason: /^the signature is not filed/ }
    t.match(told.receipt, { status: 'undelivered', errorCode: 'PORT_NOT_REGISTERED', fault })

    await send('13800138002')
    await report('PORT_NOT_REGISTERED')
    t.match(await firstLine(), 'of 2 recipients')
    for (const last of [3, 4, 5]) {
      await send(`1380013800${last}`)
      await report('DELIVERED')
    }
    t.notMatch(await firstLine(), 'did not arrive', 'it is mended')
    t.notMatch(await page('/metrics'), /partial_fault\{[^}]*PORT_NOT_REGISTERED/)
    t.same(
      faults().map(({ message }) => message),
      ['takes messages, and reports that they did not arrive: mend this', 'takes it again'],
    )
  },
)
