import { getEventListeners } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import net from 'node:net'
import t, { type Test } from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import {
  createHttpApi,
  type HttpApiOptions,
  outcomeWithoutAnswer,
  readRetryAfter,
} from '../../src/providers/http-client.ts'
import { openProviders } from '../../src/providers/list.ts'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import { lookUpName } from '../../src/runtime/name-lookup.ts'
import { enough, load } from '../config/settings.ts'
import { inEnglish } from '../language/english.ts'
import { trustDuring } from '../rigs/authorities.ts'
import { startDnsServer } from '../rigs/dns-server.ts'
import { startHttpProxy } from '../rigs/http-proxy.ts'
import { listen } from '../rigs/listen.ts'

const LIMITS = { connectMs: 2_000, answerMs: 2_000, bodyMs: 2_000 }

function open(t: Test, baseUrl: string, options: Partial<HttpApiOptions> = {}) {
  const api = createHttpApi({
    baseUrl,
    connections: 1,
    limits: LIMITS,
    clock: { now: Date.now },
    ...options,
  })
  t.teardown(() => api.close())
  return api
}

const REQUEST = { method: 'POST', path: '/?secret', headers: {}, body: null }

t.test('connections are kept, and answers limited, as is stated here', async t => {
  const require = createRequire(new URL('../../src/providers/http-client.ts', import.meta.url))
  const exports: unknown = require('undici/lib/dispatcher/pool.js')
  const module = require.cache[require.resolve('undici/lib/dispatcher/pool.js')] ?? {}
  t.teardown(() => Object.assign(module, { exports }))
  const given: unknown[] = []
  class Pool {
    constructor(...options: readonly unknown[]) {
      given.push(options)
    }
    async destroy() {}
  }
  Object.assign(module, { exports: Pool })
  open(t, 'https://api.example.com/v1', {
    connections: 3,
    limits: { connectMs: 1000, answerMs: 2000, bodyMs: 3000 },
  })
  t.same(given, [
    [
      'https://api.example.com',
      {
        connections: 3,
        pipelining: 1,
        keepAliveTimeout: 25_000,
        headersTimeout: 2000,
        bodyTimeout: 3000,
        maxResponseSize: 262_144,
        connect: { timeout: 1000, lookup: lookUpName },
      },
    ],
  ])
  given.length = 0
  const config = load({
    ...enough,
    ALIYUN_ACCESS_KEY_ID: 'LTAIofatest',
    ALIYUN_ACCESS_KEY_SECRET: 'secret-of-a-test',
    ALIYUN_SMS_SIGN_NAME: 'Example',
    TENCENT_SECRET_ID: 'AKIDexample',
    TENCENT_SECRET_KEY: 'secret-of-a-test',
    TENCENT_SMS_APP_ID: '1400006666',
    SMS_ROUTES: '*=aliyun,aliyun-pnvs,tencent,twilio,sink',
    SMS_GATEWAYS: 'sink: { request: { url: "https://sink.example.com" }, limits: { seconds: 7 } }',
    SMTP_URL: 'smtp://courier@127.0.0.1',
    SMTP_OAUTH2_TOKEN_URL: 'https://login.example.com/token',
    SMTP_OAUTH2_CLIENT_ID: 'courier',
    SMTP_OAUTH2_CLIENT_SECRET: 'secret-of-a-test',
  })
  await openProviders(config, { clock: { now: Date.now }, templates: NO_TEMPLATES })
  type Given = readonly [string, Record<string, number> & { readonly connect: { readonly timeout: number } }]
  const told = (given as readonly Given[]).map(
    ([origin, { connections, headersTimeout, bodyTimeout, connect }]) =>
      [origin, connections, connect.timeout, headersTimeout, bodyTimeout].join(' '),
  )
  t.same(told.sort(), [
    'https://api.twilio.com 200 5000 30000 5000',
    'https://dypnsapi.aliyuncs.com 200 5000 10000 5000',
    'https://dysmsapi.aliyuncs.com 200 5000 10000 5000',
    'https://login.example.com 1 5000 10000 5000',
    'https://sink.example.com 20 5000 7000 5000',
    'https://sms.tencentcloudapi.com 200 5000 10000 5000',
  ])
})

t.test('a certificate that nobody vouches for gets no request', async t => {
  const certificate = await createCertificate(Date.now())
  let requests = 0
  const server = https.createServer(certificate, (_request, response) => {
    requests += 1
    response.end('{}')
  })
  const port = await listen(t, server)
  const baseUrl = `https://127.0.0.1:${port}`
  const ask = () => open(t, baseUrl).request(REQUEST)
  const refused = await ask()
  if ('value' in refused) return t.fail('it was trusted')
  const outcome = outcomeWithoutAnswer(refused, 'a carrier')
  t.match(outcome, { is: 'retry', whose: 'later', untouched: true, reply: /self-signed/ })
  t.notMatch(JSON.stringify(outcome), 'secret')
  t.equal(requests, 0)
  trustDuring(t, certificate.cert)
  t.match(await ask(), { value: { status: 200 } })
})

