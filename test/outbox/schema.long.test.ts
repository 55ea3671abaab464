import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { migrateTables } from '../../src/outbox/postgres/migrate.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { POSTGRES_SCHEMA as POSTGRES } from '../../src/outbox/postgres/schema.ts'
import type { Schema } from '../../src/outbox/schema-version.ts'
import { openStore, readMeta } from '../../src/outbox/sqlite/open.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { SQLITE_SCHEMA as SQLITE } from '../../src/outbox/sqlite/schema.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { lease, record, STORE, sample, testClock } from './samples.ts'

const clock = testClock()
const shared = { ...STORE, clock }

/** A column more in each table, as a later release may add them. */
const widen = (tables: readonly string[]) =>
  tables.map(table => `ALTER TABLE ${table} ADD COLUMN later text`).join(';')

/** The schema of a made-up later release. */
const later = ({ migrations }: Schema, sql: string, minWriter: number): Schema => ({
  migrations: [...migrations, sql],
  minWriter,
})

/** Everything that the service writes and reads, once. */
async function useAll(t: Test, outbox: Outbox): Promise<void> {
  const charges = [{ quota: 'recipient-day', bucket: 'b', windowMs: 1000, limit: 9 }]
  const memo = { name: 'n', value: 'v', expiresAt: clock.now() + 60_000 }
  const held = { ...sample(clock, { charges, lease: lease(clock) }), memo }
  const toBob = (code: string) => sample(clock, { code, recipient: 'bob@example.com' })
  const [older, newer] = [toBob('0'), toBob('1')]
  t.match(await outbox.accept([held, older, newer]), [
    { is: 'stored' },
    { is: 'stored' },
    { is: 'stored', superseded: [older.message.id] },
  ])
  t.match(await outbox.accept([held]), [{ is: 'in-progress', id: held.message.id }])
  await outbox.beginAttempt(held.message.id, held.lease ?? lease(clock), 'smtp')
  const records = [record(clock, 'sent')]
  const end = { to: 'final', state: 'sent', answer: null, providerId: 'R1', records } as const
  t.match(await outbox.settle(held.message.id, held.lease ?? lease(clock), end), { state: 'sent' })
  const { messages } = await outbox.claim('email', 9, 60_000)
  t.same(
    messages.map(({ content }) => content),
    [newer.message.content],
  )
  for (const { id, lease: own } of messages)
    await outbox.settle(id, own, { to: 'queued', dueAt: clock.now() + 60_000 })
  const report = { channel: 'email', providerId: 'R1', status: 'delivered', errorCode: null } as const
  t.match(await outbox.writeReceipt({ ...report, at: clock.now() }), { is: 'recorded' })
  t.ok(await outbox.actions.retryMessage(newer.message.id))
  t.ok(await outbox.actions.cancelMessage(newer.message.id))
  t.same(await outbox.memos.readMemos(['n']), new Map([['n', 'v']]))
  t.ok(await outbox.queries.probeCommit())
  t.equal((await outbox.queries.listMessages({ limit: 9 })).messages.length, 3)
  t.match(await outbox.queries.readSummary(0), { backlog: { email: 0 } })
  if (outbox.memos.takeLeaderLease) t.ok(await outbox.memos.takeLeaderLease('l', 'me', 1000))
}

const OWN = SQLITE.migrations.length + 3
const NEXT = OWN + 1
const NEWER = new RegExp(
  `written by a newer version.* version ${NEXT}, programs from version ${NEXT} .* version ${OWN}\\. Start the newer one again`,
)

t.test('the embedded store of the next release', async t => {
  const tables = ['messages', 'quota_counters', 'counts', 'memos', 'meta']
  const meta = (path: string) => {
    const db = new DatabaseSync(path)
    const read = ['schema', 'min-writer'].map(key => readMeta(db, key))
    db.close()
    return read
  }
  /** Starts a made-up release on it, and ends it. */
  const visit = (path: string, schema: Schema) => openStore(path, schema).close()

  await t.test('that this one may write: it goes on, and so does the next one after it', async t => {
    const path = join(t.testdir({}), 'outbox.db')
    const next = later(SQLITE, widen(tables), OWN)
    visit(path, SQLITE)
    t.same(meta(path), [OWN, SQLITE.minWriter])
    visit(path, next)
    const outbox = await createSqliteOutbox({ ...shared, path })
    await useAll(t, outbox)
    await outbox.close()
    t.same(meta(path), [NEXT, OWN], 'what it says of itself stays')
    visit(path, next)
  })
  await t.test('that this one may not write: it says what to do, and leaves it alone', async t => {
    const path = join(t.testdir({}), 'outbox.db')
    visit(path, later(SQLITE, 'ALTER TABLE messages RENAME COLUMN kind TO sort', NEXT))
    await t.rejects(createSqliteOutbox({ ...shared, path }), { name: 'StoreUnusable', message: NEWER })
    t.same(meta(path), [NEXT, NEXT])
  })
})

t.test('the shared store of the next release', { skip: noPostgres }, async t => {
  const postgres = await startPostgres(t)
  /** Starts a made-up release on it, and ends it. */
  const visit = async (url: string, schema: Schema) => {
    const pool = new pg.Pool({ connectionString: url })
    const client = await pool.connect()
    try {
      await migrateTables(client, STORE.storeKeys.payloadKeys, schema)
      const { rows } = await client.query<{ value: string }>(
        "SELECT value FROM courier_meta WHERE key IN ('schema', 'min-writer') ORDER BY key DESC",
      )
      return rows.map(({ value }) => value)
    } finally {
      client.release(true)
      await pool.end()
    }
  }
  const tables = [
    'live',
    'finished',
    'reports',
    'quota_counters',
    'backlog',
    'counts',
    'memos',
    'leader_leases',
    'replicas',
    'meta',
  ]
  const expanded = later(POSTGRES, widen(tables.map(each => `courier_${each}`)), OWN)
  const contracted = later(POSTGRES, 'ALTER TABLE courier_live RENAME COLUMN kind TO sort', NEXT)

  await t.test('that this one may write: replicas go on beside it, and start again', async t => {
    const url = await postgres.url()
    const running = await createPostgresOutbox({ ...shared, url })
    t.same(await visit(url, expanded), [`${NEXT}`, `${OWN}`])
    await useAll(t, running)
    await running.close()
    const again = await createPostgresOutbox({ ...shared, url })
    await again.close()
    t.same(await visit(url, expanded), [`${NEXT}`, `${OWN}`], 'what it says of itself stays')
  })
  await t.test('that this one may not write: not before all replicas of this one have ended', async t => {
    const url = await postgres.url()
    const running = await createPostgresOutbox({ ...shared, url })
    await t.rejects(visit(url, contracted), {
      name: 'StoreUnusable',
      message: /^1 replicas of an older version .* end all of them/,
    })
    t.ok(await running.queries.probeCommit(), 'its tables are as they were')
    // One that ends while it sends leaves its name behind, and counts no more.
    const token = running.sharedLeases?.newLeaseToken() ?? ''
    await running.accept([sample(clock, { lease: { ...lease(clock), token } })])
    await running.close()
    t.same(await visit(url, contracted), [`${NEXT}`, `${NEXT}`])
    await t.rejects(createPostgresOutbox({ ...shared, url }), { name: 'StoreUnusable', message: NEWER })
  })
})
