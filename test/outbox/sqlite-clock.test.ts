import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { LOST_LEASE_PAUSE_MS } from '../../src/outbox/rules.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { NOON, sample, testClock } from './samples.ts'

const HOUR = 3_600_000

/** The same file opened again and again, each time by a process that started at another time. */
function processes(t: Test) {
  const path = join(t.testdir({}), 'outbox.db')
  return (at: number) => {
    const clock = testClock(at)
    const storeKeys = createStoreKeys('a secret of the tests, long enough')
    return createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 1000, retentionDays: 30 }).then(
      outbox => ({
        outbox,
        clock,
      }),
    )
  }
}

t.test(
  'the clock was set back an hour: what waited for a retry is due, with no more than its life',
  async t => {
    const start = processes(t)
    const before = await start(NOON)
    const given = sample(before.clock, { lifeMs: 600_000 })
    await before.outbox.accept([given])
    const [claimed] = (await before.outbox.claim('email', 1, 60_000)).messages
    if (claimed === undefined) throw new Error('nothing was due')
    await before.outbox.settle(claimed.id, claimed.lease, { to: 'queued', dueAt: NOON + 30_000 })
    await before.outbox.close()

    const after = await start(NOON - HOUR)
    const { messages } = await after.outbox.claim('email', 10, 60_000)
    t.match(messages, [{ id: given.message.id, expiresAt: NOON - HOUR + 600_000 }])
    await after.outbox.close()
  },
)

t.test('what a dead process was sending is taken over, with no more than its life', async t => {
  const start = processes(t)
  const before = await start(NOON)
  const given = sample(before.clock, { lifeMs: 600_000 })
  await before.outbox.accept([given])
  const [claimed] = (await before.outbox.claim('email', 1, 60_000)).messages
  if (claimed === undefined) throw new Error('nothing was due')
  await before.outbox.beginAttempt(claimed.id, claimed.lease)
  await before.outbox.close()

  const after = await start(NOON - HOUR)
  await after.outbox.claim('email', 10, 60_000)
  after.clock.advance(LOST_LEASE_PAUSE_MS)
  const { messages } = await after.outbox.claim('email', 10, 60_000)
  t.match(messages, [{ id: given.message.id, ambiguous: 1, expiresAt: NOON - HOUR + 600_000 }])
  await after.outbox.close()
})

t.test('a link that came long before waits no longer than it ever would', async t => {
  const start = processes(t)
  const before = await start(NOON)
  await before.outbox.accept([sample(before.clock, { purpose: 'link', lifeMs: 24 * HOUR })])
  before.clock.advance(5 * HOUR)
  const [claimed] = (await before.outbox.claim('email', 1, 60_000)).messages
  if (claimed === undefined) throw new Error('nothing was due')
  const dueAt = before.clock.now() + HOUR
  await before.outbox.settle(claimed.id, claimed.lease, { to: 'queued', dueAt })
  await before.outbox.close()

  const after = await start(NOON + HOUR)
  t.equal((await after.outbox.claim('email', 10, 60_000)).messages.length, 1, '5 h on, set back 4 h')
  await after.outbox.close()
})

t.test('the clock was set forward an hour: what has outlived its life ends without an attempt', async t => {
  const start = processes(t)
  const before = await start(NOON)
  const given = sample(before.clock, { lifeMs: 600_000 })
  await before.outbox.accept([given])
  await before.outbox.close()

  const after = await start(NOON + HOUR)
  const { messages, settled } = await after.outbox.claim('email', 10, 60_000)
  t.same(messages, [])
  t.match(settled, [{ id: given.message.id, state: 'expired' }])
  await after.outbox.close()
})

t.test('a clock that was set back is met again at the next start: its life is as long as it was', async t => {
  const start = processes(t)
  const before = await start(NOON)
  const given = sample(before.clock, { lifeMs: 600_000 })
  await before.outbox.accept([given])
  await before.outbox.close()
  await (await start(NOON - HOUR)).outbox.close()

  const { outbox } = await start(NOON - HOUR + 120_000)
  const { messages, settled } = await outbox.claim('email', 10, 60_000)
  t.same(settled, [])
  t.match(messages, [{ id: given.message.id, expiresAt: NOON - HOUR + 600_000 }])
  await outbox.close()
})

t.test(
  'after the clock was set back, nothing that waits is newer than what comes, and counts stay right',
  async t => {
    const start = processes(t)
    const before = await start(NOON)
    for (const code of ['111111', '222222']) {
      await before.outbox.accept([sample(before.clock, { code, recipient: `${code}@example.com` })])
    }
    await before.outbox.close()

    const { outbox, clock } = await start(NOON - HOUR)
    // From then on the newest goes first.
    clock.advance(1000)
    const { messages } = await outbox.claim('email', 1, 60_000)
    t.match(messages, [{ arrivedAt: NOON - HOUR, content: { params: { code: '222222' } } }])
    const { counts, series } = await outbox.queries.readSummary(NOON - 24 * HOUR, 60_000)
    const inState = (state: string) =>
      counts.filter(each => each.state === state).reduce((sum, each) => sum + each.count, 0)
    t.same([inState('queued'), inState('sending')], [1, 1])
    t.ok(counts.every(each => each.count >= 0))
    t.same(
      series.map(({ at, state, count }) => [at, state, count]),
      [
        [NOON - HOUR, 'queued', 1],
        [NOON - HOUR, 'sending', 1],
      ],
    )
    await outbox.close()
  },
)
