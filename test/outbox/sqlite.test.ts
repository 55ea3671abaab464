import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { outboxContract } from './contract.ts'
import { STORE, sample } from './samples.ts'
import { createStores } from './sqlite-stores.ts'

t.testdir({})

t.test('only the service’s user may read the store', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = { now: () => 0 }
  const outbox = await createSqliteOutbox({ ...STORE, path, clock })
  t.teardown(() => outbox.close())
  await outbox.accept([sample(clock)])
  const files = await Promise.all([path, `${path}-wal`].map(file => stat(file)))
  for (const { mode } of files) t.equal(mode & 0o777, 0o600)
  const { bytes } = await outbox.queries.readSummary(0)
  t.equal(
    bytes,
    files.reduce((sum, { size }) => sum + size, 0),
  )
  await outbox.queries.probeCommit()
  const after = await outbox.queries.readSummary(0)
  t.equal(
    Math.floor((Number(after.bytes) - Number(bytes)) / 65_536),
    1,
    'a probe needs room as a callback does',
  )
})

await outboxContract(t, 'sqlite', createStores(t.testdirName, serveHere), { numRuns: 40, seed: 1 })
