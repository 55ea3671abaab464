import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import t, { type Test } from 'tap'
import type { AdminAuthOptions } from '../../src/admin/auth.ts'
import { createAdminListener } from '../../src/admin/listener.ts'
import { englishIn } from '../language/english.ts'
import { listenAs } from '../rigs/listen.ts'
import { openRaw } from '../rigs/raw.ts'

const TOKEN = 'a-Token-with:colön-16'

async function listen(t: Test, more: Partial<AdminAuthOptions> = {}) {
  const clock = { now: 0 }
  const refused: string[] = []
  const app = createAdminListener(async () => ({ ready: true, degraded: [] }), {
    host: '127.0.0.1',
    tokens: new Map([['admin', TOKEN]]),
    names: ['Courier.internal', '*.Ops.example'],
    now: () => clock.now,
    onRefused: reason => refused.push(reason),
    ...more,
  })
  let sends = 0
  app.get('/console', async () => 'page')
  app.get('/metrics', async () => 'figures')
  app.get('/whoami', async ({ operator }) => operator)
  app.post('/console/send', async () => `${(sends += 1)}`)
  const port = await listenAs(t, app)

  function ask(
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
    localAddress = '127.0.0.1',
  ) {
    return new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      const request = httpRequest(
        {
          host: '127.0.0.1',
          localAddress,
          port,
          path,
          method,
          agent: false,
          headers: { host: `localhost:${port}`, connection: 'keep-alive', ...headers },
        },
        response => {
          let body = ''
          response.setEncoding('utf8').on('data', (chunk: string) => {
            body += chunk
          })
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          )
        },
      )
      request.on('error', reject)
      request.end()
    })
  }
  return { ask, port, clock, refused, sent: () => sends }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const basic = (password: string, user = 'operator') => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})

t.test('health is open, by whatever name it is asked, and says the version alone', async t => {
  const { ask } = await listen(t)
  for (const path of ['/healthz', '/readyz']) {
    const answer = await ask(path, { host: '10.1.2.3.nip.io' })
    t.equal(answer.status, 200, path)
    t.notMatch(answer.body, path === '/healthz' ? /smtp|twilio|sqlite/i : /version|smtp|twilio|sqlite/i)
  }
})

t.test('everything else needs the token: by Bearer, or as the password of Basic', async t => {
  const { ask } = await listen(t)
  for (const headers of [
    bearer(TOKEN),
    basic(TOKEN),
    basic(TOKEN, ''),
    { authorization: `bearer  ${TOKEN}` },
  ])
    t.equal((await ask('/console', headers)).status, 200, headers.authorization)
  const wrong = [
    {},
    bearer(`${TOKEN}x`),
    bearer(TOKEN.slice(0, -1)),
    bearer(TOKEN.slice(0, 16)),
    bearer(`${TOKEN.slice(0, -1)}0`),
    basic(TOKEN.slice(0, -1)),
    bearer(TOKEN.toLowerCase()),
    basic('', TOKEN),
    { authorization: TOKEN },
    { authorization: `Digest ${TOKEN}` },
    { authorization: 'Basic %%%' },
  ]
  for (const headers of wrong) {
    const answer = await ask('/console', headers)
    t.equal(answer.status, 401, JSON.stringify(headers))
    t.equal(answer.headers['www-authenticate'], 'Basic realm="callback-courier", charset="UTF-8"')
    t.notMatch(answer.body, TOKEN)
  }
  const chinese = { 'accept-language': 'zh-CN,zh;q=0.9' }
  const answer = await ask('/console', chinese)
  t.match(answer.body, '密码是 ADMIN_TOKENS 中的密码')
  t.equal(answer.headers['vary'], 'accept-language')
  for (const headers of [chinese, { ...chinese, host: 'evil.example' }, { ...chinese, ...bearer('wrong') }])
    t.same(englishIn((await ask('/console', headers)).body), [])
  t.same(englishIn((await ask('/nowhere', { ...chinese, ...bearer(TOKEN) })).body), [])
})

t.test('a proxy names the user it asks for, behind the name of its own token', async t => {
  const { ask } = await listen(t)
  const asked = async (headers: Record<string, string>) =>
    (await ask('/whoami', { ...bearer(TOKEN), ...headers })).body
  t.equal(await asked({ 'x-forwarded-user': 'ann+x@example.com' }), 'admin/ann+x@example.com')
  t.match(await asked({ 'x-forwarded-user': 'a'.repeat(100) }), 'admin/a')
  for (const user of ['', 'ann bob', 'bob/ann', 'a'.repeat(101), 'ann,bob'])
    t.equal(await asked({ 'x-forwarded-user': user }), 'admin', user)
  t.equal((await ask('/whoami', { 'x-forwarded-user': 'ann@example.com' })).status, 401)
})

