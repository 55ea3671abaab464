import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { outlive, playOneCarrier } from './partial.ts'

const SEED = Number(process.env['SEED'] ?? 20_261_122)

t.test('one carrier that cuts 15 % and hangs with 4 % of its requests carries nearly all', async t =>
  playOneCarrier(t, SEED),
)

t.test('a server is gone: short codes are sent within two seconds of its return', async t => {
  const outages = [
    { channel: 'email', downMs: 40_000, lifeMs: 60_000 },
    { channel: 'email', downMs: 33_000, lifeMs: 36_000 },
    { channel: 'sms', downMs: 40_000, lifeMs: 60_000 },
    { channel: 'sms', downMs: 33_000, lifeMs: 36_000 },
  ] as const
  const took = await Promise.all(outages.map(outage => outlive(t, outage)))
  took.forEach((each, at) => {
    t.comment(JSON.stringify({ ...outages[at], took: each }))
    t.equal(each.length, 7)
    t.ok(Math.max(...each) < patient(2000), `${Math.max(...each)} ms`)
  })
})
