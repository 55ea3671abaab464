import t from 'tap'
import { smsBody, startRig } from '../rigs/service.ts'
import { startTwoCarriers } from '../rigs/two-carriers.ts'

/** From just after midnight on, so that the windows of a day do not end in the middle of a test. */
function clockFromMidnight() {
  const start = Math.ceil(Date.now() / 86_400_000) * 86_400_000
  const began = performance.now()
  return { now: () => start + Math.floor(performance.now() - began) }
}

t.test('what SMS cost is a metric and a brake; a carrier has its own', async t => {
  const clock = clockFromMidnight()
  const rig = await startRig(
    t,
    {
      SMS_COSTS: 'twilio: CN=0.4, *=2',
      QUOTA_SMS_COST_PER_DAY: '1',
      QUOTA_SMS_CARRIER_PER_DAY: 'twilio=1000',
      SMS_COUNTRIES: '*',
    },
    { clock },
  )
  const send = async (to: string, area_code = '86') => rig.post('sms', smsBody({ to, area_code }))
  t.equal((await send('13800138001')).errCode, 0)
  t.equal((await send('13800138002')).errCode, 0)
  t.match(await send('13800138003'), { status: 429, errCode: 4291001 }, 'a third one would cost 1.2')
  t.match(await send('2025550123', '1'), { status: 429 }, 'dearer than a day allows')
  t.equal(rig.twilio.messages.length, 2)
  const metrics = await (await fetch(`${rig.service().adminUrl}/metrics`)).text()
  t.match(metrics, /sms_cost_total\{provider="twilio",country="CN"\} 0\.8\n/)
  t.match(metrics, /over_quota_total\{channel="sms",quota="sms-cost-day"\} 2\n/)
  t.match(metrics, /near_quota_total\{channel="sms",quota="sms-cost-day"\} 1\n/)
  t.match(metrics, /sms_cost_day 0\.8\n/)
  t.match(metrics, /sms_cost_day_limit 1\n/)
  await rig.restart({ QUOTA_SMS_COST_PER_DAY: '100', QUOTA_SMS_CARRIER_PER_DAY: 'twilio=3' }, { clock })
  t.equal((await send('13800138004')).errCode, 0)
  t.match(await send('13800138005'), { status: 429 }, 'the fourth of this carrier')
})

t.test('a carrier whose quota is full is passed over; each SMS counts where it was sent', async t => {
  const { aliyun, tencent, settings: routed } = await startTwoCarriers(t)
  const clock = clockFromMidnight()
  const settings = {
    ...routed,
    SMS_COSTS: 'aliyun:CN=1; tencent:CN=3',
    QUOTA_SMS_CARRIER_PER_DAY: 'aliyun=2, tencent=2',
    QUOTA_SMS_COST_PER_DAY: '12',
  }
  const rig = await startRig(t, settings, { clock })
  const send = async (to: string) => rig.post('sms', smsBody({ to }, { type: 4 }))
  const sent = () => [aliyun.standIn.messages.length, tencent.standIn.messages.length]
  const metrics = async () => (await fetch(`${rig.service().adminUrl}/metrics`)).text()
  for (const to of ['13800138001', '13800138002']) t.equal((await send(to)).errCode, 0)
  t.same(sent(), [2, 0])
  t.equal((await send('13800138003')).errCode, 0)
  t.same(sent(), [2, 1], 'the next one of the route')
  t.match(await metrics(), /sms_cost_day 5\n/, 'at its price')
  const { adminUrl } = rig.service()
  const list = await (await fetch(`${adminUrl}/console/messages`)).text()
  const [newest] = [...list.matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
  t.match(
    await (await fetch(`${adminUrl}${newest?.[0]}`)).text(),
    /aliyun[\s\S]*quota[\s\S]*tencent/,
    'its timeline',
  )
  t.equal((await send('13800138004')).errCode, 0)
  t.match(await send('13800138005'), { status: 429, errCode: 4291001 }, 'all are full')
  t.same(sent(), [2, 2])
  t.match(await metrics(), /over_quota_total\{channel="sms",quota="sms-carrier-day"\} 1\n/)
  t.notMatch(await metrics(), /breaker_open\{provider="(aliyun|tencent)"\} 1/, 'nobody is down for it')

  await rig.restart({ ...settings, QUOTA_SMS_CARRIER_PER_DAY: 'aliyun=2, tencent=5' }, { clock })
  t.equal((await send('13800138006')).errCode, 0)
  t.same(sent(), [2, 3], 'after a restart it is known once it was tried')
  t.match(await send('13800138007'), { errCode: 0 }, 'accepted at the price of the first')
  t.same(sent(), [2, 3], 'and waits: by the second it would cost more than a day may')
})
