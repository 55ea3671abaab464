import t from 'tap'
import { startTwoCarriers } from '../rigs/two-carriers.ts'
import { outlive, playOneCarrier, playThreeCarriers } from './partial.ts'

const SEED = Number(process.env['SEED'] ?? 20_261_122)

t.test('one carrier that cuts 15 % and hangs with 4 % of its requests carries nearly all', async t =>
  playOneCarrier(t, SEED),
)

t.test('a carrier is gone beside one that none of its codes may go to', async t => {
  const { settings } = await startTwoCarriers(t)
  await outlive(t, 'sms', { ...settings, SMS_ROUTES: 'CN=twilio; *=aliyun' })
})

t.test('three carriers that each take 62 % of their requests carry nearly all', async t =>
  playThreeCarriers(t, SEED),
)
