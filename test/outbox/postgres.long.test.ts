import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { askPostgres, connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { type Create, outboxContract, type StoreOptions } from './contract.ts'
import { STORE } from './samples.ts'

const OLD = 'the old secret of this test, long enough'
const NEW = 'the new secret of this test, long enough'

/** Leaves of a store what its tables are, and no row that a test put there. */
function emptyStore(url: string): string {
  const schema = /search_path=(\w+)/.exec(new URL(url).searchParams.get('options') ?? '')?.[1]
  return `DO $$
    DECLARE name text;
    BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'courier_meta' LOOP
        EXECUTE format('DELETE FROM ${schema}.%I', name);
      END LOOP;
      DELETE FROM ${schema}.courier_meta WHERE key NOT IN ('schema', 'min-writer');
    END $$`
}

t.test('the shared outbox keeps every promise', { skip: noPostgres }, async t => {
  const rig = await startPostgres(t)

  const admin = await connectTo(rig.adminUrl)
  t.teardown(() => admin.end())
  /** Stores whose test is over, empty again: to make the tables of one costs more than most tests with it. */
  const used: string[] = []

  const create: Create = async options => {
    const url = used.pop() ?? (await rig.url())
    const opened: Outbox[] = []
    const open = async (changed: Partial<StoreOptions> = {}) => {
      const outbox = await createPostgresOutbox({ ...STORE, url, ...options, ...changed })
      opened.push(outbox)
      return outbox
    }
    const end = async () => {
      await Promise.all(opened.splice(0).map(each => each.close()))
    }
    return {
      outbox: await open(),
      peer: open,
      reopen: open,
      end,
      bytes: () => rig.bytes(),
      async rows() {
        const of = (table: string) => `SELECT seq, payload, m::text AS row FROM ${table} m`
        return askPostgres(url, `${of('courier_live')} UNION ALL ${of('courier_finished')} ORDER BY seq`)
      },
      async close() {
        await end()
        await admin.query(emptyStore(url))
        used.push(url)
      },
    }
  }
  await outboxContract(t, 'postgres', create, { numRuns: 25 })

  await t.test('of two enterprises that start on one schema at once, one gets it', async t => {
    const options = { ...STORE, url: await rig.url(), clock: createClock() }
    const start = (corpId: string, formerly?: string) =>
      createPostgresOutbox({ ...options, enterprise: { corpId, formerly } })
    const [acme, bolt] = await Promise.allSettled([start('acme'), start('bolt')])
    const winner = acme.status === 'fulfilled' ? acme : bolt
    if (winner.status === 'rejected') throw winner.reason
    const [first, second] = winner === acme ? ['acme', 'bolt'] : ['bolt', 'acme']
    t.match(winner === acme ? bolt : acme, {
      status: 'rejected',
      reason: {
        name: 'StoreUnusable',
        message: new RegExp(`of another enterprise, ${first}, .* \\(${second}\\)`),
      },
    })
    await t.rejects(start(second, first), {
      name: 'StoreUnusable',
      message: new RegExp(`^1 replicas of ${first} are running: end all of them first`),
    })
    await winner.value.close()
    const renamed = await start(second, first)
    await renamed.close()
  })

  await t.test('a secret that running replicas lack is not written with before they have it', async t => {
    const open = new Set<Outbox>()
    const start = async (url: string, secret: string, previous: readonly string[] = []) => {
      const keys = createStoreKeys(secret, previous)
      const outbox = await createPostgresOutbox({ ...STORE, url, storeKeys: keys, clock: createClock() })
      open.add(outbox)
      return outbox
    }
    const end = async (outbox: Outbox) => {
      open.delete(outbox)
      await outbox.close()
    }
    t.teardown(() => Promise.all([...open].map(each => each.close())))

    const shared = await rig.url()
    const running = [await start(shared, OLD), await start(shared, OLD)]
    await t.rejects(start(shared, NEW, [OLD]), {
      name: 'StoreUnusable',
      message: /^2 replicas are running that could not read .* STORE_SECRET_PREVIOUS to the new secret/,
    })
    for (const replica of running) {
      await end(replica)
      await start(shared, OLD, [NEW])
    }
    await t.resolves(start(shared, NEW, [OLD]), 'each was told of the new one')

    const alone = await rig.url()
    await end(await start(alone, OLD))
    await t.resolves(start(alone, NEW, [OLD]), 'it was the only one, and had ended')
  })
})
