import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { createPlatformClient } from '../../sandbox/emulator/platform-client.ts'
import { openPlatform } from '../../src/devices/platform-api.ts'
import { inEnglish } from '../language/english.ts'
import { listen } from '../rigs/listen.ts'
import { accounts, emulated } from './emulated.ts'

const { corp, user, app } = accounts
const byEmail = { corpId: corp.corpId, email: user.email, phoneZone: '+86', password: user.password }
const byPhone = { corpId: corp.corpId, phone: user.phone, phoneZone: '+86', password: user.password }

t.test('an end user logs in, by e-mail or by phone, and the id keeps its digits', async t => {
  const { client, contract } = await emulated(t)
  for (const account of [byEmail, byPhone]) {
    const login = await client.userAuth(account)
    t.match(login, { ok: true, value: { accessToken: /^user-/ } })
    t.equal(login.ok && login.value.userId, 9_007_199_254_740_993n)
  }
  t.same(contract.violations(), [])
})

t.test('an enterprise member and an application log in', async t => {
  const { client, contract } = await emulated(t)
  const member = { corpId: corp.corpId, memberId: '84f2', accessToken: /^corp-/, roleType: 1 }
  t.match(await client.corpAuth(corp), { ok: true, value: member })
  t.match(await client.logInAsApp(app), { ok: true, value: { accessToken: /^app-/ } })
  t.same(contract.violations(), [])
})

t.test('a gateway call with a member credential', async t => {
  const { client, contract, exchanges } = await emulated(t)
  const auth = { by: 'token', credential: client.credential(() => client.corpAuth(corp)) } as const
  const demo = { method: 'POST', path: '/v2/api-gateway/demo', body: { name: 'Ada', age: 36 }, auth } as const
  t.same(await client.call(demo), { ok: true, value: { name: 'Ada', age: 36 } })
  t.same(await client.call(demo), { ok: true, value: { name: 'Ada', age: 36 } })
  const sent = exchanges.map(({ path, code }) => `${path} ${code}`)
  t.same(sent, ['/v2/corp-auth 200', '/v2/api-gateway/demo 200', '/v2/api-gateway/demo 200'])
  t.same(contract.violations(), [])
})

t.test('a missing answer is a failure with its reason', async t => {
  const silent = createServer(() => {})
  const port = await listen(t, silent)
  const slow = createPlatformClient({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 100 })
  t.match(inEnglish(await slow.corpAuth(corp)), {
    ok: false,
    failure: { is: 'unreachable', message: /^no answer after the request was written: / },
  })
  const waiting = openPlatform({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 60_000 })
  const asked = once(silent, 'request')
  const login = waiting.logInAsApp(app)
  const [{ headers }] = await asked
  t.equal(headers['content-type'], 'application/json')
  await waiting.close()
  t.match(await login, { failure: { is: 'unreachable' } }, 'an end does not wait for the answer')
  silent.closeAllConnections()
  await new Promise(resolve => silent.close(resolve))
  t.match(inEnglish(await slow.corpAuth(corp)), { failure: { is: 'unreachable', message: /./ } })
  await slow.close()
})

t.test('a login without a token is a failure', async t => {
  const bodies = ['{"user_id":5}', '{"access_token":"","user_id":5}', '{"access_token":"x"}', '"x"', 'x']
  const odd = createServer((_request, response) => response.end(bodies[0]))
  const client = createPlatformClient({ baseUrl: `http://127.0.0.1:${await listen(t, odd)}` })
  for (; bodies.length > 0; bodies.shift())
    t.match(await client.userAuth(byEmail), { ok: false, failure: { is: 'refused' } }, bodies[0] ?? '')
  await client.close()
})
