import pg from 'pg'
import t from 'tap'
import { openCallbackLoad } from '../../bench/callbacks.ts'
import { startChild } from '../../bench/child.ts'
import { openSession } from '../../bench/session.ts'
import type { Client } from '../../src/outbox/postgres/connect.ts'
import { makeDays } from '../../src/outbox/postgres/days.ts'
import { startPostgres } from '../rigs/postgres.ts'
import { NOON, STATISTICS_WITHOUT_BACKLOG } from './samples.ts'

const MINUTES = Number(process.env['SNAPSHOT_MINUTES'] ?? 30)
const LIVE_ROWS = 200_000
const PER_SECOND = 300
const CONNECTIONS = 64
/** Of a callback, from the moment that it is due until it is answered. */
const ACCEPT_P99_MS = 100

/** A backup with pg_dump holds a snapshot while it runs: no row that ends meanwhile can be cleaned away. */
t.test('a held snapshot, stale statistics and many live rows', async t => {
  const postgres = await startPostgres({ durable: true })
  t.teardown(() => postgres.close())
  const url = await postgres.url()
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  const { session, close } = await openSession({
    rounds: 1,
    seconds: 1,
    print: line => {
      t.comment(line)
    },
  })
  t.teardown(close)

  const service = await session.startService({
    env: { DATABASE_URL: url },
    async prepare(env) {
      const fill = async (rows: number) => {
        const filler = await startChild('./fill.ts', env)
        await filler.ask({ is: 'fill', rows })
        await filler.stop()
      }
      await fill(0)
      await client.query('ALTER TABLE courier_live SET (autovacuum_enabled = off)')
      await makeDays(client as unknown as Client, 30, [NOON])
      await client.query(STATISTICS_WITHOUT_BACKLOG)
      await fill(LIVE_ROWS)
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT count(*) FROM courier_messages')
    },
  })
  const platform = await openCallbackLoad(session, service, 'email', CONNECTIONS)
  t.teardown(() => platform.close())
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    // It throws when one callback is answered anything but 0, or one mail does not arrive.
    const { done, p50Ms, p99Ms } = await platform.sendAtRate(PER_SECOND, 60)
    t.comment(`minute ${minute}: ${done} callbacks, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`)
    t.equal(done, PER_SECOND * 60)
    t.ok(p99Ms < ACCEPT_P99_MS, `minute ${minute}: p99 ${p99Ms.toFixed(1)} ms`)
  }
  const { rows } = await client.query<{ live: string }>(
    "SELECT count(*) AS live FROM courier_messages WHERE state = 'queued'",
  )
  t.equal(Number(rows[0]?.live), LIVE_ROWS, 'the snapshot was held, and saw what waited')
})
