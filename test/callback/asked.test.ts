import t from 'tap'
import { type Asked, countRecipients, createAskedCount, keepBusiest } from '../../src/callback/asked.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Accepted, Memo } from '../../src/outbox/outbox.ts'
import { NOON, sample, testClock } from '../outbox/samples.ts'
import { enterVirtualTime, settled } from '../rigs/virtual-time.ts'

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
    kept.slice(0, 2).map(({ name, count, missed }) => [name, count, missed]),
    [
      ['example.com', 400, 0],
      ['late.example', 280, 11],
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
    clock.advance(20 * 60_000)
  }
  await one.close()
  t.same(
    (await two.read(NOON)).map(({ about, name, count }) => [about, name, count]),
    [
      ['kind', 'activation-code', 6],
      ['domain', 'example.com', 6],
    ],
  )
  t.equal(memos.size, 3)
  for (const { value } of memos.values()) t.match(value, /^[A-Za-z0-9+/=]+$/)
  t.match(await two.read(NOON + 20 * 60_000), [{ count: 4 }, { count: 4 }])

  writes = 0
  for (const count of [999, 1, 1, 999, 1])
    await one.accept(Array.from({ length: count }, () => sample(clock, { recipient: 'ann@example.com' })))
  await settled()
  t.equal(writes, 2, 'a thousand are written at once, and then not each by itself')
  await one.close()
})

t.test('each name is counted, with what each quota held back, in memos of this replica', async t => {
  const time = enterVirtualTime(t)
  const clock = testClock(NOON)
  const memos: Memo[] = []
  const leases: unknown[] = []
  const results: Accepted[] = [
    { is: 'stored', superseded: [] },
    { is: 'held' },
    { is: 'over-quota', quota: 'sms-day', retryAfterSeconds: 1 },
    { is: 'over-quota', quota: 'sms-day', retryAfterSeconds: 1 },
    { is: 'over-quota', quota: 'prefix-hour', retryAfterSeconds: 1 },
    { is: 'finished', state: 'sent', answer: null, id: 'repeated' },
  ]
  const { accept, read } = createAskedCount({
    accept: async messages => messages.map((_, at) => results[at] ?? { is: 'held' }),
    memos: {
      readMemos: async () => new Map(memos.map(({ name, value }) => [name, value])),
      writeMemo: async memo => void memos.push(memo),
      async takeLeaderLease(...given) {
        if (leases.push(given) === 1) throw new Error('the store is away')
        return given[0] === 'asked/15'
      },
    },
    payloadKeys: createStoreKeys('a secret of the tests, long enough').payloadKeys,
    clock,
    owner: 'one',
  })
  const numbers = Array.from({ length: 16 }, (_, n) => `+8613800${Math.max(n, 5) + 10}8000`)
  for (const written of [0, 0, 1]) {
    await accept(numbers.map(recipient => sample(clock, { channel: 'sms', kind: 'login-code', recipient })))
    time.tick(4999)
    await settled()
    t.equal(memos.length, written)
    time.tick(1)
    await settled()
  }
  t.same(
    leases,
    [0, ...numbers.keys(), ...numbers.keys()].map(n => [`asked/${n}`, 'one', 60_000]),
  )
  const memo = { name: `asked/${NOON / 900_000}/15`, expiresAt: NOON + 180_000_000 }
  t.match(memos, [memo, memo])
  t.same(
    (await read(NOON)).map(each => [
      `${each.channel} ${each.about} ${each.name} ${each.count}`,
      each.held,
      each.recipients.filter((hash, at, all) => hash.length === 8 && hash > (all[at - 1] ?? '')).length,
    ]),
    [
      ['sms kind login-code 30', { 'sms-day': 4, 'prefix-hour': 2 }, 11],
      ['sms country CN 30', { 'sms-day': 4, 'prefix-hour': 2 }, 11],
      ['sms prefix +861380015 10', { 'sms-day': 4, 'prefix-hour': 2 }, 1],
      ...[16, 17, 18, 19, 20, 21, 22, 23, 24].map(n => [`sms prefix +8613800${n} 2`, {}, 1]),
    ],
  )
})
