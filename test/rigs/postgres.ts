import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

/** Where initdb and pg_ctl are; null when this machine has none. */
export function findPostgres(): string | null {
  const inPath = (process.env['PATH'] ?? '').split(delimiter)
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const places = [...inPath, ...versions.map(version => join(debian, version, 'bin'))]
  return (
    places.find(place => place !== '' && ['initdb', 'pg_ctl'].every(tool => existsSync(join(place, tool)))) ??
    null
  )
}

/** Why tests of the shared store cannot run here; false when they can. */
export const noPostgres: string | false =
  findPostgres() === null
    ? 'no initdb in PATH or /usr/lib/postgresql: the shared store is not tested here'
    : false

/** initdb refuses to run as root. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map(flag =>
      Number.parseInt(spawnSync('id', [flag, name]).stdout.toString(), 10),
    )
    if (Number.isInteger(uid) && Number.isInteger(gid)) return { uid: uid ?? 0, gid: gid ?? 0 }
  }
  throw new Error('root without a user postgres or nobody')
}

/** A folder in memory, where test/run/main.ts has one. */
const MEMORY = process.env['TESTS_IN_MEMORY']

/** The files of servers that run. pg_ctl puts them into sessions of their own, so they outlive a test that is ended. */
const started = new Set<string>()
process.once('exit', () => {
  for (const data of started)
    try {
      process.kill(Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGQUIT')
    } catch {
      // It has ended.
    }
})

export type PostgresRig = Awaited<ReturnType<typeof openPostgres>>
type PostgresOptions = Parameters<typeof openPostgres>[0]

/** Starts a real Postgres of one's own, which ends with the test. */
export async function startPostgres(t: Test, options?: PostgresOptions): Promise<PostgresRig> {
  const rig = await openPostgres(options)
  t.teardown(() => rig.close())
  return rig
}

/** Opens a connection for SQL beside the service. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

/** Asks something over a connection of its own. @returns the rows */
export async function askPostgres<Row extends object = Record<string, unknown>>(
  url: string,
  sql: string,
): Promise<readonly Row[]> {
  const client = await connectTo(url)
  const { rows } = await client.query<Row>(sql).finally(() => client.end())
  return rows
}

/**
 * Starts a real Postgres of one's own, on a Unix socket in a temporary directory. The caller closes it.
 * @param options.durable on a disk, as in production. Needed where it is crashed or measured; elsewhere the test would only
 *   wait for whatever else the disk has to do.
 * @param options.settings of the server, in the place of ours.
 * @param options.tls key and certificate, PEM: listens on 127.0.0.1 as well, and speaks TLS there.
 */
export async function openPostgres({
  tls,
  durable = false,
  settings: more = {},
}: {
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly durable?: boolean
  readonly settings?: Readonly<Record<string, string>>
} = {}) {
  const bin = findPostgres()
  if (bin === null) throw new Error('no Postgres here')
  const user = ordinaryUser()
  const home = await mkdtemp(join((durable ? undefined : MEMORY) ?? tmpdir(), 'pg-'))
  if (user !== undefined) await chown(home, user.uid, user.gid)
  const data = join(home, 'data')

  const run = (tool: string, args: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(join(dirname(realpathSync(join(bin, 'initdb'))), tool), args, {
        ...user,
        cwd: home,
        stdio: 'ignore',
        env: { PATH: bin, LC_ALL: 'C' },
      })
      child.once('error', reject)
      child.once('exit', code => (code === 0 ? resolve() : reject(new Error(`${tool} ended with ${code}`))))
    })
  const port = tls === undefined ? 5432 : await freePort()
  const listen =
    tls === undefined ? "''" : '127.0.0.1 -c ssl=on -c ssl_cert_file=../cert -c ssl_key_file=../key'
  for (const [name, pem] of Object.entries(tls ?? {})) {
    await writeFile(join(home, name), pem, { mode: 0o600 })
    if (user !== undefined) await chown(join(home, name), user.uid, user.gid)
  }
  const given = Object.entries(more).map(([name, value]) => ` -c ${name}=${value}`)
  const settings = `-c listen_addresses=${listen} -c port=${port} -c unix_socket_directories=${home} -c max_connections=300 -c shared_buffers=64MB${given.join('')}`
  const control = (...args: string[]) =>
    run('pg_ctl', ['-D', data, '-w', '-t', '60', '-l', join(home, 'log'), '-o', settings, ...args])

  try {
    await makeEmptyCluster(bin, data, user?.uid ?? process.getuid?.(), run)
    started.add(data)
    await control('start')
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }

  const adminUrl = `postgres://courier@localhost:${port}/postgres?host=${encodeURIComponent(home)}`
  const sql = (text: string) => askPostgres(adminUrl, text)
  let schemas = 0
  const standbys: (() => Promise<void>)[] = []
  return {
    /** For SQL beside the service. */
    adminUrl,
    /** Where it listens on 127.0.0.1, with TLS. */
    port,
    /** Of a schema of its own, empty; each call makes another. */
    async url() {
      schemas += 1
      const name = `store${schemas}`
      await sql(`CREATE SCHEMA ${name}`)
      return `${adminUrl}&options=${encodeURIComponent(`-c search_path=${name}`)}`
    },
    /** Every byte of the tables, of the write-ahead log and of the server's log. */
    async bytes() {
      await sql('CHECKPOINT')
      const paths = ['base', 'pg_wal'].map(each => join(data, each))
      const listed = paths.map(path => readdir(path, { recursive: true, withFileTypes: true }))
      const files = (await Promise.all(listed)).flat().filter(entry => entry.isFile())
      const read = files.map(entry =>
        readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0)),
      )
      return Buffer.concat([await readFile(join(home, 'log')), ...(await Promise.all(read))])
    },
    /** Of the server's first process. */
    pid: async () => Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10),
    log: () => readFile(join(home, 'log'), 'utf8'),
    /** `pg_ctl restart -m immediate`: as if the machine had lost its power. */
    crash: () => control('restart', '-m', 'immediate'),
    stop: () => control('stop', '-m', 'immediate'),
    start: () => control('start'),
    /** Starts another server that follows this one, which commits nothing from then on that the other one does not have. */
    async startStandby() {
      const host = await mkdtemp(join(MEMORY ?? tmpdir(), 'pg-'))
      if (user !== undefined) await chown(host, user.uid, user.gid)
      const copy = join(host, 'data')
      await run('pg_basebackup', `-h ${home} -p ${port} -U courier -D ${copy} -R -c fast`.split(' '))
      const own = `-c listen_addresses='' -c unix_socket_directories=${host} -c max_connections=300`
      const follow = (...args: string[]) =>
        run('pg_ctl', ['-D', copy, '-w', '-t', '60', '-l', join(host, 'log'), '-o', own, ...args])
      standbys.push(async () => {
        await follow('stop', '-m', 'immediate').catch(() => {})
        started.delete(copy)
        await rm(host, { recursive: true, force: true })
      })
      started.add(copy)
      await follow('start')
      await sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
      await sql('SELECT pg_reload_conf()')
      // The directory of its socket, as that of the first one is the `host` of `adminUrl`.
      return { host, promote: () => follow('promote') }
    },
    async close() {
      for (const closeStandby of standbys) await closeStandby()
      await control('stop', '-m', 'immediate').catch(() => {})
      started.delete(data)
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** The files of servers that were never started, one of each version and user. */
const EMPTY_CLUSTERS = resolve(import.meta.dirname, '../../node_modules/.cache/postgres')

/**
 * Makes the files of an empty server. initdb takes half a second of processor time, a copy of what it makes a tenth of that.
 * @param run starts a program as the server's user.
 * @param uid of that user.
 */
async function makeEmptyCluster(
  bin: string,
  data: string,
  uid: number | undefined,
  run: (program: string, args: readonly string[]) => Promise<void>,
): Promise<void> {
  const version = spawnSync(join(bin, 'initdb'), ['--version']).stdout.toString().trim()
  const kept = join(EMPTY_CLUSTERS, `${version} of ${uid}`.replaceAll(/[^\w.]+/g, '-'))
  // The cache is not for the server's user to read: cp runs as whoever runs the test, and keeps owners as they are.
  const copy = (from: string, to: string) => {
    const { status, stderr } = spawnSync('cp', ['-a', from, to])
    if (status !== 0) throw new Error(`cp ended with ${status}: ${stderr.toString()}`)
  }
  if (existsSync(kept)) return copy(kept, data)
  await run('initdb', ['-D', data, '-U', 'courier', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'])
  await mkdir(EMPTY_CLUSTERS, { recursive: true })
  const made = await mkdtemp(join(EMPTY_CLUSTERS, 'new-'))
  copy(data, join(made, 'data'))
  // Another process may have been first.
  await rename(join(made, 'data'), kept).catch(() => {})
  await rm(made, { recursive: true })
}
