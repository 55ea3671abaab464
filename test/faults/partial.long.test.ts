import t from 'tap'
import { outlive } from './partial.ts'

t.test('a server is gone: short codes are sent when it returns, before they expire', async t => {
  const outages = [
    { channel: 'email', downMs: 15_000, lifeMs: 20_000 },
    { channel: 'sms', downMs: 15_000, lifeMs: 20_000 },
  ] as const
  const took = await Promise.all(outages.map(outage => outlive(t, outage)))
  for (const each of took) {
    t.comment(`${each.join(', ')} ms`)
    t.equal(each.length, 7)
  }
})
