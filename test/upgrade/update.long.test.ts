import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openGround } from '../chaos/ground.ts'
import { startPlatform } from '../chaos/platform.ts'
import { type Replica, startReplica } from '../chaos/replica.ts'
import { lookInto } from '../chaos/rows.ts'
import { type Judgement, type Row, readRows } from '../faults/checker.ts'
import type { Answered } from '../faults/driver.ts'
import { backlogOf, pause } from '../faults/stage.ts'
import { freePort } from '../rigs/free-port.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { isRecentCaddy, startProxy, versionOf } from '../rigs/proxy.ts'
import { until } from '../rigs/service.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Of the release under test. */
const MAIN = join(ROOT, 'src/main.ts')

/**
 * The release before this one, from the repository: the last tag, or the commit that `PREVIOUS` names. It runs with this
 * one's packages, or with its own where they have changed. @returns its `src/main.ts`; null: there is none yet.
 */
function checkOutPrevious(directory: string): { readonly release: string; readonly main: string } | null {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e9 })
  let release = process.env['PREVIOUS']
  try {
    release ??= git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^').toString().trim()
  } catch {
    return null
  }
  mkdirSync(directory)
  const files = ['src', 'package.json', 'package-lock.json', '.npmrc']
  execFileSync('tar', ['-x', '-C', directory], { input: git('archive', release, ...files) })
  const packagesOf = (folder: string) =>
    JSON.stringify(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies)
  if (packagesOf(directory) === packagesOf(ROOT))
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  else
    execFileSync('npm', ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts'], {
      cwd: directory,
      stdio: 'ignore',
    })
  return { release, main: join(directory, 'src/main.ts') }
}

interface UpdateOptions {
  readonly databaseUrl: string
  /** How many processes share it. */
  readonly processes: number
  /** `src/main.ts` of the release that they are at first. */
  readonly first: string
  readonly settings?: Readonly<Record<string, string>>
  /** Updates them, under load. */
  readonly update: (replicas: readonly Replica[]) => Promise<void>
  /** Where callbacks go instead of to the processes themselves. */
  readonly front?: { readonly publicUrl: string }
  readonly rows: () => Promise<readonly Row[]>
}

interface Updated extends Judgement {
  readonly posts: readonly Answered[]
  /** Lines of the logs that must not be. */
  readonly faults: readonly string[]
}

/** Runs processes on one store under load while they are updated; then rest. Joins answers, arrivals and rows. */
async function runUpdate(t: Test, options: UpdateOptions): Promise<Updated> {
  const { databaseUrl, first, front } = options
  const ground = await openGround(() => Math.random() * 40)
  t.teardown(() => ground.close())
  const env = { ...ground.settings(databaseUrl), DRAIN_SECONDS: '3', ...options.settings }
  const faults: string[] = []
  const heard = (line: Readonly<Record<string, unknown>>) => {
    if (line['event'] === 'fault' || line['event'] === 'store-loss') faults.push(JSON.stringify(line))
  }
  const replicas = Array.from({ length: options.processes }, () => startReplica({ env, heard, main: first }))
  t.teardown(() => Promise.all(replicas.map(each => each.destroy())))
  await until(() => replicas.every(each => each.ready()), 'all are ready')
  const behind = front && { at: () => ({ ...front, adminUrl: '' }), ready: () => true }
  const platform = startPlatform({
    replicas: behind === undefined ? replicas : [behind],
    ca: ground.pem.cert,
    callers: { email: 4, sms: 3 },
    thinkMs: 100,
    random: Math.random,
    answerMs: 20_000,
  })
  await pause(500)
  await options.update(replicas)
  await pause(500)
  await platform.stop()
  await until(async () => (await backlogOf(replicas[0]?.at()?.adminUrl ?? '')) === 0, 'all is sent')
  await Promise.all(replicas.map(each => each.end()))
  const posts = platform.record
  return { ...ground.judge(posts, await options.rows()), posts, faults }
}

/** What must hold after any update. */
function nothingLost(
  t: Test,
  { breaches, faults, lost, copies, unknown, answered, delivered }: Updated,
): void {
  t.same(breaches, [])
  t.same(faults, [])
  t.same(
    { lost, copies, unknown, undelivered: answered - delivered },
    { lost: 0, copies: 0, unknown: 0, undelivered: 0 },
  )
  t.ok(answered > 40, `${answered} answered`)
}

