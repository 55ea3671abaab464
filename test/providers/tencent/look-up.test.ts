import t from 'tap'
import { timeRangeOf } from '../../../src/providers/tencent/look-up.ts'

const NOW = Date.UTC(2026, 0, 15, 4)

t.test('a wide span, in seconds, of the 7 days that Tencent keeps', async t => {
  t.same(timeRangeOf(NOW - 10_000, NOW), { BeginTime: NOW / 1000 - 310, EndTime: NOW / 1000 + 300 })
  const { BeginTime } = timeRangeOf(NOW - 30 * 86_400_000, NOW)
  t.ok(BeginTime > NOW / 1000 - 7 * 86_400)
})
