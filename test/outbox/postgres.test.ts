import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { type Create, outboxContract } from './contract.ts'

const storeKeys = createStoreKeys('a secret of the tests, long enough')

t.test('the shared outbox keeps every promise', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())

  const create: Create = async ({ clock, maxBacklog = 1_000_000, retentionDays = 30 }) => {
    const url = await rig.url()
    const opened: Outbox[] = []
    const open = async () => {
      const outbox = await createPostgresOutbox({
        url,
        clock,
        storeKeys,
        maxBacklog,
        retentionDays,
        statementTimeoutMs: 10_000,
      })
      opened.push(outbox)
      return outbox
    }
    return {
      outbox: await open(),
      peer: open,
      reopen: open,
      bytes: () => rig.bytes(),
      async close() {
        await Promise.all(opened.splice(0).map(each => each.close()))
      },
    }
  }
  await outboxContract(t, 'postgres', create)
})
