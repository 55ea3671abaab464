import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { command } from '../commands/rig.ts'
import { freePort } from '../rigs/free-port.ts'
import { connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { type ServiceProcess, startProcess } from '../rigs/process.ts'
import { startSmtpServer } from '../rigs/smtp-server.ts'

const SOURCE = resolve(import.meta.dirname, '../../docker/enterprises')
/** Ten of them take as long as the start of ten processes. */
const NAMES = 'acme bolt cogs dyne echo fern gala haul iris jade'
  .split(' ')
  .slice(0, Number(process.env['ENTERPRISES'] ?? 3))
const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

t.test(
  'enterprises on one Postgres: walls, an upgrade of all, one Prometheus',
  { skip: noPostgres },
  async t => {
    const directory = join(t.testdir({}), 'enterprises')
    cpSync(SOURCE, directory, { recursive: true })
    const script = (...argv: string[]) =>
      spawnSync(join(directory, 'enterprises.sh'), argv, { encoding: 'utf8' })
    for (const name of NAMES) t.equal(script('add', name, `corp-${name}`, `${name}.example.com`).status, 0)

    const postgres = await startPostgres(t, { settings: { max_connections: '200' } })
    const admin = await connectTo(postgres.adminUrl)
    t.teardown(() => admin.end())
    for (const _again of [1, 2]) await admin.query(script('sql').stdout)

    const { port: mailPort } = await startSmtpServer(t)
    const at = new URL(postgres.adminUrl)
    const settingsOf = async (name: string) => {
      const made = parseEnv(readFileSync(join(directory, name, '.env'), 'utf8'))
      const url = new URL(String(made['DATABASE_URL']))
      const { username, password } = url
      return {
        ...made,
        DATABASE_URL: `postgres://${username}:${password}@localhost:${at.port}/postgres${at.search}`,
        EMAIL_TOKEN: `kbXvWqzRtYpLmNhJgFdS${name}`,
        SMTP_URL: `smtp://127.0.0.1:${mailPort}?ignoreTLS=true`,
        MAIL_FROM: `${name} <no-reply@example.com>`,
        TLS: 'off',
        HOST: '127.0.0.1',
        PORT: String(await freePort()),
        ADMIN_PORT: String(await freePort()),
        DRAIN_SECONDS: '0',
      }
    }
    const settings = new Map<string, Record<string, string>>()
    for (const name of NAMES) settings.set(name, await settingsOf(name))
    const of = (name: string) => settings.get(name) ?? {}
    const running = new Map<string, ServiceProcess>()
    const start = async (name: string) => void running.set(name, await startProcess(t, of(name)))
    for (const name of NAMES) await start(name)
    const send = async (name: string) =>
      (await command(['send', 'email', '--to', `ann@${name}.example`, '--type', '5', '--local'], of(name)))
        .code
    for (const name of NAMES) t.equal(await send(name), 0, name)
    const found = async (name: string, to: string) =>
      (await command(['find', `ann@${to}.example`], of(name))).code
    t.same(
      [await found('acme', 'acme'), await found('acme', 'bolt')],
      [0, 1],
      'each has its own messages alone',
    )

    const bolt = await connectTo(of('bolt')['DATABASE_URL'] ?? '')
    await t.rejects(bolt.query('SELECT * FROM acme.courier_meta'), /permission denied for schema acme/)
    t.match((await bolt.query("SELECT value FROM courier_meta WHERE key = 'corp-id'")).rows, [
      { value: 'corp-bolt' },
    ])
    await bolt.end()
    const stray = await command(['check'], { ...of('bolt'), DATABASE_URL: of('acme')['DATABASE_URL'] })
    t.match(stray.out, /fail +store +.*another enterprise, corp-acme/s)

    await t.test('all are replaced, one after the other', async () => {
      for (const name of NAMES) {
        const old = running.get(name)
        old?.child.kill('SIGTERM')
        t.equal(await old?.exited, 0)
        for (const other of NAMES)
          if (other !== name) t.equal((await fetch(`${running.get(other)?.adminUrl}/readyz`)).status, 200)
        await start(name)
        t.equal(await send(name), 0, `${name} accepts again`)
      }
    })

    await t.test('one Prometheus takes the file', { skip: !hasPromtool }, async t => {
      cpSync(join(SOURCE, '../prometheus-rules.yaml'), join(directory, 'prometheus-rules.yaml'))
      const checked = spawnSync('promtool', ['check', 'config', join(directory, 'prometheus.yaml')])
      t.equal(checked.status, 0, String(checked.stdout))
    })

    const sizes = [...running.values()].map(each => Math.round(each.memory()))
    t.comment(`${NAMES.length} processes: ${Math.min(...sizes)} to ${Math.max(...sizes)} MB each`)
    const { rows } = await admin.query<{ n: string }>(
      `SELECT count(*) AS n FROM pg_stat_activity WHERE usename = ANY($1)`,
      [NAMES],
    )
    t.ok(Number(rows[0]?.n) <= 8 * NAMES.length, `${rows[0]?.n} connections`)
  },
)
