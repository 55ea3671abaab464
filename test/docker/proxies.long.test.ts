import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { deriveCallbackKey } from '../../src/callback/authenticate.ts'
import { openGround } from '../chaos/ground.ts'
import { CORP, TOKEN } from '../chaos/platform.ts'
import { type Replica, startReplica } from '../chaos/replica.ts'
import { lookInto } from '../chaos/rows.ts'
import { createCallbacks } from '../faults/callbacks.ts'
import { type Answered, createDriver, type Driver } from '../faults/driver.ts'
import { pause } from '../faults/stage.ts'
import { freePort } from '../rigs/free-port.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { isRecentCaddy, startProxy, versionOf } from '../rigs/proxy.ts'
import { until } from '../rigs/service.ts'

const DIRECTORY = resolve(import.meta.dirname, '../../docker/proxies')
/** By all proxies together: they share two processors with the service, the database and the test. */
const CALLBACKS_A_SECOND = 60
const KEY = deriveCallbackKey('email', CORP, TOKEN.email)
const PATH = `/callback/${CORP}/${KEY}/email`

/** A server that may stand in front, and how its file is put into a directory of the test. */
interface Proxy {
  readonly file: string
  readonly isHere: boolean
  /** Whether it gives a request to another replica whose connection broke. */
  readonly triesAgain: boolean
  /** Takes in what the file says of the PROXY protocol. */
  readonly behindBalancer: (text: string) => string
  /** Makes the file fit the directory. @returns the text, and how to run it. */
  readonly place: (text: string, directory: string, port: number) => readonly [string, string, ...string[]]
}

const uncomment = (text: string, ...lines: readonly RegExp[]) =>
  lines.reduce((changed, line) => changed.replace(line, whole => whole.replace('# ', '')), text)

const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    file: 'nginx.conf',
    isHere: versionOf('nginx', '-v') !== undefined,
    triesAgain: true,
    behindBalancer: text =>
      uncomment(text, /# set_real_ip_from.*/, /# real_ip_header.*/)
        .replace('listen 443 ssl;', 'listen 443 ssl proxy_protocol;')
        .replace('10.0.1.0/24', '127.0.0.1'),
    place: (text, directory, port) => [
      text
        .replaceAll(/\/(?:var\/log|etc|run)(?:\/nginx)?\//g, `${directory}/`)
        .replaceAll('listen 443', `listen 127.0.0.1:${port}`),
      'nginx',
      '-p',
      directory,
      '-e',
      join(directory, 'error.log'),
      '-g',
      'daemon off;',
      '-c',
    ],
  },
  HAProxy: {
    file: 'haproxy.cfg',
    isHere: versionOf('haproxy', '-v') !== undefined,
    triesAgain: true,
    behindBalancer: text => text.replace('bind :443 ssl', 'bind :443 accept-proxy ssl'),
    place: (text, directory, port) => [
      text
        .replace('/etc/haproxy/', `${directory}/`)
        .replace('log /dev/log local0', 'log stdout format raw local0')
        .replaceAll('bind :443', `bind 127.0.0.1:${port}`),
      'haproxy',
      '-db',
      '-f',
    ],
  },
  Apache: {
    file: 'apache.conf',
    isHere: versionOf('apache2', '-v') !== undefined,
    triesAgain: false,
    behindBalancer: text => uncomment(text, /# RemoteIPProxyProtocol On/),
    place: (text, directory, port) => {
      const [, modules = ''] = /a2enmod (.*)/.exec(text) ?? []
      const load = ['mpm_event', 'authz_core', 'alias', ...modules.split(' ')].map(
        name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`,
      )
      const own = `ServerName localhost\nServerRoot ${directory}\nDefaultRuntimeDir ${directory}\nPidFile ${directory}/pid
User www-data\nErrorLog ${directory}/start.log\nListen 127.0.0.1:${port}\n`
      const site = text
        .replaceAll(/\/(?:var\/log|etc)\/apache2\//g, `${directory}/`)
        .replace('*:443', `*:${port}`)
      return [`${load.join('')}${own}${site}`, 'apache2', '-D', 'FOREGROUND', '-f']
    },
  },
  Caddy: {
    file: 'Caddyfile',
    isHere: isRecentCaddy(),
    triesAgain: true,
    behindBalancer: text =>
      text.replaceAll(/^\t# ((?:servers|\t|\}).*)$/gm, '\t$1').replace('10.0.1.0/24', '127.0.0.1/32'),
    place: (text, directory, port) => [
      text
        .replace('{\n', '{\n\tadmin off\n\tauto_https off\n\tskip_install_trust\n')
        .replace(
          'callbacks.example.com {',
          `https://127.0.0.1:${port} {\n\ttls ${directory}/callbacks.crt ${directory}/callbacks.key`,
        ),
      'caddy',
      'run',
      '--adapter',
      'caddyfile',
      '--config',
    ],
  },
}

interface Ports {
  readonly callbacks: number
  readonly admin: number
}

interface Running {
  readonly url: string
  /** All that it has written. */
  readonly logs: () => string
}

/** A test has several, which tap's own would remove again. */
function newDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'proxies-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return directory
}

