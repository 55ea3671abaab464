import t from 'tap'
import { createLoginThrottle } from '../../src/admin/auth.ts'

const limits = { windowMs: 60_000, perAddress: 3, overall: 10 }

t.test('so many of one address, so many of all, until the window ends', async t => {
  let now = 0
  const tries = createLoginThrottle(() => now, limits)
  for (let n = 0; n < 3; n += 1) t.equal(tries.recordFailure('192.0.2.1'), 0)
  now = 20_000
  t.equal(tries.recordFailure('192.0.2.1'), 40_000)
  for (let n = 0; n < 7; n += 1) t.equal(tries.recordFailure(`198.51.100.${n}`), 0)
  t.equal(tries.recordFailure('203.0.113.1'), 40_000, 'a stranger who never tried')
  now = 60_000
  for (let n = 0; n < 3; n += 1) t.equal(tries.recordFailure('192.0.2.1'), 0)
  t.equal(tries.recordFailure('192.0.2.1'), 60_000, 'a new window counts from its own beginning')
})

t.test('one IPv6 subscriber is one address', async t => {
  const tries = createLoginThrottle(() => 0, limits)
  for (const address of ['2001:db8:0:1::1', '2001:0db8::1:ffff:ffff:ffff:ffff', '2001:db8:0:1:a:b:c:d'])
    t.equal(tries.recordFailure(address), 0)
  t.equal(tries.recordFailure('2001:db8:0:1::99'), 60_000)
  t.equal(tries.recordFailure('2001:db8:0:2::99'), 0)
  for (let n = 0; n < 3; n += 1) t.equal(tries.recordFailure('::ffff:192.0.2.7'), 0)
  t.equal(tries.recordFailure('192.0.2.7'), 60_000)
  t.equal(tries.recordFailure('::1'), 0)
})
