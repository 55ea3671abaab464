import t from 'tap'
import { type Asked, countRecipients, createAskedCount, keepBusiest } from '../../src/callback/asked.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Memo } from '../../src/outbox/outbox.ts'
import { NOON, sample, testClock } from '../outbox/samples.ts'
import { settled } from '../rigs/virtual-time.ts'

const NOBODY = { held: {}, recipients: [], missed: 0 }
const ask = (name: string, count = 1): Asked => ({
  channel: 'email',
  about: 'domain',
  name,
  count,
  ...NOBODY,
})

t.test('64 names stay, however many strangers invent, and the busiest among them', async t => {
  let kept: readonly Asked[] = []
  for (let n = 0; n < 50; n += 1) {
    const invented = Array.from({ length: 300 }, (_, k) => ask(`${n}-${k}.example`))
    kept = keepBusiest(kept, [...invented, ask('example.com', 8)])
    if (n > 9) kept = keepBusiest(kept, [ask('late.example', 7)])
  }
  t.equal(kept.length, 64)
  t.match(
    kept.slice(0, 2).map(({ name, count }) => [name, count]),
    [
      ['example.com', 400],
      ['late.example', 280],
    ],
  )
})

t.test('of many recipients it is estimated how many they are', async t => {
  const every = 2 ** 32 / 5000
  const hashes = Array.from({ length: 64 }, (_, n) =>
    Math.round((n + 1) * every)
      .toString(16)
      .padStart(8, '0'),
  )
  t.equal(countRecipients({ recipients: hashes.slice(1) }), 63)
  t.equal(Math.round(countRecipients({ recipients: hashes }) / 100), 49)
})

t.test('replicas add up, each in memos of its own, and nothing can be read in them', async t => {
  const memos = new Map<string, Memo>()
  const leases = new Map<string, string>()
  let writes = 0
  const clock = testClock(NOON)
  const replica = (owner: string) =>
    createAskedCount({
      accept: async messages => messages.map(() => ({ is: 'stored', superseded: [] })),
      memos: {
        readMemos: async names =>
          new Map(names.flatMap(name => (memos.has(name) ? [[name, memos.get(name)?.value ?? '']] : []))),
        async writeMemo(memo) {
          writes += 1
          memos.set(memo.name, memo)
        },
        takeLeaderLease: async name => owner === (leases.get(name) ?? (leases.set(name, owner), owner)),
      },
      payloadKeys: createStoreKeys('a secret of the tests, long enough').payloadKeys,
      clock,
      owner,
    })
  const [one, two] = [replica('one'), replica('two')]
  for (const each of [one, two, one]) {
    await each.accept([
      sample(clock, { recipient: 'ann@example.com' }),
      sample(clock, { recipient: 'bob@www.example.com' }),
    ])
    await each.close()
    clock.advance(20 * 60_000)
  }
  t.equal(memos.size, 3)
  for (const { value } of memos.values()) t.match(value, /^[A-Za-z0-9+/=]+$/)
  t.same(
    (await two.read(NOON)).map(({ about, name, count }) => [about, name, count]),
    [
      ['kind', 'activation-code', 6],
      ['domain', 'example.com', 6],
    ],
  )
  t.match(await two.read(NOON + 20 * 60_000), [{ count: 4 }, { count: 4 }])

  writes = 0
  for (const count of [1000, 1, 1, 1])
    await one.accept(Array.from({ length: count }, () => sample(clock, { recipient: 'ann@example.com' })))
  await settled()
  t.equal(writes, 1, 'a thousand are written at once, and then not each by itself')
  await one.close()
})
