import t from 'tap'
import { createBackoff, restAfter } from '../../src/runtime/backoff.ts'

const BOUNDS = { first: 1000, most: 60_000 }

t.test('a rest doubles with each failure in a row, up to the longest', async t => {
  const backoff = createBackoff(BOUNDS)
  const rests = Array.from({ length: 9 }, backoff.failed)
  t.same(rests, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
  backoff.succeeded()
  t.equal(backoff.failed(), 1000, 'and begins anew after what went well')
  t.equal(restAfter(100_000, BOUNDS), 60_000)
  t.equal(restAfter(0, BOUNDS), 0)
})
