import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { lease, sample } from './samples.ts'

const clock = { now: Date.now }
const pgbouncer = (process.env['PATH'] ?? '')
  .split(delimiter)
  .concat('/usr/sbin')
  .map(place => join(place, 'pgbouncer'))
  .find(existsSync)
const skip = pgbouncer === undefined ? 'no pgbouncer in PATH: poolers are not tested here' : noPostgres

/** The same server by way of a PgBouncer. */
async function pooled(t: Test, adminUrl: string, mode: 'session' | 'transaction'): Promise<string> {
  const home = new URL(adminUrl).searchParams.get('host') ?? ''
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  const settings = `[databases]
postgres = host=${home} port=5432 dbname=postgres user=courier
[pgbouncer]
listen_port = 6432
unix_socket_dir = ${directory}
auth_type = any
pool_mode = ${mode}
default_pool_size = 30
`
  await writeFile(join(directory, 'ini'), settings)
  // It refuses to run as root; the server's user may.
  const { uid, gid } = await stat(home)
  for (const name of ['', 'ini']) await chown(join(directory, name), uid, gid)
  const child: ChildProcess = spawn(pgbouncer ?? '', ['-q', join(directory, 'ini')], {
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(directory, { recursive: true, force: true })
  })
  const socket = join(directory, '.s.PGSQL.6432')
  for (let tries = 0; !existsSync(socket) && tries < 200; tries += 1)
    await new Promise(r => setTimeout(r, 25))
  return `postgres://courier@localhost:6432/postgres?host=${encodeURIComponent(directory)}`
}

function open(url: string): Promise<Outbox> {
  const storeKeys = createStoreKeys('a secret of the tests, long enough')
  return createPostgresOutbox({ url, clock, storeKeys, maxBacklog: 1000, retentionDays: 30 })
}

t.test('a pooler in front of the database', { skip }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())

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

  await t.test('that lends one for a transaction is refused at the start', async t => {
    const url = await pooled(t, rig.adminUrl, 'transaction')
    await t.rejects(open(url), { name: 'StoreUnusable', message: /set its pool_mode to session/ })
  })
})
