import t from 'tap'
import { startTwoCarriers } from '../rigs/two-carriers.ts'
import { outlive, playOneCarrier, playThreeCarriers } from './partial.ts'

const SEED = Number(process.env['SEED'] ?? 20_261_122)

t.test('one carrier that cuts 15 % and hangs with 4 % of its requests carries nearly all', async t =>
  playOneCarrier(t, SEED),
)

t.test('a server is gone: short codes are sent when it returns, before they expire', async t => {
  // Beside the carrier that is gone, another one works that none of these codes may go to.
  const { settings } = await startTwoCarriers(t)
  const apart = { ...settings, SMS_ROUTES: 'CN=twilio; *=aliyun' }
  const outages = [
    { channel: 'email', downMs: 40_000, lifeMs: 60_000 },
    { channel: 'email', downMs: 33_000, lifeMs: 36_000 },
    { channel: 'sms', downMs: 40_000, lifeMs: 60_000 },
    { channel: 'sms', downMs: 33_000, lifeMs: 36_000 },
    { channel: 'sms', downMs: 40_000, lifeMs: 60_000, settings: apart },
  ] as const
  const took = await Promise.all(outages.map(outage => outlive(t, outage)))
  took.forEach((each, at) => {
    t.comment(`${outages[at]?.channel}, ${outages[at]?.downMs} ms: ${each.join(', ')} ms`)
    t.equal(each.length, 7)
  })
})

t.test('three carriers that each take 62 % of their requests carry nearly all', async t =>
  playThreeCarriers(t, SEED),
)
