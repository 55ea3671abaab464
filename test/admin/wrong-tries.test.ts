import t from 'tap'
import { createWrongTries } from '../../src/admin/wrong-tries.ts'

const limits = { windowMs: 60_000, perAddress: 3, overall: 10 }

t.test('many addresses together use up what all may try, but not for who has shown the password', async t => {
  let now = 0
  const tries = createWrongTries(() => now, limits)
  tries.right('192.0.2.200')
  for (let i = 0; i < 10; i += 1) {
    t.equal(tries.waitMs(`198.51.100.${i}`), 0)
    tries.wrong(`198.51.100.${i}`)
  }
  t.equal(tries.waitMs('203.0.113.1'), 60_000, 'a stranger who never tried waits, too')
  t.equal(tries.waitMs('192.0.2.200'), 0, 'the operator is not locked out')
  now = 60_000
  t.equal(tries.waitMs('203.0.113.1'), 0)
})

t.test('who knows the password has no more tries than others', async t => {
  const tries = createWrongTries(() => 0, limits)
  tries.right('192.0.2.1')
  for (let i = 0; i < 3; i += 1) tries.wrong('192.0.2.1')
  t.equal(tries.waitMs('192.0.2.1'), 60_000)
})

t.test('one IPv6 subscriber is one address', async t => {
  const tries = createWrongTries(() => 0, limits)
  for (const address of ['2001:db8:0:1::1', '2001:0db8::1:ffff:ffff:ffff:ffff', '2001:db8:0:1:a:b:c:d'])
    tries.wrong(address)
  t.equal(tries.waitMs('2001:db8:0:1::99'), 60_000)
  t.equal(tries.waitMs('2001:db8:0:2::99'), 0)
  for (let i = 0; i < 3; i += 1) tries.wrong('::ffff:192.0.2.7')
  t.equal(tries.waitMs('192.0.2.7'), 60_000)
  t.equal(tries.waitMs('::1'), 0)
})