t.test('a probe finds out about TLS and the proxy, writes no request, and waits for no one', async t => {
  const certificate = await createCertificate(Date.now())
  let requests = 0
  const server = https.createServer(certificate, () => void (requests += 1))
  const silent = net.createServer(socket => void socket.on('error', () => {}))
  const [port, silentPort] = [await listen(t, server), await listen(t, silent)]
  const probe = (options: Partial<HttpApiOptions> = {}, to = port) =>
    open(t, `https://127.0.0.1:${to}`, options).probe()
  t.equal(await probe(), 'down', 'a certificate that nobody vouches for')
  const through = await startHttpProxy(t)
  t.equal(await probe({ proxy: through }), 'down', 'the same, by a tunnel')
  t.match(through.asked, [{ to: `127.0.0.1:${port}` }])
  const resolver = await startDnsServer(t, { 'proxy.courier.test': '127.0.0.1' })
  const named = through.url.replace('127.0.0.1', 'proxy.courier.test')
  t.equal(await probe({ proxy: { url: named } }), 'down')
  t.equal(through.asked.length, 2, 'a proxy that has a name is found as every host is')
  t.match(resolver.asked, ['proxy.courier.test'])
  const limits = { connectMs: 3_600_000, answerMs: 3_600_000, bodyMs: 3_600_000 }
  t.equal(await probe({ limits }, silentPort), 'down', 'a server that never says hello')
  trustDuring(t, certificate.cert)
  t.equal(await probe(), 'up')
  t.equal(requests, 0)
})

t.test('an API that only ever says that it is still there is not listened to', async t => {
  let times = 10
  const server = net.createServer(socket => {
    const answer = () =>
      socket.end(
        `${'HTTP/1.1 103 Hints\r\n\r\n'.repeat(times)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
      )
    socket.on('error', () => {}).once('data', answer)
  })
  const api = open(t, `http://127.0.0.1:${await listen(t, server)}`)
  t.match(await api.request(REQUEST), { value: { status: 200 } }, 'ten times')
  times = 11
  const ended = await api.request(REQUEST)
  t.match('error' in ended && outcomeWithoutAnswer(ended, 'a carrier'), {
    is: 'ambiguous',
    code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  })
})

t.test(
  '256 KB of an answer are read at most, and the signal that may end a request is let go of with it',
  async t => {
    const body = (octets: number) => 'é'.padEnd(octets - 1, 'x')
    const server = http.createServer(({ url = '' }, response) => {
      const octets = Buffer.from(body(Number(url.slice(1))))
      // A character may come in pieces.
      response.write(octets.subarray(0, 1))
      response.end(octets.subarray(1))
    })
    const api = open(t, `http://127.0.0.1:${await listen(t, server)}`)
    const { signal } = new AbortController()
    const ask = (octets: number, by = signal) => api.request({ ...REQUEST, path: `/${octets}` }, by)
    t.match(await ask(262_144), { value: { status: 200, retryAfter: undefined, body: body(262_144) } })
    t.match(await ask(262_145), {
      error: { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' },
      written: true,
      answer: { status: 200 },
    })
    t.same(getEventListeners(signal, 'abort'), [])
    t.match(await ask(1, AbortSignal.abort()), { written: false, answer: undefined, stopped: 'aborted' })
  },
)

t.test('what a request without an answer means for its message', async t => {
  const later = { is: 'retry', whose: 'later' }
  const lost = (status: number) => ({
    ...later,
    scope: 'transport',
    code: `http-${status}`,
    reply: `HTTP ${status}, and the rest of the answer was lost`,
  })
  const unread = (status: number) => ({
    is: 'ambiguous',
    code: `http-${status}`,
    reply: `HTTP ${status}, but the answer cannot be read`,
  })
  for (const [status, outcome] of [
    [299, unread(299)],
    [300, lost(300)],
    [499, lost(499)],
    [500, unread(500)],
  ] as const) {
    const answer = { status, retryAfter: undefined }
    t.same(inEnglish(outcomeWithoutAnswer({ error: null, written: true, answer }, 'a carrier')), outcome)
  }
  for (const [code, words] of [
    ['aborted', 'stopped by us'],
    ['expired', 'its validity is over'],
    ['answer-limit', 'the answer took too long'],
  ] as const) {
    const ended = { error: { code: 'E', message: 'no' }, stopped: code }
    const before = { ...later, code, reply: words, untouched: true }
    t.same(inEnglish(outcomeWithoutAnswer({ ...ended, written: false }, 'a carrier')), before)
    const after = { is: 'ambiguous', code, reply: `no answer after the request was written: ${words}` }
    t.same(inEnglish(outcomeWithoutAnswer({ ...ended, written: true }, 'a carrier')), after)
  }
  const failed = { error: { code: 'EPIPE', message: '' }, written: false }
  t.same(inEnglish(outcomeWithoutAnswer(failed, 'a carrier')), {
    ...later,
    code: 'EPIPE',
    reply: 'EPIPE',
    untouched: true,
  })
  t.throws(() => outcomeWithoutAnswer({ error: new Error('a bug'), written: true }, 'a carrier'), {
    message: 'sending by a carrier failed in an unexpected way',
  })
})

t.test('Retry-After is seconds or a date, and an hour at most', async t => {
  const now = Date.parse('2026-11-20T10:00:00Z')
  for (const [value, ms] of [
    [undefined, undefined],
    ['0', 0],
    [' 3600 ', 3_600_000],
    ['3601', 3_600_000],
    ['1234567890', undefined],
    ['Fri, 20 Nov 2026 10:01:30 GMT', 90_000],
    ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['Fri, 20 Nov 2093 10:00:00 GMT', 3_600_000],
    ['soon', undefined],
    ['-5', undefined],
  ] as const)
    t.equal(readRetryAfter(value, now), ms, String(value))
})