/** Starts a proxy by its file, in front of replicas at 127.0.0.11 to 13. */
async function startFront(
  t: Test,
  { file, place }: Proxy,
  ports: Ports,
  pem: { readonly key: string; readonly cert: string },
  change = (text: string) => text,
): Promise<Running> {
  const directory = newDirectory(t)
  writeFileSync(join(directory, 'callbacks.crt'), pem.cert)
  writeFileSync(join(directory, 'callbacks.key'), pem.key)
  writeFileSync(join(directory, 'callbacks.pem'), `${pem.cert}\n${pem.key}`)
  const port = await freePort()
  const text = change(readFileSync(join(DIRECTORY, file), 'utf8'))
    .replaceAll('10.0.0.', '127.0.0.')
    .replaceAll('8443', String(ports.callbacks))
    .replaceAll('9090', String(ports.admin))
  const [placed, command, ...args] = place(text, directory, port)
  writeFileSync(join(directory, file), placed)
  return run(t, directory, port, command, [...args, join(directory, file)])
}

/** Runs a proxy that has its files in a directory. */
async function run(
  t: Test,
  directory: string,
  port: number,
  command: string,
  args: readonly string[],
): Promise<Running> {
  const said = await startProxy(t, port, command, args, { HOME: directory })
  const files = () => readdirSync(directory).filter(name => name.endsWith('.log'))
  return {
    url: `https://127.0.0.1:${port}`,
    logs: () => [said(), ...files().map(name => readFileSync(join(directory, name), 'utf8'))].join('\n'),
  }
}

/** Posts callbacks at a steady rate, whatever is answered. */
function startLoad(driver: Driver, aSecond: number, callbackOf: ReturnType<typeof createCallbacks>) {
  const posts: Promise<Answered>[] = []
  const post = () => void posts.push(driver.post(callbackOf(posts.length % 3 === 0 ? 'sms' : 'email')))
  const timer = setInterval(post, 1000 / aSecond)
  return {
    /** Resolves when all that was posted until now is answered. */
    answered: () => Promise.all(posts),
    async stop() {
      clearInterval(timer)
      return Promise.all(posts)
    },
  }
}

