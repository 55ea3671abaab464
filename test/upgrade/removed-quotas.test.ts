import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { sample, testClock } from '../outbox/samples.ts'
import { serveHere } from '../rigs/serve-here.ts'

const DAY = 86_400_000
const COST = 'cost sms-cost-day 86400000'
const CARRIER = 'carrier:twilio sms-carrier-day 86400000'

t.test('what 1.0.0 counted for quotas that are gone harms nothing, and is pruned', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = testClock()
  const open = () =>
    createSqliteOutbox({
      path,
      clock,
      storeKeys: createStoreKeys('a secret of the tests, long enough'),
      maxBacklog: 100,
      retentionDays: 30,
      startThread: serveHere,
    })
  const before = await open()
  const waiting = sample(clock, { code: '1', lifeMs: 9 * DAY })
  await before.accept([waiting])
  await before.close()

  const start = Math.floor(clock.now() / DAY) * DAY
  const edit = new DatabaseSync(path)
  const add = edit.prepare('INSERT INTO quota_counters VALUES (?, ?, ?, 0, ?)')
  add.run(COST, start, 900, start + 2 * DAY)
  add.run(CARRIER, start, 3, start + 2 * DAY)
  // A charge by cost was kept with its amount.
  edit.prepare('UPDATE messages SET charges = ?').run(JSON.stringify([[COST, start, 450]]))
  edit.close()

  const outbox = await open()
  t.ok(await outbox.actions.cancelMessage(waiting.message.id), 'its charge is given back')
  clock.advance(3 * DAY)
  // Old rows are deleted between commits, some at a time.
  for (const _ of '123') {
    t.ok(await outbox.queries.probeCommit())
    await new Promise(resolve => setTimeout(resolve, 50))
    clock.advance(60_000)
  }
  await outbox.close()
  const after = new DatabaseSync(path)
  t.same(after.prepare('SELECT name FROM quota_counters').all(), [])
  after.close()
})
