import { readFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { inEnglish } from '../../language/english.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { listen } from '../../rigs/listen.ts'
import {
  CLIENT,
  startTokenEndpoint,
  type TokenAct,
  type TokenEndpointOptions,
} from '../../rigs/token-endpoint.ts'
import { until } from '../../rigs/until.ts'
import { openTokens, startOauth2, USER } from './oauth2.ts'
import { createSmtpServer, mail, openSmtp } from './rig.ts'

const signal = new AbortController().signal

/** A token endpoint, and the tokens that come from it. */
async function startTokens(t: Test, options: TokenEndpointOptions, now?: () => number) {
  const endpoint = await startTokenEndpoint(options)
  const tokens = openTokens(endpoint, { ...(now && { now }) })
  t.teardown(() => Promise.all([tokens.close(), endpoint.close()]))
  return { endpoint, tokens }
}

t.test('the client asks for itself, and the token is the login', async t => {
  const { endpoint, server, provider } = await startOauth2(t)
  t.match(await provider.send(mail(), signal), { is: 'sent' })
  t.match(await provider.send(mail(), signal), { is: 'sent' })
  const grant = { grant_type: 'client_credentials', scope: 'mail.send' }
  t.same(
    endpoint.requests.map(({ path, form }) => [path, Object.fromEntries(form)]),
    [['/tenant/oauth2/v2.0/token?p=1', { ...grant, client_id: CLIENT.id, client_secret: CLIENT.secret }]],
  )
  const line = `user=${USER}\x01auth=Bearer ${endpoint.issued[0]}\x01\x01`
  t.equal(server.connections[0]?.commands[1], `AUTH XOAUTH2 ${Buffer.from(line).toString('base64')}`)
  t.equal(server.connections[0]?.user(), USER)
})

t.test('all connections share one token, however many ask at once', async t => {
  const { endpoint, server, provider } = await startOauth2(t, { connections: 10 })
  endpoint.act = { is: 'wait', ms: 100 }
  server.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 50 } : undefined)
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => provider.send(mail(), signal)))
  t.ok(outcomes.every(({ is }) => is === 'sent'))
  t.equal(server.connections.length, 10)
  t.equal(endpoint.requests.length, 1)
})

t.test('a token is renewed before it ends, and nobody waits for that', async t => {
  let now = 1_000_000
  const { endpoint, tokens } = await startTokens(t, { expiresIn: 3600 }, () => now)
  const first = await tokens.getToken()
  t.match(first, { token: endpoint.issued[0], expiresAt: 4_600_000 })
  now += 3600 * 700
  t.equal(await tokens.getToken(), first)
  t.equal(endpoint.requests.length, 1, 'not yet')

  endpoint.act = { is: 'answer', status: 503, body: 'out of order' }
  now += 3600 * 160
  t.equal(await tokens.getToken(), first, 'it is good still')
  t.equal(await tokens.getToken(), first)
  await until(() => endpoint.requests.length === 2, 'it is asked for, once')
  t.equal(await tokens.getToken(), first, 'and for a while it is not asked for again')
  const later = openTokens(endpoint)
  await later.getToken()
  await later.close()
  t.equal(endpoint.requests.length, 3, 'the later one’s alone')
  endpoint.act = undefined
  now += 31_000
  t.equal(await tokens.getToken(), first)
  await until(() => endpoint.issued.length === 2, 'the second token')
  await until(
    async () => ((await tokens.getToken()) as { token: string }).token === endpoint.issued[1],
    'the new token',
  )
  t.equal(endpoint.requests.length, 4, 'the failure was not repeated at once')

  now += 3_600_000
  const [one, other] = await Promise.all([tokens.getToken(), tokens.getToken()])
  t.match(one, { token: endpoint.issued[2] })
  t.equal(one, other, 'one that has ended is waited for, together')
  t.equal(endpoint.requests.length, 5)
})

t.test('a token lives from when it was asked for, and not from when it came', async t => {
  const endpoint = await startTokenEndpoint({ expiresIn: 3600 })
  const tokens = openTokens(endpoint, { now: () => endpoint.requests.length * 5000 })
  t.match(await tokens.getToken(), { expiresAt: 3_600_000 })
  await Promise.all([tokens.close(), endpoint.close()])
})

