import { inspect } from 'node:util'
import t from 'tap'
import {
  createStoreKeys,
  encryptPayload,
  isSecretMissing,
  isSecretNew,
  renewSecretChecks,
  splitSecretChecks,
  tryDecrypt,
} from '../../src/outbox/encryption.ts'

const storeKeys = createStoreKeys('the first secret of this test')
const payload = {
  recipient: 'ann@example.com',
  content: { params: { code: '135790' }, words: 'ours' },
} as const
const id = 'a'.repeat(32)

t.test('what earlier versions have stored is read, and found under its names', async t => {
  const stored =
    'ATcYE/sySdbQgPZoYmnRQ9oawAvXmiHw3JreLMMiBoo7o/dOffwtcU6NaU5ukhPdO3UaDWyTcDxSbzaSo4Qpg1UVxS9jnTckehznKiNHTNHeTGXJq5nGmf+48wE='
  t.same(tryDecrypt(storeKeys.payloadKeys, id, Buffer.from(stored, 'base64')), payload)
  t.equal(storeKeys.dedupeKey(['a', 'b']), '8FsUepJg3FuQay_8m2KDpw')
  t.equal(storeKeys.groupKey('email', payload.recipient, 'login-code', ''), '8Iu-dTb6yehZ3BfjrsmzZA')
  t.equal(storeKeys.recipientHash('email', payload.recipient), 'fM6hSbo_Q9laTXiiAhcLpA')
  t.equal(storeKeys.destinationHash('a', 'b'), 'PxW6sPvpY2M')
  t.equal(storeKeys.bucketHash('a', 'b'), 'cfLmWHLmjW78wgOvyz2coA')
})

t.test('a thousand payloads have a thousand nonces', async t => {
  const nonces = Array.from({ length: 1000 }, () =>
    encryptPayload(storeKeys.payloadKeys, id, payload).subarray(1, 13).toString('hex'),
  )
  t.equal(new Set(nonces).size, 1000)
})

t.test('changed, of another row, of another secret, or of another form: refused', async t => {
  const encrypted = encryptPayload(storeKeys.payloadKeys, id, payload)
  for (const at of [0, 1, 13, encrypted.length - 1]) {
    const changed = Buffer.from(encrypted)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.equal(tryDecrypt(storeKeys.payloadKeys, id, changed), null, `byte ${at}`)
  }
  t.equal(tryDecrypt(storeKeys.payloadKeys, 'b'.repeat(32), encrypted), null)
  t.equal(tryDecrypt(createStoreKeys('the second secret of this test').payloadKeys, id, encrypted), null)
  t.equal(tryDecrypt(storeKeys.payloadKeys, id, encrypted.subarray(0, 20)), null)
  t.equal(tryDecrypt(storeKeys.payloadKeys, id, Buffer.alloc(0)), null)
})

t.test('the secret shows in no print of the keys', async t => {
  const secret = 'canary-of-the-secret'
  const printed =
    inspect(createStoreKeys(secret), { depth: 9, showHidden: true }) + JSON.stringify(createStoreKeys(secret))
  t.notOk(printed.includes('canary'))
})

t.test('a secret that was replaced is missed until a start has found nothing under it', async t => {
  const keysOf = (first: string, ...rest: string[]) => createStoreKeys(first, rest).payloadKeys
  let stored = renewSecretChecks(keysOf('old'), [])
  const isNew = (name: string) => isSecretNew(keysOf(name, 'old'), stored)
  t.notOk(isSecretNew(keysOf('new'), []), 'a new store has no other')
  t.same(['old', 'new'].map(isNew), [false, true], 'that of what is written from now on')
  const start = (...names: [string, ...string[]]) => {
    const isMissing = isSecretMissing(keysOf(...names), stored)
    const [current = Buffer.of(), ...replaced] = renewSecretChecks(keysOf(...names), stored)
    stored = splitSecretChecks(current, Buffer.concat(replaced))
    return isMissing
  }
  const isMissing = (...names: [string, ...string[]]) => isSecretMissing(keysOf(...names), stored)
  for (const damaged of [Buffer.of(), Buffer.of(1), encryptPayload(keysOf('old'), id, payload)])
    t.ok(isSecretMissing(keysOf('old'), splitSecretChecks(damaged)), 'what is no check, or damaged')
  t.notOk(isSecretMissing(keysOf('old'), splitSecretChecks(undefined)), 'a new store misses none')
  t.notOk(start('new', 'old'), 'it has both')
  t.notOk(start('old', 'new'), 'a replica that was not changed yet, too')
  t.notOk(start('new', 'old'))
  t.notOk(start('newer', 'new', 'old'))
  t.ok(isMissing('newer', 'new'))
  t.ok(isMissing('newer', 'old'))
  t.ok(start('newer'), 'what waits is looked through')
  t.notOk(start('newer'), 'and once only')
  t.notOk(start('newer', 'next'))
  t.ok(isMissing('newer'), 'a replica may write with any that is named')
  t.ok(start('newer', 'other'))
  t.notOk(start('newer', 'other'), 'one in the place of another, too')
  t.same(['newer', 'other', 'next'].map(isNew), [false, false, true])
})
