import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { type Create, outboxContract } from './contract.ts'

const storeKeys = createStoreKeys('a secret of the tests, long enough')
let stores = 0

const create: Create = async ({ clock, maxBacklog = 1_000_000, retentionDays = 30 }) => {
  stores += 1
  const path = join(t.testdirName, `${stores}`, 'outbox.db')
  const open = () =>
    createSqliteOutbox({ path, clock, storeKeys, maxBacklog, retentionDays, emptyWalEveryMs: 20 })
  let outbox = await open()
  return {
    outbox,
    peer: () => Promise.resolve(outbox),
    async reopen() {
      await outbox.close()
      outbox = await open()
      return outbox
    },
    async bytes() {
      // The WAL is emptied every 20 ms here, every minute in the service.
      await new Promise(resolve => setTimeout(resolve, 80))
      const files = [path, `${path}-wal`].map(file => readFile(file).catch(() => Buffer.alloc(0)))
      return Buffer.concat(await Promise.all(files))
    },
    close: () => outbox.close(),
  }
}

t.testdir({})

t.test('only the service’s user may read the store', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const clock = { now: () => 0 }
  const outbox = await createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 100, retentionDays: 30 })
  t.teardown(() => outbox.close())
  for (const file of [path, `${path}-wal`]) t.equal((await stat(file)).mode & 0o777, 0o600, file)
})

await outboxContract(t, 'sqlite', create)
