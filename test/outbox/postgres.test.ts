import pg from 'pg'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { type Create, outboxContract, type StoreOptions } from './contract.ts'

const storeKeys = createStoreKeys('a secret of the tests, long enough')

t.test('the shared outbox keeps every promise', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())

  const create: Create = async options => {
    const url = await rig.url()
    const opened: Outbox[] = []
    const defaults = {
      url,
      storeKeys,
      maxBacklog: 1_000_000,
      retentionDays: 30,
      statementTimeoutMs: 10_000,
    }
    const open = async (changed: Partial<StoreOptions> = {}) => {
      const outbox = await createPostgresOutbox({ ...defaults, ...options, ...changed })
      opened.push(outbox)
      return outbox
    }
    return {
      outbox: await open(),
      peer: open,
      reopen: open,
      bytes: () => rig.bytes(),
      async payloads() {
        const client = new pg.Client(url)
        await client.connect()
        const { rows } = await client
          .query<{ payload: Buffer | null }>('SELECT payload FROM courier_messages ORDER BY seq')
          .finally(() => client.end())
        return rows.map(row => row.payload)
      },
      async close() {
        await Promise.all(opened.splice(0).map(each => each.close()))
      },
    }
  }
  await outboxContract(t, 'postgres', create)
})
