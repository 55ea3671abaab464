import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { outlive } from './partial.ts'

t.test('a server is gone: short codes are sent within two seconds of its return', async t => {
  const outages = [
    { channel: 'email', downMs: 15_000, lifeMs: 15_000 + patient(5000) },
    { channel: 'sms', downMs: 15_000, lifeMs: 15_000 + patient(5000) },
  ] as const
  const took = await Promise.all(outages.map(outage => outlive(t, outage)))
  for (const each of took) {
    t.equal(each.length, 7)
    t.ok(Math.max(...each) < patient(2000), `${Math.max(...each)} ms`)
  }
})
