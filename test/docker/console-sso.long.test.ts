import { spawn } from 'node:child_process'
import { createHash, createPrivateKey, createSign } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { createTestCertificate } from '../rigs/certificate.ts'
import { freePort } from '../rigs/free-port.ts'
import { listen } from '../rigs/listen.ts'
import { startRig, until } from '../rigs/service.ts'

const MODULES = '/usr/lib/apache2/modules'
const CONF = resolve(import.meta.dirname, '../../docker/proxies/console-sso.conf')
const NAME = 'courier-console.example.com'
const PASSWORD = 'a-password-of-the-proxy'

/** A provider of OpenID Connect that signs in whom `user` names. */
async function startProvider(t: Test, key: string) {
  const state = { user: 'ann@example.com' }
  const nonces = new Map<string, string>()
  const { n, e } = createPrivateKey(key).export({ format: 'jwk' })
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const server = createServer((asked, answer) => {
    const issuer = `http://127.0.0.1:${port}`
    const { pathname, searchParams } = new URL(asked.url ?? '/', issuer)
    const json = (value: object) =>
      answer.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (pathname === '/.well-known/openid-configuration')
      return json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    if (pathname === '/jwks')
      return json({ keys: [{ kty: 'RSA', alg: 'RS256', use: 'sig', kid: 'k', n, e }] })
    if (pathname === '/authorize') {
      const code = createHash('sha256').update(String(nonces.size)).digest('hex')
      nonces.set(code, searchParams.get('nonce') ?? '')
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', searchParams.get('state') ?? '')
      return answer.writeHead(302, { location: back.href }).end()
    }
    let body = ''
    asked.on('data', chunk => (body += chunk))
    asked.on('end', () => {
      const nonce = nonces.get(new URLSearchParams(body).get('code') ?? '')
      const now = Math.floor(Date.now() / 1000)
      const claims = {
        iss: issuer,
        aud: 'courier-console',
        sub: '1',
        email: state.user,
        nonce,
        iat: now,
        exp: now + 60,
      }
      const signed = `${part({ alg: 'RS256', kid: 'k' })}.${part(claims)}`
      const signature = createSign('sha256').update(signed).sign(key, 'base64url')
      json({ access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: `${signed}.${signature}` })
    })
  })
  const port = await listen(t, server)
  return { state, issuer: `http://127.0.0.1:${port}` }
}

const skip = existsSync(`${MODULES}/mod_auth_openidc.so`) ? false : 'mod_auth_openidc is not installed'

t.test('the console behind Apache with OpenID Connect: the log names the user', { skip }, async t => {
  const rig = await startRig(t, {
    ADMIN_TOKENS: `sso:${PASSWORD} bob:another-password-of-bob`,
    ADMIN_NAMES: NAME,
  })
  const directory = t.testdir({})
  mkdirSync(join(directory, 'run'))
  const { key, cert } = await createTestCertificate({ name: NAME, bits: 2048 })
  const files = { 'fullchain.pem': cert, 'privkey.pem': key }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const { state, issuer } = await startProvider(t, key)
  const port = await freePort()
  const site = readFileSync(CONF, 'utf8')
    .replaceAll('/etc/apache2/', `${directory}/`)
    .replace('*:443', `*:${port}`)
    .replace('https://login.example.com', issuer)
    .replaceAll(`https://${NAME}`, `https://${NAME}:${port}`)
    .replace('http://127.0.0.1:9090', rig.service().adminUrl)
    .replace('A-PASSWORD-OF-THIS-PROXY"', `${PASSWORD}"`)
  const [, modules = ''] = /a2enmod (.*)/.exec(site) ?? []
  const load = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', ...modules.split(' ')]
    .map(name => `LoadModule ${name}_module ${MODULES}/mod_${name}.so\n`)
    .join('')
  const own = `ServerName localhost\nServerRoot ${directory}\nDefaultRuntimeDir ${directory}/run\nPidFile ${directory}/pid\nUser www-data\nErrorLog ${directory}/log\nListen 127.0.0.1:${port}\n`
  writeFileSync(join(directory, 'apache.conf'), `${load}${own}${site}`)
  const apache = spawn('apache2', ['-D', 'FOREGROUND', '-f', join(directory, 'apache.conf')], {
    stdio: 'ignore',
  })
  const ended = new Promise(done => apache.once('exit', done))
  t.teardown(async () => {
    apache.kill('SIGTERM')
    await ended
  })

  const agent = new Agent({
    connect: {
      rejectUnauthorized: false,
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  })
  t.teardown(() => agent.destroy())
  /** A browser: follows redirects, keeps cookies. */
  const browse = async (
    path: string,
    init: { method?: 'POST'; body?: string; headers?: Record<string, string> } = {},
    jar = new Map<string, string>(),
  ) => {
    let url = new URL(path, `https://${NAME}:${port}`)
    let more: typeof init = init
    for (let hops = 0; hops < 8; hops += 1) {
      const answer = await request(url, {
        dispatcher: agent,
        method: more.method ?? 'GET',
        headers: { ...more.headers, cookie: [...jar].map(pair => pair.join('=')).join('; ') },
        ...(more.body !== undefined && { body: more.body }),
      })
      const text = await answer.body.text()
      for (const each of [answer.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
        jar.set(name, value)
      }
      const to = answer.headers['location']
      if (to === undefined) return { status: answer.statusCode, text, jar }
      url = new URL(String(to), url)
      more = { headers: { accept: 'text/html' } }
    }
    throw new Error('it is sent round in circles')
  }
  const html = { accept: 'text/html' }
  await until(
    async () => (await browse('/console', { headers: html }).catch(() => null)) !== null,
    'Apache serves',
  )

  const { status, text, jar } = await browse('/console', { headers: html })
  t.equal(status, 200, 'signed in without a password of the service')
  t.match(text, '<title>')
  const act = async (session: Map<string, string>, headers: Record<string, string> = {}) => {
    const origin = `https://${NAME}:${port}`
    const form = { ...headers, origin, 'content-type': 'application/x-www-form-urlencoded' }
    return browse(
      '/console/send',
      { method: 'POST', headers: form, body: 'kind=email%2Factivation-code&to=dan%40example.com' },
      session,
    )
  }
  t.equal(
    (await act(jar, { 'x-forwarded-user': 'mallory', authorization: 'Bearer another-password-of-bob' }))
      .status,
    200,
  )
  state.user = 'eve@example.com'
  const eve = await browse('/console', { headers: html })
  t.equal((await act(eve.jar)).status, 200)
  const operators = () =>
    rig
      .events()
      .filter(each => each['event'] === 'operator')
      .map(each => each['operator'])
  await until(() => operators().length === 2, 'the log has both')
  t.same(operators(), ['sso/ann@example.com', 'sso/eve@example.com'])
  t.not(
    (
      await browse('/console/send', {
        method: 'POST',
        headers: { 'x-requested-with': 'XMLHttpRequest' },
        body: '',
      })
    ).status,
    200,
    'nobody is let in unsigned',
  )
})
