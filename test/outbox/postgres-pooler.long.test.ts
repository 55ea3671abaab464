import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { until } from '../rigs/until.ts'
import { lease, sample } from './samples.ts'

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
): Promise<{ readonly url: string; replace(mode: 'session' | 'transaction', more: string): Promise<void> }> {
  const home = new URL(adminUrl).searchParams.get('host') ?? ''
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  const settings = (pool: string, lines: string) => `[databases]
postgres = host=${home} port=5432 dbname=postgres user=courier
[pgbouncer]
listen_port = 6432
unix_socket_dir = ${directory}
auth_type = any
pool_mode = ${pool}
default_pool_size = 30
${lines}
`
  // It refuses to run as root; the server's user may.
  const { uid, gid } = await stat(home)
  await chown(directory, uid, gid)
  const socket = join(directory, '.s.PGSQL.6432')
  let child: ChildProcess
  let ended: Promise<unknown> = Promise.resolve()
  const begin = async (pool: string, lines: string) => {
    await writeFile(join(directory, 'ini'), settings(pool, lines))
    await rm(socket, { force: true })
    child = spawn(pgbouncer ?? '', ['-q', join(directory, 'ini')], {
      stdio: 'ignore',
      ...(process.getuid?.() === 0 ? { uid, gid } : {}),
    })
    ended = new Promise(resolve => child.once('close', resolve))
    // The file of the socket is there a moment before anybody listens.
    for (let tries = 0; !(await takesConnections(socket)) && tries < 200; tries += 1)
      await new Promise(r => setTimeout(r, 25))
  }
  const end = async () => {
    child.kill('SIGKILL')
    await ended
  }
  await begin(mode, more)
  t.teardown(async () => {
    await end()
    await rm(directory, { recursive: true, force: true })
  })
  return {
    url: `postgres://courier@localhost:6432/postgres?host=${encodeURIComponent(directory)}`,
    async replace(pool, lines) {
      await end()
      await begin(pool, lines)
    },
  }
}

function takesConnections(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => resolve(true))
    probe.once('error', () => resolve(false))
    probe.once('connect', () => probe.destroy())
  })
}

function open(url: string): Promise<Outbox> {
  const storeKeys = createStoreKeys('a secret of the tests, long enough')
  const heartbeats = { everyMs: 200, sureMs: 2000, goneMs: 4000 }
  const settings = { clock, storeKeys, maxBacklog: 100_000, retentionDays: 30, heartbeats }
  return createPostgresOutbox({ ...settings, url })
}

t.test('a pooler in front of the database', { skip }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())

  await t.test('that lends a session for as long as a connection lasts is fine', async t => {
    const { url } = await pooled(t, rig.adminUrl, 'session')
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
        const { url } = await pooled(t, rig.adminUrl, 'transaction', more)
        await t.rejects(open(url), REFUSED, more)
      }
    },
  )

  await t.test(
    'that goes round its servers is refused, though twelve other clients keep them busy',
    async t => {
      const { url } = await pooled(t, rig.adminUrl, 'transaction', 'server_round_robin = 1')
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

  await t.test('that is changed while the service runs costs 503, and is no bug', async t => {
    const pooler = await pooled(t, rig.adminUrl, 'session')
    const outbox = await open(pooler.url)
    t.teardown(() => outbox.close())
    for (const more of ['server_reset_query_always = 1', 'server_round_robin = 1']) {
      await pooler.replace('transaction', more)
      for (let round = 0; round < 10; round += 1)
        await Promise.all(
          Array.from({ length: 6 }, () =>
            outbox.accept([sample(clock)]).catch((error: unknown) => {
              if (!(error instanceof StoreUnavailable)) throw error
            }),
          ),
        )
      await pooler.replace('session', '')
      await until(() => outbox.queries.probeCommit(), 'it is ready again when sessions are')
    }
  })
})