t.test('a path that does not exist is not told apart from one that does, without the token', async t => {
  const { ask } = await listen(t)
  const [there, nowhere, odd] = [await ask('/console'), await ask('/console2'), await ask('/console/send')]
  t.same([there.status, there.body], [nowhere.status, nowhere.body])
  t.same([there.status, there.body], [odd.status, odd.body])
  const missing = await ask('/secret-canary', bearer(TOKEN))
  t.equal(missing.status, 404)
  t.notMatch(missing.body, 'canary')
  t.notMatch((await ask('/canary/%E0%A4%A', bearer(TOKEN))).body, 'canary', 'nor is a broken URL repeated')
})

t.test('DNS rebinding: a page that has its own name point here is refused, token or not', async t => {
  const { ask, refused } = await listen(t, { host: 'Desk.example' })
  const foreign = [
    'evil.test',
    'evil.test:9090',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'xcourier.internal',
    'ops.example',
    'ops.example.evil.test',
    'localhost:9090:1',
    'user@localhost',
    '[::1',
    '2130706433',
  ]
  for (const host of foreign) {
    t.equal((await ask('/console', { host, ...bearer(TOKEN) })).status, 421, host)
  }
  t.equal(refused.length, foreign.length)
  t.ok(refused.every(reason => reason === 'host'))
  for (const host of [
    'localhost',
    'LOCALHOST:1',
    'localhost.',
    '127.0.0.1:9090',
    '[::1]:9090',
    '192.168.3.4',
    'courier.internal:9090',
    'desk.example',
    'a.ops.example',
  ])
    t.equal((await ask('/console', { host, ...bearer(TOKEN) })).status, 200, host)
})

t.test("another page's POST is refused, also with the password that the browser adds by itself", async t => {
  const { ask, port, sent } = await listen(t)
  const post = (headers: Record<string, string>) =>
    ask('/console/send', { ...basic(TOKEN), ...headers }, 'POST')
  const foreign: Record<string, string>[] = [
    { origin: 'http://evil.test' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'http://localhost:3000' },
    { origin: 'http://localhost' },
    { origin: `http://localhost:${port}.evil.test` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: `http://localhost:${port}` },
    { 'sec-fetch-site': 'none' },
  ]
  for (const headers of foreign) t.equal((await post(headers)).status, 403, JSON.stringify(headers))
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
    t.equal((await ask('/console/send', { ...basic(TOKEN), origin: 'http://evil.test' }, method)).status, 403)
  t.equal(sent(), 0, 'nothing was sent')

  t.equal((await post({ origin: `http://localhost:${port}`, 'sec-fetch-site': 'same-origin' })).status, 200)
  const proxied = { origin: `https://LOCALHOST:${port}`, host: `Localhost:${port}` }
  t.equal((await post(proxied)).status, 200, 'a browser on a plain address')
  t.equal((await post({})).status, 200, 'no browser at all')
  t.equal(sent(), 3)
})

t.test('another page may link here, but not load anything into itself', async t => {
  const { ask } = await listen(t)
  const get = (site: string, mode: string, dest: string, method = 'GET') =>
    ask(
      '/console',
      { ...basic(TOKEN), 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest },
      method,
    )
  t.equal((await get('cross-site', 'navigate', 'document', 'HEAD')).status, 200)
  t.equal((await get('cross-site', 'navigate', 'document')).status, 200)
  t.equal((await get('cross-site', 'no-cors', 'script')).status, 403)
  t.equal((await get('same-site', 'cors', 'document')).status, 403)
  t.equal((await get('cross-site', 'navigate', 'iframe')).status, 403)
  t.equal((await get('same-origin', 'cors', 'empty')).status, 200)
  t.equal((await get('none', 'navigate', 'document')).status, 200)
})

t.test(
  'ten wrong tries a minute are heard from an address; a right token that was used there within a day is heard all the same',
  async t => {
    const [scraper, newcomer] = ['a-Token-of-Prometheus', 'a-Token-of-another-one']
    const tokens = new Map([
      ['admin', TOKEN],
      ['metrics/prometheus', scraper],
      ['bob', newcomer],
    ])
    const { ask, clock, refused } = await listen(t, { tokens })
    const status = async (token: string, path = '/console', from?: string) =>
      (await ask(path, bearer(token), 'GET', from)).status
    for (let n = 0; n < 20; n += 1)
      t.equal(await status('an-old-token-000'), 401, 'the same again is no guess')
    for (let n = 1; n < 9; n += 1) t.equal(await status(`wrong-${n}`), 401)
    t.same([await status(TOKEN), await status(scraper, '/metrics?x')], [200, 200])
    t.equal(await status('wrong-9'), 401)
    clock.now = 19_600
    t.match(await ask('/console', bearer('wrong-10')), {
      status: 429,
      body: /^Too many wrong tries\. The password is /,
      headers: { 'retry-after': '41', connection: 'close' },
    })
    t.equal((await ask('/console')).status, 401, 'a page without a password costs no try')
    t.equal((await ask('/healthz')).status, 200)
    t.equal(refused.filter(reason => reason === 'too-many-tries').length, 1)
    for (clock.now = 30_000; clock.now < 3 * 86_400_000; clock.now += 86_399_999) {
      const isFirst = clock.now === 30_000
      for (let n = 0; n < 10; n += 1) t.equal(await status(`wrong-${n}`), isFirst ? 429 : 401)
      t.equal(await status(TOKEN), isFirst ? 200 : 429, 'used a day ago')
      if (isFirst) clock.now += 1
      t.equal(await status(scraper, '/metrics'), 200, 'used again and again')
      t.equal(await status(newcomer), 429, 'not used there, and not told from the wrong ones')
      t.equal(await status('wrong-10'), 429, 'wrong ones count on')
      t.equal(await status(newcomer, '/console', '127.0.0.2'), 200)
    }
  },
)

