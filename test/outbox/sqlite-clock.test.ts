import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
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
    const { counts } = await outbox.queries.readSummary(NOON - 24 * HOUR)
    const inState = (state: string) =>
      counts.filter(each => each.state === state).reduce((sum, each) => sum + each.count, 0)
    t.same([inState('queued'), inState('sending')], [1, 1])
    t.ok(counts.every(each => each.count >= 0))
    await outbox.close()
  },
)
