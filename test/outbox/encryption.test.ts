import { inspect } from 'node:util'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'

const storeKeys = createStoreKeys('the first secret of this test')
const letter = {
  recipient: 'ann@example.com',
  content: { params: { code: '135790' }, words: 'ours' },
} as const
const id = 'a'.repeat(32)

t.test('a letter comes back as it was, and never looks the same', t => {
  const sealed = [storeKeys.encrypt(id, letter), storeKeys.encrypt(id, letter)]
  for (const each of sealed) t.same(storeKeys.decrypt(id, each), letter)
  t.notSame(sealed[0], sealed[1])
  for (const each of sealed) t.notOk(each.includes('135790') || each.includes('ann'))
  t.end()
})

t.test('a thousand letters have a thousand nonces', t => {
  const nonces = Array.from({ length: 1000 }, () =>
    storeKeys.encrypt(id, letter).subarray(1, 13).toString('hex'),
  )
  t.equal(new Set(nonces).size, 1000)
  t.end()
})

t.test('changed, of another row, of another secret, or of another form: refused', t => {
  const sealed = storeKeys.encrypt(id, letter)
  for (const at of [0, 1, 13, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.throws(() => storeKeys.decrypt(id, changed), `byte ${at}`)
  }
  t.throws(() => storeKeys.decrypt('b'.repeat(32), sealed))
  t.throws(() => createStoreKeys('the second secret of this test').decrypt(id, sealed))
  t.throws(() => storeKeys.decrypt(id, sealed.subarray(0, 20)))
  t.throws(() => storeKeys.decrypt(id, Buffer.alloc(0)))
  t.end()
})

t.test('names are equal for equal fields, and only then', t => {
  t.equal(
    storeKeys.dedupeKey(['a', 'b']),
    createStoreKeys('the first secret of this test').dedupeKey(['a', 'b']),
  )
  t.match(storeKeys.dedupeKey(['a']), /^[\w-]{22}$/)
  const names = [
    storeKeys.dedupeKey(['a', 'b']),
    storeKeys.dedupeKey(['ab']),
    storeKeys.dedupeKey(['a,b']),
    storeKeys.dedupeKey(['a', 'b', '']),
    storeKeys.bucketHash('a', 'b'),
    storeKeys.recipientHash('email', 'ann@example.com'),
    storeKeys.recipientHash('sms', 'ann@example.com'),
    storeKeys.groupKey('email', 'ann@example.com', 'login-code', ''),
    storeKeys.groupKey('email', 'ann@example.com', 'login-code', '1'),
    createStoreKeys('the second secret of this test').dedupeKey(['a', 'b']),
  ]
  t.equal(new Set(names).size, names.length)
  t.end()
})

t.test('the secret shows in no print of the storeKeys', t => {
  const secret = 'canary-of-the-secret'
  const printed =
    inspect(createStoreKeys(secret), { depth: 9, showHidden: true }) + JSON.stringify(createStoreKeys(secret))
  t.notOk(printed.includes('canary'))
  t.end()
})
