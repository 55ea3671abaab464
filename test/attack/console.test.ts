import { Agent, request } from 'node:http'
import t from 'tap'
import { openRaw } from '../rigs/raw.ts'
import { type ServiceRig, startRig } from '../rigs/service.ts'

const ADMIN_TOKENS = 'an-Admin-token-of-some-length'
const basic = `Basic ${Buffer.from(`operator:${ADMIN_TOKENS}`).toString('base64')}`
const form = new URLSearchParams({ kind: 'sms/login-code', to: '+8613800138000' }).toString()

interface Asked {
  readonly status: number
  readonly body: string
  readonly localPort: number | undefined
}

/** A request to the private listener as a browser makes it, with whatever headers a page can bring about. */
function ask(
  rig: ServiceRig,
  path: string,
  more: Readonly<Record<string, string>>,
  body?: string,
  agent: Agent | false = false,
): Promise<Asked> {
  const { hostname: host, port } = new URL(rig.service().adminUrl)
  const form = body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }
  const headers = { host: `localhost:${port}`, ...form, ...more }
  const method = body === undefined ? 'GET' : 'POST'
  return new Promise((resolve, reject) => {
    request({ host, port, path, method, agent, headers }, response => {
      const { localPort } = response.socket
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, localPort }))
    })
      .on('error', reject)
      .end(body)
  })
}

t.test('connections that idle shut nobody out', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const authorization = `Bearer ${ADMIN_TOKENS}`
  const known = await ask(rig, '/metrics', { authorization }, undefined, agent)
  let open = 0
  const idle = async () => {
    const raw = await openRaw(rig.service().adminUrl)
    t.teardown(() => raw.socket.destroy())
    raw.socket.once('close', () => (open -= 1))
    raw.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await raw.says(/^HTTP\/1\.1 200 /)
    open += 1
  }
  for (let n = 0; n < 700; n += 100) await Promise.all(Array.from({ length: 100 }, idle))
  t.ok(open <= 500, `${open} of 700 are open still`)
  t.equal((await ask(rig, '/healthz', {})).status, 200, 'a probe')
  t.equal((await ask(rig, '/metrics', { authorization })).status, 200, 'a new connection with the token')
  const { status, localPort } = await ask(rig, '/metrics', { authorization }, undefined, agent)
  t.same([status, localPort], [200, known.localPort], 'a connection that had the token before them')
})

t.test('the token of Prometheus opens the metrics and nothing else', async t => {
  const token = 'of-Prometheus-8fVq2xKw'
  const rig = await startRig(t, { ADMIN_TOKENS: `${ADMIN_TOKENS} metrics/prometheus:${token}` })
  const authorization = `Bearer ${token}`
  for (const path of ['/metrics', '/metrics/', '/metrics?x=/console'])
    t.equal((await ask(rig, path, { authorization })).status, 200, path)
  for (const path of [
    '/console',
    '/console/urls',
    '/console/messages',
    '/metrics/../console',
    '/metricsx',
    '//metrics',
  ])
    t.equal((await ask(rig, path, { authorization })).status, 401, path)
  const send = await ask(rig, '/console/send', { authorization }, form)
  t.match(send, { status: 401, body: /This token of ADMIN_TOKENS opens \/metrics alone/ })
  t.equal(rig.twilio.requests.length, 0)
  t.equal((await ask(rig, '/metrics', { authorization: basic })).status, 200, "the operator's opens both")
})

t.test('the log says which operator did what', async t => {
  const rig = await startRig(t, {
    ADMIN_TOKENS: `${ADMIN_TOKENS}\nann:Yv7gQm2sLp9rTzKx\nbob@ops.example:Hd4wNc8bJf6eVuRa`,
  })
  for (const [token, operator] of [
    ['Yv7gQm2sLp9rTzKx', 'ann'],
    ['Hd4wNc8bJf6eVuRa', 'bob@ops.example'],
    [ADMIN_TOKENS, 'admin'],
  ]) {
    // The user name of Basic is anybody's to choose.
    const authorization = `Basic ${Buffer.from(`eve:${token}`).toString('base64')}`
    t.equal((await ask(rig, '/console/send', { authorization }, form)).status, 200)
    t.match(
      rig
        .events()
        .filter(({ event }) => event === 'operator')
        .at(-1),
      { operator, did: 'test-send' },
    )
  }
  t.equal((await ask(rig, '/console', { authorization: 'Bearer ann:Yv7gQm2sLp9rTzKx' })).status, 401)
  t.equal(
    (await ask(rig, '/console', { authorization: 'Bearer Hd4wNc8bJf6eVuRaYv7gQm2sLp9rTzKx' })).status,
    401,
  )
  t.notMatch(rig.log.join(''), /Yv7gQm2sLp9rTzKx|Hd4wNc8bJf6eVuRa/)
})

