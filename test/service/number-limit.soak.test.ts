import t from 'tap'
import { NO_QUOTAS, smsBody, startRig, until } from '../rigs/service.ts'
import { startTwoCarriers } from '../rigs/two-carriers.ts'

const LOGIN_CODE = 4
const MINUTE = 60_000

t.test(
  'a second code to a number, that its carrier takes once a minute, is there a minute after the first',
  async t => {
    const { aliyun, settings } = await startTwoCarriers(t, { limits: { minute: 1, hour: 5, day: 10 } })
    const rig = await startRig(t, { ...NO_QUOTAS, ...settings, SMS_ROUTES: 'CN=aliyun; *=twilio' })
    const send = async (code: string) => rig.post('sms', smsBody({}, { type: LOGIN_CODE, code, minute: '5' }))
    await send('100001')
    const [first] = aliyun.standIn.messages
    await new Promise(resolve => setTimeout(resolve, MINUTE / 3))
    await send('100002')
    await until(() => aliyun.standIn.messages.length === 2, 'the second code')
    const tookMs = (aliyun.standIn.messages[1]?.at ?? 0) - (first?.at ?? 0)
    t.ok(tookMs < MINUTE + 5000, `${tookMs} ms after the first`)
  },
)
