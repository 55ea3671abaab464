import { inspect } from 'node:util'
import t from 'tap'
import { createSealer } from '../../src/outbox/encryption.ts'

const sealer = createSealer('the first secret of this test')
const letter = {
  recipient: 'ann@example.com',
  content: { params: { code: '135790' }, words: 'ours' },
} as const
const id = 'a'.repeat(32)

t.test('a letter comes back as it was, and never looks the same', t => {
  const sealed = [sealer.seal(id, letter), sealer.seal(id, letter)]
  for (const each of sealed) t.same(sealer.unseal(id, each), letter)
  t.notSame(sealed[0], sealed[1])
  for (const each of sealed) t.notOk(each.includes('135790') || each.includes('ann'))
  t.end()
})

t.test('a thousand letters have a thousand nonces', t => {
  const nonces = Array.from({ length: 1000 }, () => sealer.seal(id, letter).subarray(1, 13).toString('hex'))
  t.equal(new Set(nonces).size, 1000)
  t.end()
})

t.test('changed, of another row, of another secret, or of another form: refused', t => {
  const sealed = sealer.seal(id, letter)
  for (const at of [0, 1, 13, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.throws(() => sealer.unseal(id, changed), `byte ${at}`)
  }
  t.throws(() => sealer.unseal('b'.repeat(32), sealed))
  t.throws(() => createSealer('the second secret of this test').unseal(id, sealed))
  t.throws(() => sealer.unseal(id, sealed.subarray(0, 20)))
  t.throws(() => sealer.unseal(id, Buffer.alloc(0)))
  t.end()
})

t.test('names are equal for equal fields, and only then', t => {
  t.equal(sealer.twinKey(['a', 'b']), createSealer('the first secret of this test').twinKey(['a', 'b']))
  t.match(sealer.twinKey(['a']), /^[\w-]{22}$/)
  const names = [
    sealer.twinKey(['a', 'b']),
    sealer.twinKey(['ab']),
    sealer.twinKey(['a,b']),
    sealer.twinKey(['a', 'b', '']),
    sealer.bucketHash('a', 'b'),
    sealer.recipientHash('email', 'ann@example.com'),
    sealer.recipientHash('sms', 'ann@example.com'),
    sealer.groupKey('email', 'ann@example.com', 'login-code', ''),
    sealer.groupKey('email', 'ann@example.com', 'login-code', '1'),
    createSealer('the second secret of this test').twinKey(['a', 'b']),
  ]
  t.equal(new Set(names).size, names.length)
  t.end()
})

t.test('the secret shows in no print of the sealer', t => {
  const secret = 'canary-of-the-secret'
  const printed =
    inspect(createSealer(secret), { depth: 9, showHidden: true }) + JSON.stringify(createSealer(secret))
  t.notOk(printed.includes('canary'))
  t.end()
})
