import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { until } from '../rigs/until.ts'
import { lease, STORE, sample } from './samples.ts'

const REFUSED = { name: 'StoreUnusable', message: /set its pool_mode to session/ }
const clock = { now: Date.now }
const pgbouncer = (process.env['PATH'] ?? '')
  .split(delimiter)
  .concat('/usr/sbin')
  .map(place => join(place, 'pgbouncer'))
  .find(existsSync)
const skip = pgbouncer === undefined ? 'no pgbouncer in PATH: poolers are not tested here' : noPostgres

/** The same server by way of a PgBouncer. */
async function pooled(
  t: Test,
  adminUrl: string,
  mode: 'session' | 'transaction',
  more = '',
): Promise<string> {
  const home = new URL(adminUrl).searchParams.get('host') ?? ''
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  // It refuses to run as root; the server's user may.
  const { uid, gid } = await stat(home)
  await chown(directory, uid, gid)
  const settings = join(directory, 'ini')
  await writeFile(
    settings,
    `[databases]
postgres = host=${home} port=5432 dbname=postgres user=courier
[pgbouncer]
listen_port = 6432
unix_socket_dir = ${directory}
auth_type = any
pool_mode = ${mode}
default_pool_size = 30
${more}
`,
  )
  const child = spawn(pgbouncer ?? '', ['-q', settings], {
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'close')
    await rm(directory, { recursive: true, force: true })
  })
  const url = `postgres://courier@localhost:6432/postgres?host=${encodeURIComponent(directory)}`
  await until(async () => {
    const probe = new pg.Client(url)
    return probe.connect().then(
      () => probe.end().then(() => true),
      () => false,
    )
  }, 'a pooler')
  return url
}

function open(url: string): Promise<Outbox> {
  const heartbeats = { everyMs: 200, sureMs: 2000, goneMs: 4000 }
  return createPostgresOutbox({ ...STORE, clock, heartbeats, url })
}

t.test('a pooler in front of the database', { skip }, async t => {
  const rig = await startPostgres(t)

  await t.test('that lends a session for as long as a connection lasts is fine', async t => {
    const url = await pooled(t, rig.adminUrl, 'session')
    const replicas = [await open(url), await open(url)]
    for (const [n, outbox] of replicas.entries()) {
      const held = lease(clock)
      const given = sample(clock, { recipient: `r${n}@example.com`, lease: held })
      await outbox.accept([given])
      t.match(await outbox.settle(given.message.id, held, { to: 'final', state: 'sent', answer: null }), {
        state: 'sent',
      })
    }
    await Promise.all(replicas.map(each => each.close()))
  })

  await t.test(
    'that lends one for a transaction is refused, also if it forgets what a session was',
    async t => {
      for (const more of ['', 'server_reset_query_always = 1']) {
        const url = await pooled(t, rig.adminUrl, 'transaction', more)
        await t.rejects(open(url), REFUSED, more)
      }
    },
  )

  await t.test(
    'that goes round its servers is refused, though twelve other clients keep them busy',
    async t => {
      const url = await pooled(t, rig.adminUrl, 'transaction', 'server_round_robin = 1')
      const others = Array.from({ length: 12 }, () => new pg.Client(url))
      let isEnding = false
      const busy = others.map(async client => {
        await client.connect()
        while (!isEnding) await client.query('SELECT pg_sleep(0.002)')
        await client.end()
      })
      await new Promise(resolve => setTimeout(resolve, 200))
      await t.rejects(open(url), REFUSED)
      isEnding = true
      await Promise.all(busy)
    },
  )
})
