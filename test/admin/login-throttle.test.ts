import t from 'tap'
import { createLoginThrottle } from '../../src/admin/auth.ts'

/** So many, and one more. */
const SOURCES = Array.from({ length: 1001 }, (_, n) => `${n}`)

t.test('of a thousand sources, wrong tokens for a minute, right ones for a day', async t => {
  let now = 0
  const tries = createLoginThrottle(() => now)
  for (const source of SOURCES) for (let n = 0; n < 10; n += 1) tries.recordFailure(source, `wrong-${n}`)
  const waits = () => ['0', '1', '1000'].map(source => tries.waitOf(source))
  t.same(waits(), [0, 60_000, 60_000])
  for (const source of [...SOURCES.slice(0, -1), '0', '1000']) tries.recordUse(source, 'ann')
  const used = () => ['0', '1', '2', '1000'].map(source => tries.wasUsed(source, 'ann'))
  t.same(used(), [true, false, true, true])
  t.equal(tries.wasUsed('0', 'bob'), false)
  now = 60_000
  t.same(waits(), [0, 0, 0])
  now = 86_399_999
  tries.recordUse('2', 'ann')
  now = 86_400_000
  t.same(used(), [false, false, true, false])
})
