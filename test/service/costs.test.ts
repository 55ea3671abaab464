import t from 'tap'
import { smsBody, startRig } from '../rigs/service.ts'

t.test('what SMS cost is a metric and a brake; a carrier has its own', async t => {
  // Just after midnight, so that the windows of a day do not end in the middle of it.
  const start = Math.ceil(Date.now() / 86_400_000) * 86_400_000
  const began = performance.now()
  const clock = { now: () => start + Math.floor(performance.now() - began) }
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
  await rig.restart({ QUOTA_SMS_COST_PER_DAY: '100', QUOTA_SMS_CARRIER_PER_DAY: 'twilio=3' }, { clock })
  t.equal((await send('13800138004')).errCode, 0)
  t.match(await send('13800138005'), { status: 429 }, 'the fourth of this carrier')
})