t.test('who does not wait for an answer is hung up on, unless it has a token', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS })
  const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
  for (const request of [head('/healthz'), head('/console'), head('/healthz', 'Expect: whatever\r\n')]) {
    const raw = await openRaw(rig.service().adminUrl)
    raw.write(request.repeat(500))
    t.ok(((await raw.ended()).match(/HTTP\/1\.1/g) ?? []).length <= 1)
  }
  const operator = await openRaw(rig.service().adminUrl)
  operator.write(head('/metrics', `Authorization: Bearer ${ADMIN_TOKENS}\r\n`))
  await operator.says(/HTTP\/1\.1 200 /)
  operator.write(head('/healthz').repeat(3))
  await operator.says(/(HTTP\/1\.1 200 [^]*){4}/)
  operator.socket.destroy()
})

t.test(
  'a guesser has ten guesses a minute, whatever the next one is, and the log has one line of it',
  async t => {
    // The minute does not end, however slow the machine is.
    const at = Date.now()
    const settings = { ADMIN_TOKENS: `${ADMIN_TOKENS} bob:Hd4wNc8bJf6eVuRa` }
    const rig = await startRig(t, settings, { clock: { now: () => at } })
    const known = await fetch(`${rig.service().adminUrl}/console`, { headers: { authorization: basic } })
    const cookie = known.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const tries: number[] = []
    for (let n = 0; n < 50; n += 1)
      tries.push((await ask(rig, '/metrics', { authorization: `Bearer guess-number-${n}-of-many` })).status)
    t.equal(tries.filter(status => status === 401).length, 10)
    t.equal(tries.filter(status => status === 429).length, 40)
    t.equal((await ask(rig, '/metrics', { authorization: 'Bearer Hd4wNc8bJf6eVuRa' })).status, 429)
    t.equal(
      (await ask(rig, '/metrics', { authorization: `Bearer ${ADMIN_TOKENS}` })).status,
      200,
      'used there',
    )
    t.equal(
      (await ask(rig, '/console', { authorization: basic, cookie })).status,
      200,
      'the operator gets in',
    )
    const lines = rig.log.filter(line => /refused/.test(line))
    t.ok(lines.length <= 2, lines.join(''))
    t.notMatch(rig.log.join(''), /guess-number/)
  },
)

t.test(
  'without a password no user of this machine gets the callback URLs or a copy of the store',
  async t => {
    const rig = await startRig(t)
    const { adminUrl, urls } = rig.service()
    const [key = ''] = /(?<=corp-100fa4b2\/)[^/]+/.exec(urls.email ?? '') ?? []
    t.ok(key.length > 20)
    for (const [path, method] of [
      ['/console/urls', 'GET'],
      ['/backup', 'POST'],
    ] as const) {
      const answer = await fetch(`${adminUrl}${path}`, { method })
      t.equal(answer.status, 403, path)
      const text = await answer.text()
      t.match(text, /every user of this machine could|only an operator may do this: set ADMIN_TOKENS/)
      t.notMatch(text, key)
    }
    for (const path of ['/console', '/console/send', '/metrics', '/api/calls', '/api/providers'])
      t.notMatch(await (await fetch(`${adminUrl}${path}`)).text(), key, path)
    t.ok(
      rig
        .events()
        .some(
          ({ event, message }) =>
            event === 'setting' && String(message).startsWith('ADMIN_TOKENS is not set'),
        ),
      'the start says what is open',
    )
  },
)
