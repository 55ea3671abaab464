import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { until } from '../rigs/until.ts'
import { outboxContract } from './contract.ts'
import { lease, record, sample } from './samples.ts'
import { createStores, storeKeys } from './sqlite-stores.ts'

t.testdir({})

t.test('only the service’s user may read the store', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = { now: () => 0 }
  const outbox = await createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 100, retentionDays: 30 })
  t.teardown(() => outbox.close())
  await outbox.accept([sample(clock)])
  const files = await Promise.all([path, `${path}-wal`].map(file => stat(file)))
  for (const { mode } of files) t.equal(mode & 0o777, 0o600)
  const { bytes } = await outbox.queries.readSummary(0)
  t.equal(
    bytes,
    files.reduce((sum, { size }) => sum + size, 0),
  )
})

t.test('the log is emptied and cut again and again, so that nothing removed is left in it', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = { now: () => 0 }
  const shared = { path, clock, storeKeys, maxBacklog: 100, retentionDays: 30 }
  const logSize = async () => (await stat(`${path}-wal`)).size
  const outbox = await createSqliteOutbox({ ...shared, emptyWalEveryMs: 100 })
  t.teardown(() => outbox.close())
  for (let round = 0; round < 2; round += 1) {
    await outbox.accept([sample(clock, { code: `${round}` })])
    await until(async () => (await logSize()) === 0, 'it is emptied')
    t.equal(await logSize(), 0)
  }
})

t.test('an end that the file’s own rules refuse is not written, and those beside it are', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = { now: () => 0 }
  const lines: string[] = []
  const open = () =>
    createSqliteOutbox({
      path,
      clock,
      storeKeys,
      maxBacklog: 100,
      retentionDays: 30,
      log: ({ doing, message }) => void lines.push(`${doing}: ${message}`),
    })
  await (await open()).close()
  const db = new DatabaseSync(path)
  db.exec(`CREATE TRIGGER picky BEFORE UPDATE ON messages WHEN NEW.timeline IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'picky'); END`)
  db.close()
  const outbox = await open()
  t.teardown(() => outbox.close())
  const given = [1, 2].map(n => sample(clock, { recipient: `${n}@example.com`, lease: lease(clock) }))
  await outbox.accept(given)
  const ends = given.map(({ message, lease: held }, n) =>
    outbox.settle(message.id, held ?? lease(clock), {
      to: 'final',
      state: 'sent',
      answer: null,
      records: n === 0 ? [record(clock, 'sent', 'refused')] : [],
    }),
  )
  t.match(await Promise.all(ends), [{ state: 'lost' }, { state: 'sent' }])
  t.match(lines, [/^settle: the end of the message \w{32} was refused: .*picky/])
})

await outboxContract(t, 'sqlite', createStores(t.testdirName, serveHere), { numRuns: 80, seed: 1 })