interface Said {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Asks from an address of its own. */
function ask(
  url: string,
  ca: string,
  localAddress: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Said> {
  return new Promise((done, fail) => {
    const options = {
      method: 'POST',
      ca,
      localAddress,
      headers: { 'content-type': 'application/json', ...headers },
      agent: false,
    }
    httpsRequest(url, options, response => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.on('end', () => done({ status: response.statusCode, headers: response.headers, body }))
    })
      .on('error', fail)
      .end('{}')
  })
}

const only = process.env['PROXY']
const here = Object.entries(PROXIES).filter(([name, { isHere }]) => isHere && (only ?? name) === name)
t.comment(`here: ${here.map(([name]) => name).join()}`)

const skip = noPostgres || (here.length === 0 && 'no proxy here')
t.test('three replicas behind proxies', { skip }, async t => {
  const postgres = await startPostgres(t)
  const databaseUrl = await postgres.url()
  const ground = await openGround(() => Math.random() * 40)
  t.teardown(() => ground.close())
  const { pem } = ground
  const ports = { callbacks: await freePort(), admin: await freePort() }
  const faults: string[] = []
  const replicaAt = (last: number): Replica =>
    startReplica({
      env: {
        ...ground.settings(databaseUrl),
        TLS_CERT_FILE: '',
        TLS_KEY_FILE: '',
        TLS: 'off',
        HOST: `127.0.0.${last}`,
        PORT: String(ports.callbacks),
        ADMIN_HOST: `127.0.0.${last}`,
        ADMIN_PORT: String(ports.admin),
        ADMIN_TOKENS: 'proxies-run-admin-token-0123456789',
        TRUSTED_PROXIES: '127.0.0.1',
        ALLOWED_SOURCES: '127.0.0.1, 127.0.0.9',
        PUBLIC_URL: 'https://callbacks.example.com',
      },
      heard: line => line['event'] === 'fault' && faults.push(JSON.stringify(line)),
    })
  const replicas = [11, 12, 13].map(replicaAt)
  t.teardown(() => Promise.all(replicas.map(each => each.destroy())))
  await until(() => replicas.every(each => each.ready()), 'all are ready')

  const fronts = await Promise.all(
    here.map(async ([name, proxy]) => ({ name, ...proxy, ...(await startFront(t, proxy, ports, pem)) })),
  )

  await t.test('what a proxy passes on, and whom it names', async t => {
    for (const { name, url, ...proxy } of fronts) {
      const ways = [['directly', url]]
      // The balancer is HAProxy, too.
      if (PROXIES['HAProxy']?.isHere === true) {
        const behind = await startFront(t, proxy, ports, pem, proxy.behindBalancer)
        ways.push(['behind a balancer', await startBalancer(t, behind)])
      }
      for (const [how, base] of ways) {
        const from = (address: string, headers = {}) => ask(`${base}${PATH}`, pem.cert, address, headers)
        t.match(
          await from('127.0.0.9'),
          { status: 400, body: '400' },
          `${name} ${how}: it is the body that is wrong`,
        )
        const forged = { 'x-forwarded-for': '127.0.0.9' }
        t.match(
          await from('127.0.0.8', forged),
          { status: 403 },
          `${name} ${how}: a stranger, whatever he says`,
        )
      }
      for (const path of ['/', '/readyz', '/callback', '/console', '/receipts/x'])
        t.equal((await ask(`${url}${path}`, pem.cert, '127.0.0.9')).status, 404, `${name}: ${path}`)
      const { status } = await ask(`${url}/receipt/twilio`, pem.cert, '127.0.0.9')
      t.equal(status, 400, `${name}: a report that is none`)
    }
  })

  await t.test(
    'each replica is killed, and then started anew in order, at 60 callbacks a second',
    async t => {
      const callbackOf = createCallbacks()
      const loads = fronts.map(({ url }) => {
        const way = (channel: 'email' | 'sms') =>
          `${url}/callback/${CORP}/${deriveCallbackKey(channel, CORP, TOKEN[channel])}/${channel}`
        const urls = { email: way('email'), sms: way('sms') }
        const driver = createDriver({ urls: () => urls, ca: pem.cert })
        t.teardown(() => driver.close())
        return startLoad(driver, CALLBACKS_A_SECOND / fronts.length, callbackOf)
      })
      await pause(1000)
      /** From the signal to when its end was seen. */
      const kills: { readonly at: number; readonly gone: number }[] = []
      for (const replica of replicas) {
        const before = replica.starts()
        const at = Date.now()
        replica.kill('SIGKILL')
        await replica.exited()
        kills.push({ at, gone: Date.now() })
        await until(() => replica.starts() > before && replica.ready(), 'it is back')
        // What was given to a second replica may wait there for its verdict: it can be sent once more only.
        await Promise.all(loads.map(load => load.answered()))
        // Proxies ask every second or two who is ready.
        await pause(2500)
      }
      for (const replica of replicas) await replica.replace()
      await pause(1000)
      const answers = await Promise.all(loads.map(load => load.stop()))
      for (const [n, { name, triesAgain }] of fronts.entries()) {
        const all = answers[n] ?? []
        const refused = all.filter(({ status, errCode }) => status !== 200 || errCode !== 0)
        const summary = ({ status, errCode, retryAfter, askedAt, answeredAt }: Answered) =>
          `${status} ${errCode} ${retryAfter} ${askedAt - (kills[0]?.at ?? 0)} ms after the first kill, answered in ${answeredAt - askedAt}`
        t.comment(`${name}: ${refused.length} of ${all.length} refused`)
        t.ok(all.length > 100, `${name}: ${all.length} callbacks`)
        const wasKilled = ({ askedAt, answeredAt }: Answered) =>
          kills.some(({ at, gone }) => askedAt <= gone && answeredAt >= at)
        t.same((triesAgain ? refused : refused.filter(each => !wasKilled(each))).map(summary), [], name)
      }
      const store = lookInto(databaseUrl)
      await until(async () => (await store.live()) === 0, 'all is sent')
      const judged = ground.judge(answers.flat().map(asProxied), await store.rows())
      t.comment(`kills ${kills.map(({ at }) => at - (kills[0]?.at ?? 0)).join()}`)
      t.same(judged.breaches.map(String), [])
      t.equal(judged.lost, 0)
      t.same(faults, [])
    },
  )

  await t.test(
    'while no replica is there, the answer is the one for trying later; and no log holds the key',
    async t => {
      await Promise.all(replicas.map(each => each.end()))
      for (const { name, url, logs } of fronts) {
        const { status, headers, body } = await ask(`${url}${PATH}`, pem.cert, '127.0.0.9')
        t.match(
          { status, body },
          { status: name === 'Apache' ? /50[23]/ : 503, body: /^\{"err_code":5031002,/ },
          name,
        )
        t.ok(Number(headers['retry-after']) > 0, name)
        await until(() => / POST .*503|"level"/.test(logs()), `${name} has a log`)
        for (const secret of [KEY, CORP])
          t.notOk(logs().includes(secret), `${name}: the logs do not hold the path`)
      }
    },
  )
})

/** What is refused may have been stored: it may be the proxy who says so. */
function asProxied(answered: Answered): Answered {
  return answered.errCode === 0 ? answered : { ...answered, status: undefined, errCode: undefined }
}

/** A balancer of TCP in front, which speaks the PROXY protocol, version 2. */
async function startBalancer(t: Test, { url }: Running): Promise<string> {
  const directory = newDirectory(t)
  const port = await freePort()
  const file = join(directory, 'balancer.cfg')
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 1s
  timeout client 10s
  timeout server 10s
listen balancer
  bind 127.0.0.1:${port}
  server proxy ${new URL(url).host} send-proxy-v2\n`,
  )
  return (await run(t, directory, port, 'haproxy', ['-db', '-f', file])).url
}
