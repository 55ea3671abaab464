import pg from 'pg'
import t from 'tap'
import type { Channel } from '../../src/messages/message.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type BacklogRow, createBacklogRow, writeCounts } from '../../src/outbox/postgres/backlog.ts'
import { runTogether } from '../../src/outbox/postgres/connect.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { lease, sample, testClock } from './samples.ts'

const WRITES = 800
const MEASURED = 100

t.test('the backlog, while a snapshot is held', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const url = await rig.url()
  const outbox = await createPostgresOutbox({
    url,
    clock: testClock(),
    storeKeys: createStoreKeys('a secret of the tests, long enough'),
    maxBacklog: 10,
    retentionDays: 30,
  })
  t.teardown(() => outbox.close())
  const pool = new pg.Pool({ connectionString: url })
  const [backup, client] = [await pool.connect(), await pool.connect()]
  t.teardown(async () => {
    backup.release()
    client.release()
    await pool.end()
  })
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await backup.query('SELECT count(*) FROM courier_backlog')
  const row = createBacklogRow(0)
  const other = createBacklogRow(1)

  function add(backlogRow: BacklogRow, live: Readonly<Record<Channel, number>>) {
    const { writes, after } = writeCounts({ shard: 0, backlogRow }, { changes: () => [], live: () => live })
    return Promise.all([...runTogether(client, writes), ...runTogether(client, after)])
  }

  /** Pages that were looked at for so many writes. */
  async function pagesOf(writes: number): Promise<number> {
    const read = async () => {
      await client.query('SELECT pg_stat_force_next_flush()')
      const { rows } = await client.query<{ pages: string }>(
        "SELECT heap_blks_hit + idx_blks_hit AS pages FROM pg_statio_user_tables WHERE relname = 'courier_backlog'",
      )
      return Number(rows[0]?.pages)
    }
    const before = await read()
    for (let n = 0; n < writes; n += 1) await add(row, { email: 1, sms: 0 })
    return (await read()) - before
  }

  const first = await pagesOf(MEASURED)
  await add(other, { email: 0, sms: 5 })
  await pagesOf(WRITES)
  const last = await pagesOf(MEASURED)
  t.ok(
    last < first * 1.5,
    `a write costs as much as before: ${first} pages for the first, ${last} for the last`,
  )

  const { backlog } = await outbox.queries.readSummary(0, 60_000)
  t.same(
    backlog,
    { email: WRITES + 2 * MEASURED, sms: 5 },
    'nothing of it is lost on the way from row to row',
  )
  const { rows } = await client.query('SELECT shard FROM courier_backlog')
  t.equal(rows.length, 2, 'a row for each writer')
})

t.test('who stores and who ends what was sent go from row to row', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const url = await rig.url()
  const clock = testClock()
  const storeKeys = createStoreKeys('a secret of the tests, long enough')
  const limits = { maxBacklog: 1000, retentionDays: 30 }
  const outbox = await createPostgresOutbox({ ...limits, url, clock, storeKeys, random: () => 0 })
  t.teardown(() => outbox.close())
  const sent = { to: 'final', state: 'sent', answer: null } as const
  for (let n = 0; n < MEASURED; n += 1) {
    const acceptance = sample(clock, { recipient: `${n}@example.com`, lease: lease(clock) })
    await outbox.accept([acceptance])
    const { id } = acceptance.message
    const held = acceptance.lease
    t.match(held && (await outbox.settle(id, held, sent)), { state: 'sent' })
  }
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT shard, email FROM courier_backlog ORDER BY shard')
  await client.end()
  t.same(rows, [
    { shard: 3, email: String(MEASURED) },
    { shard: 4, email: String(-MEASURED) },
  ])
})