/** Callbacks that were refused, or got no answer. */
const refusedOf = ({ posts }: Updated) =>
  posts.filter(({ status, errCode }) => status !== 200 || errCode !== 0)

const previous = checkOutPrevious(join(t.testdir({}), 'previous'))
const first = previous?.main ?? MAIN
/** Up, and back again; without an earlier release just started anew. */
const steps = previous === null ? [MAIN] : [MAIN, previous.main]
t.comment(`the release before: ${previous?.release ?? 'none'}`)

t.test(
  'two replicas: no callback is refused where one after the other can be replaced',
  { skip: noPostgres },
  async t => {
    const postgres = await startPostgres(t)
    const databaseUrl = await postgres.url()
    const updated = await runUpdate(t, {
      databaseUrl,
      processes: 2,
      first,
      async update(replicas) {
        for (const main of steps) for (const replica of replicas) await replica.replace({ main })
      },
      rows: () => lookInto(databaseUrl).rows(),
    })
    nothingLost(t, updated)
    t.same(refusedOf(updated), [])
  },
)

/** Updates a single instance. @param front makes what stands before it, given the instance's port. */
async function updateSingle(t: Test, front?: (port: number) => Promise<string>) {
  const path = join(t.testdir({ store: {} }), 'store/outbox.db')
  const port = await freePort()
  const plain = { TLS: 'off', TRUSTED_PROXIES: '127.0.0.1', TLS_CERT_FILE: '', TLS_KEY_FILE: '' }
  const updated = await runUpdate(t, {
    databaseUrl: `file:${path}`,
    processes: 1,
    first,
    settings: { PORT: String(port), ...(front === undefined ? {} : plain) },
    async update([single]) {
      for (const main of [...steps, MAIN]) await single?.replace({ main })
    },
    ...(front === undefined ? {} : { front: { publicUrl: await front(port) } }),
    rows: async () => readRows(path),
  })
  nothingLost(t, updated)
  return refusedOf(updated)
}

t.test('a single instance: what comes while it starts is refused, and nothing is lost', async t => {
  const refused = await updateSingle(t)
  t.same(
    refused.filter(({ status }) => status !== undefined && status !== 503),
    [],
  )
})

/** The lines that docs/proxy.md gives for HAProxy and a single instance. */
async function startHaproxy(t: Test, to: number): Promise<string> {
  const port = await freePort()
  const [lines = ''] = /(?<=```haproxy\n)[^`]+/.exec(readFileSync('docs/proxy.md', 'utf8')) ?? []
  const file = join(t.testdir({}), 'haproxy.cfg')
  writeFileSync(
    file,
    `defaults
  mode http
  timeout client 60s
frontend callbacks
  bind 127.0.0.1:${port}
  default_backend courier
${lines.replace('127.0.0.1:8443', `127.0.0.1:${to}`)}\n`,
  )
  await startProxy(t, port, 'haproxy', ['-db', '-f', file])
  return `http://127.0.0.1:${port}`
}

/** Caddy as docker/Caddyfile has it, without TLS. */
async function startCaddy(t: Test, to: number): Promise<string> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = join(t.testdir({}), 'Caddyfile')
  const text = readFileSync('docker/Caddyfile', 'utf8')
  writeFileSync(file, text.replace('{\n', '{\n\tadmin off\n').replace('courier:8443', `127.0.0.1:${to}`))
  const args = ['run', '--config', file, '--adapter', 'caddyfile']
  await startProxy(t, port, 'caddy', args, {
    PUBLIC_HOST: url,
    ACME_EMAIL: 'you@example.com',
    HOME: join(file, '..'),
  })
  return url
}

const proxies = [
  ['HAProxy', versionOf('haproxy', '-v') !== undefined, startHaproxy],
  ['Caddy', isRecentCaddy(), startCaddy],
] as const
for (const [name, isHere, start] of proxies) {
  const skip = isHere ? false : `no ${name} here that waits`
  t.test(`a single instance behind ${name}: no callback is refused`, { skip }, async t => {
    t.same(await updateSingle(t, port => start(t, port)), [])
  })
}
