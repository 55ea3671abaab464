import { createServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { aliyun } from '../../src/providers/aliyun.ts'
import { aliyunPnvs } from '../../src/providers/aliyun-pnvs.ts'
import { createHttpApi, type HttpProxy, outcomeWithoutAnswer } from '../../src/providers/http-client.ts'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import { smtp } from '../../src/providers/smtp/module.ts'
import { createSmtpProvider } from '../../src/providers/smtp/provider.ts'
import { tencent } from '../../src/providers/tencent.ts'
import { twilio } from '../../src/providers/twilio.ts'
import { trustAuthorities } from '../../src/tls/certificate.ts'
import { enough, load } from '../config/settings.ts'
import { trustDuring } from '../rigs/authorities.ts'
import { createTestCertificate } from '../rigs/certificate.ts'
import { startHttpProxy } from '../rigs/http-proxy.ts'
import { listen } from '../rigs/listen.ts'
import { startSmtpServer } from '../rigs/smtp-server.ts'
import { SHORT_HTTP } from './short.ts'

const certificate = await createTestCertificate()

/** An API with a certificate of our own authority. @returns its port. */
function startApi(t: Test): Promise<number> {
  return listen(
    t,
    createServer(certificate, (_request, response) => void response.end('{"well":true}')),
  )
}

/** Asks the API once. @returns its answer, or the outcome of a message that was not sent. */
async function ask(t: Test, port: number, proxy?: HttpProxy, scheme = 'https') {
  const api = createHttpApi({
    baseUrl: `${scheme}://localhost:${port}`,
    connections: 2,
    limits: SHORT_HTTP,
    clock: { now: Date.now },
    proxy,
  })
  t.teardown(() => api.close())
  const result = await api.request(
    { method: 'GET', path: '/', headers: {}, body: null },
    new AbortController().signal,
  )
  return 'value' in result ? result.value.body : outcomeWithoutAnswer(result, 'test')
}

t.test(
  'TLS_CA_FILE is trusted by mail and by requests to carriers, beside the usual authorities',
  async t => {
    const { port } = await startSmtpServer(t, { certificate })
    const url = `smtp://127.0.0.1:${port}`
    const verify = async () => {
      const provider = createSmtpProvider({ name: 'smtp', url, ehloName: 'x.example', bounceTo: '' })
      t.teardown(() => provider.close())
      return provider.verify()
    }
    const api = await startApi(t)
    t.match(await ask(t, api), { is: 'retry', untouched: true, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    t.match(await verify(), { ok: false, detail: /self-signed/ })
    trustAuthorities(undefined, () => '')
    t.match(await verify(), { ok: false }, 'without the setting nothing changes')
    trustDuring(t, certificate.cert)
    t.equal(await ask(t, api), '{"well":true}')
    t.match(await verify(), { ok: true })
  },
)

t.test('HTTPS_PROXY makes a tunnel, in which the API is verified as without it', async t => {
  trustDuring(t, certificate.cert)
  const api = await startApi(t)
  const { url, asked } = await startHttpProxy(t)
  t.equal(await ask(t, api, { url }), '{"well":true}')
  t.same(asked, [{ to: `localhost:${api}`, as: `Basic ${Buffer.from('courier:p@ss').toString('base64')}` }])
  t.equal(await ask(t, api, { url, except: 'example.com, localhost' }), '{"well":true}')
  t.equal(asked.length, 1, 'what NO_PROXY names is reached directly')
})

t.test(
  'every carrier asks the proxy, and so does an access token for mail; none reaches its API without it',
  async t => {
    const { url, asked } = await startHttpProxy(t, 403)
    const config = load({
      ...enough,
      HTTPS_PROXY: url,
      TWILIO_API_URL: 'https://twilio.invalid',
      ALIYUN_API_URL: 'https://aliyun.invalid',
      ALIYUN_PNVS_API_URL: 'https://aliyun-pnvs.invalid',
      ALIYUN_ACCESS_KEY_ID: 'LTAIofatest',
      ALIYUN_ACCESS_KEY_SECRET: 'canary-secret-of-a-test',
      ALIYUN_SMS_SIGN_NAME: 'Example',
      TENCENT_API_URL: 'https://tencent.invalid',
      TENCENT_SECRET_ID: 'AKIDexample',
      TENCENT_SECRET_KEY: 'canary-secret-of-a-test',
      TENCENT_SMS_APP_ID: '1400006666',
      SMS_ROUTES: '*=aliyun,aliyun-pnvs,tencent,twilio',
      SMTP_URL: 'smtp://courier@127.0.0.1',
      SMTP_OAUTH2_TOKEN_URL: 'https://smtp.invalid/token',
      SMTP_OAUTH2_CLIENT_ID: 'courier',
      SMTP_OAUTH2_CLIENT_SECRET: 'canary-secret-of-a-test',
    })
    const options = { clock: { now: Date.now }, templates: NO_TEMPLATES }
    const opened = [
      ...[twilio, aliyun, aliyunPnvs, tencent].map(
        ({ name, open, limits }) => [name, open(config, { ...options, limits })] as const,
      ),
      ['smtp', smtp.open(config, { ...options, limits: smtp.limits })] as const,
    ]
    for (const [name, opening] of opened) {
      const [provider] = await opening
      t.match(await provider?.verify(), { ok: false }, name)
      await provider?.close()
      t.equal(asked.at(-1)?.to, `${name}.invalid:443`)
    }
  },
)

t.test(
  'a proxy that refuses, or is not there: the message was not sent, and no word of the password',
  async t => {
    const api = await startApi(t)
    const { url } = await startHttpProxy(t, 403)
    const closed = 'http://courier:p%40ss@127.0.0.1:9'
    for (const proxy of [{ url }, { url: closed }]) {
      const outcome = await ask(t, api, proxy)
      t.match(outcome, { is: 'retry', whose: 'later', untouched: true })
      t.notMatch(JSON.stringify(outcome), /p@ss|p%40ss/)
    }
  },
)

t.test('an answer that is no HTTP is ambiguous, no bug of ours, and what it says is not kept', async t => {
  const server = createTcpServer(socket => {
    socket.on('error', () => {}).once('data', () => socket.end('* your code is 104729\r\n'))
  })
  const port = await listen(t, server)
  const outcome = await ask(t, port, undefined, 'http')
  t.match(outcome, { is: 'ambiguous', code: 'NOT_HTTP', reply: /does not match the HTTP/ })
  t.notMatch(JSON.stringify(outcome), /104729/)
})
