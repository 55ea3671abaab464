import t from 'tap'
import { createLoginThrottle } from '../../src/admin/auth.ts'

const limits = { windowMs: 60_000, perSource: 3, sources: 4 }

t.test('so many sources are remembered, the latest ones', async t => {
  const tries = createLoginThrottle(() => 0, limits)
  for (const source of ['1', '2', '3', '4', '5'])
    for (const token of ['a', 'b', 'c']) tries.recordFailure(source, token)
  t.same(
    ['1', '2', '3', '4', '5'].map(source => tries.waitOf(source)),
    [0, 60_000, 60_000, 60_000, 60_000],
  )
})

t.test('the latest uses of right tokens are remembered for a day, as many', async t => {
  let now = 0
  const tries = createLoginThrottle(() => now, limits)
  for (const address of ['1', '2', '3', '4', '1', '5']) tries.recordUse(address, 'ann')
  const used = () => ['1', '2', '3', '4', '5'].map(address => tries.wasUsed(address, 'ann'))
  t.same(used(), [true, false, true, true, true])
  t.equal(tries.wasUsed('1', 'bob'), false)
  now = 86_399_999
  tries.recordUse('3', 'ann')
  now = 86_400_000
  t.same(used(), [false, false, true, false, false])
})
