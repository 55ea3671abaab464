import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lookInto } from '../chaos/rows.ts'
import { readRows } from '../faults/checker.ts'
import { freePort } from '../rigs/free-port.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { isRecentCaddy, startProxy, versionOf } from '../rigs/proxy.ts'
import { checkOutPrevious, MAIN, nothingLost, refusedOf, runUpdate } from './update.ts'

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
