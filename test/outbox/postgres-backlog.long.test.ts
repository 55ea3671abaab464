import pg from 'pg'
import t from 'tap'
import type { Channel } from '../../src/messages/message.ts'
import { writeCounts } from '../../src/outbox/postgres/backlog.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { createCountChanges } from '../../src/outbox/unit-of-work.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { STORE, testClock } from './samples.ts'

const WRITES = 800
/** What is counted beside it. */
const CHANGE = { minute: 0, channel: 'email', kind: 'login-code', state: 'queued', by: 1 } as const
const MEASURED = 100

t.test('the backlog, while a snapshot is held', { skip: noPostgres }, async t => {
  const rig = await startPostgres(t)
  const url = await rig.url()
  const outbox = await createPostgresOutbox({ ...STORE, url, clock: testClock(), maxBacklog: 10 })
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

  const add = (live: Readonly<Record<Channel, number>>) =>
    Promise.all(writeCounts(client, { ...createCountChanges(), changes: () => [CHANGE], live: () => live }))

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
    for (let n = 0; n < writes; n += 1) await add({ email: 1, sms: 0 })
    return (await read()) - before
  }

  const first = await pagesOf(MEASURED)
  // Two in one transaction, so that both find one row.
  await client.query('BEGIN')
  await add({ email: 2, sms: 2 })
  await add({ email: -2, sms: 3 })
  await client.query('COMMIT')
  await pagesOf(WRITES)
  const last = await pagesOf(MEASURED)
  t.ok(
    last < first * 1.5,
    `a write costs as much as before: ${first} pages for the first, ${last} for the last`,
  )

  const { backlog } = await outbox.queries.readSummary(0)
  t.same(
    backlog,
    { email: WRITES + 2 * MEASURED, sms: 5 },
    'nothing of it is lost on the way from row to row',
  )
  const { rows } = await client.query('SELECT FROM courier_backlog')
  t.ok(rows.length > WRITES, 'no row is used again soon')
})