t.test('the latest tokens are kept secret, and the client’s secret always', async t => {
  let now = 0
  const { endpoint, tokens } = await startTokens(t, { expiresIn: 60 }, () => now)
  for (let n = 0; n < 22; n += 1) {
    await tokens.getToken()
    now += 60_000
  }
  t.same(tokens.secrets(), [CLIENT.secret, ...endpoint.issued.slice(-20)])
})

t.test('a refusal of the token endpoint is explained', async t => {
  const cases = readFileSync(join(import.meta.dirname, '../../fixtures/token-refusals.txt'), 'utf8')
  for (const line of cases.trimEnd().split('\n')) {
    const [asked = '', expected] = line.split(' ⇒ ')
    const [status, error, refreshToken, secret] = asked.split(' ')
    const endpoint = await startTokenEndpoint({ ...(refreshToken !== '-' && { refreshToken }) })
    const tokens = openTokens(endpoint, { ...(secret === '-' && { secret: null }) })
    t.teardown(() => Promise.all([tokens.close(), endpoint.close()]))
    endpoint.act = {
      is: 'answer',
      status: Number(status),
      body: JSON.stringify({ error }),
      headers: { 'retry-after': '7' },
    }
    t.equal(JSON.stringify(inEnglish(await tokens.getToken())), expected, asked)
  }
})

t.test('how long a token is good, as servers say it or do not', async t => {
  for (const [expiresIn, expected] of [
    ['600', 600],
    [undefined, 3600],
    [0, 0],
    [-5, 0],
    ['soon', 3600],
    [1e99, 86_400],
  ] as const) {
    const { tokens } = await startTokens(t, { expiresIn }, () => 0)
    t.match(await tokens.getToken(), { expiresAt: expected * 1000 }, String(expiresIn))
  }
})

t.test('a token may have 8192 octets', async t => {
  const { endpoint, tokens } = await startTokens(t, {})
  const token = 'a'.repeat(8192)
  endpoint.act = { is: 'answer', status: 200, body: JSON.stringify({ access_token: token }) }
  t.match(await tokens.getToken(), { token })
})

t.test('a refresh token that the server replaces is not used again, and one that it leaves is', async t => {
  for (const [rotates, used] of [
    [true, ['canary-first', 'canary-rotated-x', 'canary-rotated-xx']],
    [false, ['canary-first', 'canary-first', 'canary-first']],
  ] as const) {
    let now = 0
    const options = { expiresIn: 60, refreshToken: 'canary-first', rotates }
    const { endpoint, tokens } = await startTokens(t, options, () => now)
    for (; now < 180_000; now += 60_000)
      t.match(await tokens.getToken(), { token: endpoint.issued[now / 60_000] })
    t.same(
      endpoint.requests.map(({ form }) => [form.get('grant_type'), form.get('refresh_token')]),
      used.map(token => ['refresh_token', token]),
    )
  }
})

for (const challenges of [false, true])
  t.test(
    `a token that should be good and is refused ${challenges ? 'with a challenge' : 'at once'} is renewed once`,
    async t => {
      const { endpoint, server, provider, tokens, revoked, shown } = await startOauth2(t, { challenges })
      await tokens.getToken()
      revoked.add(endpoint.issued[0] ?? '')
      t.match(await provider.send(mail(), signal), { is: 'sent' })
      t.same(shown(), endpoint.issued)
      t.equal(endpoint.issued.length, 2)
      t.equal(server.connections.length, 1)
      t.equal(server.mails.length, 1)
    },
  )

t.test('when many are refused the same token, it is renewed once', async t => {
  const { endpoint, server, provider, tokens, revoked } = await startOauth2(t, { connections: 8 })
  await tokens.getToken()
  revoked.add(endpoint.issued[0] ?? '')
  endpoint.act = { is: 'wait', ms: 50 }
  // Half of them hear of it when the others have a new one already.
  server.act = ({ step, connection }) =>
    step === 'AUTH' && connection > 4 ? { is: 'wait', ms: 300 } : undefined
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => provider.send(mail(), signal)))
  t.ok(outcomes.every(({ is }) => is === 'sent'))
  t.equal(endpoint.requests.length, 2)
  t.equal(server.mails.length, 8)
})