t.test('on loopback without a token Host and Origin are still checked', async t => {
  const { ask, sent } = await listen(t, { tokens: new Map([['status/shop', TOKEN]]) })
  t.equal((await ask('/whoami')).body, 'local')
  t.equal((await ask('/console', { host: 'evil.test' })).status, 421)
  t.equal((await ask('/console/send', { origin: 'http://evil.test' }, 'POST')).status, 403)
  t.equal(sent(), 0)
})

t.test('off loopback there is no listener without a token', async t => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'courier.internal'])
    t.throws(
      () =>
        createAdminListener(async () => ({ ready: true, degraded: [] }), {
          host,
          tokens: new Map([['status/shop', TOKEN]]),
          names: [],
          now: () => 0,
        }),
      /ADMIN_TOKENS/,
    )
})

t.test('what a client may take of time, octets and connections', async t => {
  const guard = { host: '127.0.0.1', tokens: new Map(), names: [], now: () => 0 }
  const { server, initialConfig } = createAdminListener(async () => ({ ready: true, degraded: [] }), guard)
  t.match(server, {
    connectionsCheckingInterval: 1000,
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 10_000,
    maxConnections: 2000,
  })
  t.match(initialConfig, {
    forceCloseConnections: true,
    bodyLimit: 65_536,
    routerOptions: { ignoreTrailingSlash: true },
  })
})

t.test('every answer forbids what a page does not need', async t => {
  const { ask } = await listen(t)
  for (const answer of [
    await ask('/console', bearer(TOKEN)),
    await ask('/console'),
    await ask('/nowhere', bearer(TOKEN)),
    await ask('/%', bearer(TOKEN)),
  ]) {
    t.match(answer.headers, {
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
  }
})

t.test('each refusal has its status and its words, for people and for programs', async t => {
  const metrics = 'a-Token-of-Prometheus'
  const status = 'a-Token-of-a-program'
  const tokens = new Map([
    ['admin', TOKEN],
    ['metrics/prometheus', metrics],
    ['status/shop', status],
  ])
  const { ask, port } = await listen(t, { tokens })
  const password = 'The password is the one of ADMIN_TOKENS, or your own there; any user name will do.'
  const bearerOf = 'The bearer token is one of ADMIN_TOKENS: with status/, or an operator’s.'
  const [ofMetrics, ofStatus] = ['metrics', 'api'].map(
    path => `This token of ADMIN_TOKENS opens /${path} alone.`,
  )
  const foreign = { origin: 'http://evil.test', ...bearer(TOKEN) }
  for (const [headers, page, api, error, text] of [
    [{ host: 'evil.test' }, 421, 421, 'host', 'This name is not served here. ADMIN_NAMES says which are.'],
    [foreign, 403, 403, 'cross-site', 'Only pages of this service may ask for this.'],
    [{}, 401, 401, 'no-token', ''],
    [bearer('wrong'), 401, 401, 'wrong-token', ''],
    [bearer(metrics), 401, 403, 'metrics-token', ofMetrics],
  ] as const) {
    const method = error === 'cross-site' ? 'POST' : 'GET'
    const said = await ask('/console/send', headers, method)
    const isAsked = page === 401
    t.same([said.status, said.body], [page, `${isAsked ? `${text} ${password}`.trim() : text}\n`], error)
    t.equal(said.headers['content-type'], 'text/plain; charset=utf-8')
    t.equal('www-authenticate' in said.headers, isAsked)
    t.equal(said.headers.connection, method === 'POST' ? 'close' : 'keep-alive')
    const told = await ask('/api/v1/causes', headers, method)
    t.equal(told.status, api)
    t.same(JSON.parse(told.body), { error, message: isAsked ? `${text} ${bearerOf}`.trim() : text })
  }
  const ofProgram = await ask('/console', bearer(status))
  t.same([ofProgram.status, ofProgram.body], [401, `${ofStatus} ${password}\n`])
  const raw = await openRaw(`http://127.0.0.1:${port}`)
  raw.write('GET /console HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\nConnection: close\r\n\r\n')
  t.match(await raw.ended(), /^HTTP\/1\.1 400 [^]*\r\n\r\nThe request names two hosts\.\n$/)
})
