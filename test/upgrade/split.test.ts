import pg from 'pg'
import t from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createPostgresOutbox, migrateStoreBack } from '../../src/outbox/postgres/outbox.ts'
import { lease, record, sample, testClock } from '../outbox/samples.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { readRecorded, restorePostgres } from './recorded.ts'

const recorded = readRecorded().find(({ release }) => release === '1.0.0')
const storeKeys = createStoreKeys('canary-store-secret-0123456789')

t.test(
  'the one table of 1.0.0 becomes live and finished ones, and again one',
  { skip: noPostgres },
  async t => {
    const postgres = await startPostgres()
    t.teardown(() => postgres.close())
    const url = await postgres.url()
    await restorePostgres({ postgres: recorded?.postgres ?? '' }, url)
    const client = new pg.Client(url)
    await client.connect()
    t.teardown(() => client.end())
    const ask = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
    const table = async () => [
      await ask(`SELECT attname, atttypid::regtype::text, attnotnull, attidentity FROM pg_attribute
        WHERE attrelid = 'courier_messages'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname`),
      await ask(
        `SELECT pg_get_indexdef(indexrelid) AS made FROM pg_index WHERE indrelid = 'courier_messages'::regclass ORDER BY 1`,
      ),
      await ask(
        "SELECT relname FROM pg_class WHERE relname LIKE 'courier%' AND relnamespace = current_schema()::regnamespace ORDER BY 1",
      ),
      await ask("SELECT key, value FROM courier_meta WHERE key = 'min-writer'"),
    ]
    const messages = () => ask('SELECT * FROM courier_messages ORDER BY seq')
    const before = await table()
    const rows = await messages()
    const ended = rows.filter(row => row['final_at'] !== null)
    const parts = () =>
      ask('SELECT part, count(*)::int AS count FROM courier_rows GROUP BY part ORDER BY part')

    const clock = testClock(recorded?.story.at)
    const open = () =>
      createPostgresOutbox({
        url,
        clock,
        storeKeys,
        maxBacklog: 100,
        retentionDays: 30,
        statementTimeoutMs: 10_000,
      })
    await client.query(
      "INSERT INTO courier_replicas (name, heartbeats, seen_at) VALUES ('older', 1, clock_timestamp())",
    )
    await t.rejects(open(), { name: 'StoreUnusable', message: /^1 replicas of an older version are running/ })
    t.same(await table(), before, 'nothing is changed beside a replica that could not write it')
    await client.query('DELETE FROM courier_replicas')

    const outbox = await open()
    t.same(await parts(), [
      { part: 'earlier', count: ended.length },
      { part: 'live', count: rows.length - ended.length },
    ])
    t.same(await messages(), rows, 'what is read as one is what was one')
    const held = lease(clock)
    const given = sample(clock, { channel: 'sms', lease: held })
    await outbox.accept([given])
    const end = { to: 'final', state: 'sent', answer: null, records: [record(clock, 'sent')] } as const
    await outbox.settle(given.message.id, held, end)
    const report = { channel: 'sms', status: 'delivered', errorCode: null, at: clock.now() } as const
    const earlier = ended.find(row => row['channel'] === 'sms')
    for (const id of [given.message.id, String(earlier?.['id'])])
      t.match(await outbox.writeReceipt({ ...report, id, providerId: `of ${id}` }), { is: 'recorded' })
    t.match(await outbox.writeReceipt({ ...report, providerId: `of ${given.message.id}` }), { is: 'stale' })
    await t.rejects(migrateStoreBack(url), { name: 'StoreUnusable', message: /^1 replicas are running/ })
    // A replica that ends while it sends leaves its name behind.
    const token = outbox.sharedLeases?.newLeaseToken() ?? ''
    await outbox.accept([sample(clock, { recipient: 'b@example.com', lease: { ...lease(clock), token } })])
    await outbox.close()
    const now = await messages()

    await migrateStoreBack(url)
    t.same(await table(), before, 'the tables of 1.0.0')
    t.same(await messages(), now, 'and every message')
    t.equal(now.length, rows.length + 2)
    await t.rejects(migrateStoreBack(url), {
      name: 'StoreUnusable',
      message: /could not take: nothing was changed/,
    })

    const again = await open()
    t.match(await again.queries.findMessage(given.message.id), {
      state: 'sent',
      receipt: { status: 'delivered' },
    })
    await again.close()
  },
)