t.test('a mailbox that takes no token: ours to mend, after one more token', async t => {
  const { endpoint, server, provider, shown } = await startOauth2(t)
  server.act = ({ step }) =>
    step === 'AUTH' ? { is: 'say', reply: '535 5.7.3 Authentication unsuccessful' } : undefined
  const refused = { is: 'retry', whose: 'ours', code: '535 5.7.3', untouched: true }
  t.match(await provider.send(mail(), signal), refused)
  t.equal(shown().length, 2)
  t.equal(endpoint.requests.length, 2)
  server.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '454 4.7.0 later' } : undefined)
  t.match(await provider.send(mail(), signal), { is: 'retry', untouched: true })
  server.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '534 5.7.9 no' } : undefined)
  t.match(await provider.send(mail(), signal), { is: 'retry', untouched: true })
  t.equal(endpoint.requests.length, 2, 'what is no refusal of the token renews nothing')
  server.act = undefined
  t.match(await provider.send(mail(), signal), { is: 'sent' })
})

t.test('while there is no token the mail server is left in peace, and the message waits', async t => {
  const { endpoint, server, provider } = await startOauth2(t)
  const answer = (status: number, body: string, headers = {}): TokenAct =>
    ({ is: 'answer', status, body, headers }) as const
  const error = (name: string) => JSON.stringify({ error: name, error_description: 'It is so.' })
  const later = { is: 'retry', whose: 'later', untouched: true } as const
  const ours = { is: 'retry', whose: 'ours', untouched: true } as const
  for (const [act, expected] of [
    [{ is: 'drop' }, { ...later, code: 'UND_ERR_SOCKET', reply: /^no access token: / }],
    [{ is: 'stall' }, { ...later, code: 'UND_ERR_HEADERS_TIMEOUT' }],
    [answer(200, '<html>'), { ...later, code: 'http-200' }],
    [answer(200, '{"access_token":"a b"}'), { ...later, code: 'http-200' }],
    [answer(200, JSON.stringify({ access_token: 'a'.repeat(8193) })), { ...later, code: 'http-200' }],
    [answer(302, '', { location: 'https://evil.example/' }), { ...later, code: 'http-302' }],
    [answer(404, 'not here'), { ...later, code: 'http-404' }],
    [answer(429, 'slowly', { 'retry-after': '7' }), { ...later, code: 'http-429', retryAfterMs: 7000 }],
    [answer(503, error('temporarily_unavailable')), { ...later, code: 'temporarily_unavailable' }],
    [answer(400, error('invalid_grant')), { ...ours, code: 'invalid_grant', reply: /It is so\./ }],
    [answer(401, error('invalid_client')), { ...ours, code: 'invalid_client' }],
    [answer(400, error('nonsense\n')), { ...later, code: 'http-400' }],
    [answer(200, `{"x":"${'x'.repeat(300_000)}"}`), { ...later, code: 'http-200' }],
  ] as const) {
    endpoint.act = act
    t.match(await provider.send(mail(), signal), expected, JSON.stringify(act).slice(0, 60))
  }
  t.equal(server.connections.length, 0)
  endpoint.act = undefined
  t.match(await provider.send(mail(), signal), { is: 'sent' })
  await endpoint.close()
  t.match(await provider.send(mail(), signal), { is: 'sent' }, 'a token that is there is enough')
  const stranger = await listen(t, https.createServer(await createTestCertificate()))
  const unknown = openTokens({ url: `https://127.0.0.1:${stranger}/`, options: {} })
  t.match(await unknown.getToken(), { whose: 'ours', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  await unknown.close()
  const { endpoint: gone, provider: alone } = await startOauth2(t)
  await gone.close()
  t.match(await alone.send(mail(), signal), { ...later, code: 'ECONNREFUSED' })
})

t.test('who waits for a token can be stopped', async t => {
  const { endpoint, server, provider } = await startOauth2(t, { connections: 2 })
  endpoint.act = { is: 'wait', ms: 300 }
  const abort = new AbortController()
  const [stopped, other] = [provider.send(mail(), abort.signal), provider.send(mail(), signal)]
  await until(() => endpoint.requests.length === 1, 'the request')
  abort.abort()
  t.match(await stopped, { is: 'retry', code: 'aborted', untouched: true })
  t.match(await other, { is: 'sent' }, 'and the others get theirs')
  t.equal(server.connections.length, 1)

  const { provider: second, endpoint: slow } = await startOauth2(t)
  slow.act = { is: 'stall' }
  const sending = second.send(mail(), signal)
  await until(() => slow.requests.length === 1, 'the request')
  await second.close()
  t.match(await sending, { is: 'retry', code: 'closed', untouched: true })
})

t.test('a server that offers no XOAUTH2, or hides STARTTLS, gets no token', async t => {
  const endpoint = await startTokenEndpoint({ expiresIn: 3600 })
  t.teardown(() => endpoint.close())
  const plain = createSmtpServer({ login: { user: USER, pass: 'x' } })
  const hidden = createSmtpServer({ xoauth2: { takes: () => true } })
  for (const [server, host, query, expected] of [
    [plain, '127.0.0.1', '?ignoreTLS=true', { code: 'no-xoauth2', whose: 'ours' }],
    [hidden, '0.0.0.0', '?requireTLS=false', { whose: 'ours', reply: /offers no TLS/ }],
    [hidden, '127.0.0.1', '', { whose: 'ours', reply: /offers no TLS/ }],
  ] as const) {
    const { port } = await server.listen()
    const provider = openSmtp({
      url: `smtp://${encodeURIComponent(USER)}@${host}:${port}${query}`,
      accessTokens: openTokens(endpoint),
    })
    t.match(await provider.send(mail(), signal), { is: 'retry', untouched: true, ...expected })
    await Promise.all([provider.close(), server.close()])
    const bytes = Buffer.concat(server.connections.flatMap(each => each.bytes)).toString('latin1')
    t.notMatch(bytes, /AUTH|MAIL/)
  }
})

t.test('what servers repeat of client and token is not said again', async t => {
  const { endpoint, server, provider } = await startOauth2(t, {
    refreshToken: 'canary-refresh-token',
    rotates: true,
  })
  const said: unknown[] = []
  const echo = () => `${CLIENT.secret} canary-refresh-token ${endpoint.issued.join(' ')} canary-rotated-x`
  server.act = ({ step, line }) =>
    step === 'AUTH' ? { is: 'say', reply: `535 5.7.8 ${echo()} ${line.slice(0, 300)}` } : undefined
  said.push(await provider.send(mail(), signal), await provider.verify())
  server.act = ({ step }) => (step === 'dot' ? { is: 'say', reply: `250 2.0.0 ${echo()}` } : undefined)
  said.push(await provider.send(mail(), signal))
  const refusing = await startTokenEndpoint()
  t.teardown(() => refusing.close())
  refusing.act = {
    is: 'answer',
    status: 400,
    body: JSON.stringify({ error: 'invalid_grant', error_description: `no ${CLIENT.secret}` }),
  }
  const tokens = openTokens(refusing)
  said.push(await tokens.getToken())
  await tokens.close()
  t.equal(said.length, 4)
  t.match(said[2], { is: 'sent' })
  t.notMatch(JSON.stringify(said), /canary|dXNlcj/)
})

t.test('another implementation of XOAUTH2 takes it over STARTTLS', async t => {
  const { endpoint, tokens } = await startTokens(t, { expiresIn: 3600 })
  const certificate = await createTestCertificate()
  await tokens.getToken()
  const users: unknown[] = []
  const server = new SMTPServer({
    ...certificate,
    authMethods: ['XOAUTH2'],
    logger: false,
    onAuth({ username, accessToken }, _session, done) {
      // The first one is revoked: smtp-server says so by a challenge.
      if (username !== USER || accessToken !== endpoint.issued[1])
        return done(null, { data: { status: '401', schemes: 'bearer', scope: 'mail' } })
      done(null, { user: username })
    },
    onData(stream, { user, secure }, done) {
      users.push({ user, secure })
      stream.resume().once('end', () => done(null, 'OK'))
    },
  })
  const port = await listen(t, server.server)
  const provider = openSmtp({
    url: `smtp://${encodeURIComponent(USER)}@127.0.0.1:${port}`,
    accessTokens: tokens,
    tls: { ca: certificate.cert },
  })
  t.teardown(() => provider.close())
  t.match(await provider.send(mail(), signal), { is: 'sent' })
  t.same(users, [{ user: USER, secure: true }])
  t.equal(endpoint.requests.length, 2)
})
