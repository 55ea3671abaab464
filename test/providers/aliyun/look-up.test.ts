import t from 'tap'
import { daysToAsk, findInDetails, readDetails } from '../../../src/providers/aliyun/look-up.ts'

const ID = 'a'.repeat(32)

t.test('both days around midnight, of China’s clock and of UTC', async t => {
  const noon = Date.UTC(2026, 0, 15, 4)
  t.same(daysToAsk(noon, noon + 30_000), ['20260115'])
  const midnightInChina = Date.UTC(2026, 0, 15, 16)
  t.same(daysToAsk(midnightInChina - 60_000, midnightInChina - 30_000), ['20260116', '20260115'])
  t.same(daysToAsk(midnightInChina + 60_000, midnightInChina + 90_000), ['20260116', '20260115'])
  const midnight = Date.UTC(2026, 0, 16)
  t.same(daysToAsk(midnight - 1000, midnight + 1000), ['20260116', '20260115'])
  const night = Date.UTC(2026, 0, 15, 20)
  t.same(daysToAsk(night, night), ['20260116', '20260115'], 'whichever zone it counts in')
  t.same(daysToAsk(noon - 2 * 86_400_000, noon), ['20260115', '20260114', '20260113'])
})

t.test('a row with our OutId is ours, whatever became of it; no row proves nothing', async t => {
  for (const SendStatus of [1, '2', 3, 9])
    t.match(findInDetails([{ OutId: 'other' }, { OutId: ID, SendStatus, Content: '【x】123456' }], ID), {
      is: 'accepted',
      reply: /^found [\w ,]+$/,
    })
  t.match(findInDetails([{ OutId: 'other' }, {}], ID), { is: 'not-known' })
})

t.test('whatever an answer looks like', async t => {
  t.same(readDetails({ TotalCount: '0' }), { rows: [], total: 0 })
  t.same(readDetails({ TotalCount: 2, SmsSendDetailDTOs: null }), { rows: [], total: 2 })
  t.same(
    readDetails({ TotalCount: 'x', SmsSendDetailDTOs: { SmsSendDetailDTO: [1, null, { OutId: ID }] } }),
    {
      rows: [{ OutId: ID }],
      total: 0,
    },
  )
})
