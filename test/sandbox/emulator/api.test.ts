import { createHash } from 'node:crypto'
import t from 'tap'
import { accounts, emulated } from '../../devices/emulated.ts'

/** A raw call, so that what no good client sends can be sent too. */
async function raw(
  baseUrl: string,
  path: string,
  {
    method = 'POST',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
const demo = '{"name":"Ada","age":36}'
const signature = {
  group: 'demo',
  stage: 'RELEASE',
  'app-id': accounts.app.appId,
  timestamp: '1795219200',
  'request-id': 'r1',
  'content-md5': createHash('md5').update(demo).digest('base64'),
  signature: 'signed',
}

t.test('a token comes before a signature: a wrong one is refused though the signature is right', async t => {
  const { baseUrl, tokens } = await emulated(t)
  const call = (headers: Record<string, string>) =>
    raw(baseUrl, '/v2/api-gateway/demo', { headers, body: demo })
  t.match(await call(signature), {
    status: 200,
    body: { code: 200, status: 200, msg: '', data: { name: 'Ada', age: 36 } },
  })
  t.match(await call({ ...signature, 'access-token': 'wrong' }), { status: 403, body: { code: 4_031_003 } })
  const { access_token } = tokens.issue('user')
  t.match(await call({ ...signature, signature: 'wrong', 'access-token': access_token }), { status: 200 })
  t.match(await call({}), { status: 401, body: { code: 4_011_001, status: 401 } })
})

t.test(
  'every header of the signature mechanism is insisted on, and Content-MD5 is that of the body',
  async t => {
    const { baseUrl } = await emulated(t)
    const call = (headers: Record<string, string>) =>
      raw(baseUrl, '/v2/api-gateway/demo', { headers, body: demo })
    for (const name of ['group', 'stage', 'app-id', 'timestamp', 'request-id', 'content-md5'] as const) {
      const { [name]: _, ...rest } = signature
      t.match(await call(rest), { status: 400, body: { code: 4_001_002 } }, name)
    }
    t.match(await call({ ...signature, 'content-md5': 'AAAA' }), { status: 400, body: { code: 4_001_001 } })
    const hex = createHash('md5').update(demo).digest('hex')
    t.match(await call({ ...signature, 'content-md5': hex.toUpperCase() }), { status: 200 })
    t.match(await call({ ...signature, stage: 'PRODUCTION' }), { status: 400, body: { code: 4_001_001 } })
    t.match(await call({ ...signature, 'app-id': 'another' }), { status: 403, body: { code: 4_031_003 } })
  },
)

t.test('an application’s credential is for DDQ, not for the gateway; an ended one for nothing', async t => {
  const { baseUrl, tokens, clock } = await emulated(t, { lifeMs: 60_000 })
  const call = (token: string) =>
    raw(baseUrl, '/v2/api-gateway/demo', { headers: { 'access-token': token }, body: demo })
  t.match(await call(tokens.issue('app').access_token), { status: 403 })
  const { access_token } = tokens.issue('corp')
  t.match(await call(access_token), { status: 200 })
  clock.pass(60_000)
  t.match(await call(access_token), { status: 403, body: { code: 4_031_003 } })
})

t.test('each error has the form of its version', async t => {
  const { baseUrl, tokens } = await emulated(t)
  const headers = { 'access-token': tokens.issue('corp').access_token }
  t.same(await raw(baseUrl, '/v1/none'), {
    status: 404,
    body: { error: { code: 4_041_001, msg: 'interface not found' } },
  })
  t.match(await raw(baseUrl, '/v2/none'), {
    status: 404,
    body: { code: 4_041_001, status: 404, msg: /./, data: {} },
  })
  t.match(await raw(baseUrl, '/v1/demo', { headers, body: '{"name":"Ada","age":"old"}' }), {
    status: 400,
    body: { error: { code: 4_001_001 } },
  })
  t.match(await raw(baseUrl, '/v2/api-gateway/demo', { headers, body: '{' }), { status: 503 })
  t.match(await raw(baseUrl, '/v2/corp-auth', { body: '{"account":"a"}' }), {
    status: 400,
    body: { code: 4_001_002 },
  })
  t.match(await raw(baseUrl, '/v2/corp-auth', { method: 'GET' }), { status: 405, body: { code: 4_051_001 } })
})

t.test('a login leaves the contract when it names both, or neither, of phone and e-mail', async t => {
  const { baseUrl, contract } = await emulated(t)
  const { corp, user } = accounts
  const account = { corp_id: corp.corpId, phone_zone: '+86', password: user.password }
  for (const body of [account, { ...account, phone: user.phone, email: user.email }])
    t.match(await raw(baseUrl, '/v2/user_auth', { body: JSON.stringify(body) }), {
      status: 400,
      body: { msg: /'phone', 'email'/ },
    })
  t.equal(contract.violations().length, 2)
  t.ok(contract.violations().every(({ by, body }) => by === 'client' && body === 'user_auth request'))
  t.match(contract.violations()[0], { fault: "must have one of the properties 'phone', 'email'" })
  t.match(contract.violations()[1], { fault: "must have only one of the properties 'phone', 'email'" })
})

t.test('expire_in is stated in the unit that was asked for', async t => {
  for (const [unit, stated] of [
    ['seconds', 7200],
    ['milliseconds', 7_200_000],
  ] as const) {
    const { baseUrl } = await emulated(t, { unit })
    const body = JSON.stringify({ app_id: accounts.app.appId, app_secret: accounts.app.appSecret })
    t.match(await raw(baseUrl, '/v2/plugin/app_auth', { body }), { status: 200, body: { expire_in: stated } })
  }
})
