import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { checkEventReceiver } from '../../../src/commands/check/receivers.ts'
import { enough, load } from '../../config/settings.ts'
import { trustDuring } from '../../rigs/authorities.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { startHttpProxy } from '../../rigs/http-proxy.ts'
import { listen } from '../../rigs/listen.ts'
import { SECRET } from '../../webhooks/receiver.ts'
import { linesOf } from './lines.ts'

const clock = { now: Date.now }
const LIMITS = { connectMs: 15_000, answerMs: 2_000, bodyMs: 2_000 }

async function sayOfEvents(url: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const config = load({ ...enough, EVENTS_URL: url, EVENTS_SECRET: SECRET, ...more })
  const said = linesOf(await checkEventReceiver(config, clock, LIMITS)).join('\n')
  t.notMatch(said, /canary|p@ss|p%40ss/, 'the URL may hold a key, the proxy has a password')
  return said
}

const answering =
  (status: number): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { location: '/elsewhere' }).end()

t.test('the receiver of events: each cause has its words and its advice', async t => {
  t.equal(linesOf(await checkEventReceiver(load(enough), clock)).length, 0, 'off')
  const seen: { readonly headers: Record<string, string>; readonly body: string }[] = []
  let answer = answering(204)
  const server = createServer(async (request, response) => {
    seen.push({ headers: request.headers as Record<string, string>, body: await text(request) })
    answer(request, response)
  })
  const url = `http://127.0.0.1:${await listen(t, server)}/hook?canary=1`
  t.match(await sayOfEvents(url), /^ok EVENTS_URL: took a signed POST without events/)
  const [post] = seen
  t.match(new Webhook(SECRET).verify(post?.body ?? '', post?.headers ?? {}), {
    type: 'events',
    data: { events: [] },
  })
  const advice =
    'look at its log, at EVENTS_SECRET (401, 403) and at the path in EVENTS_URL (3xx, 404, 405): events wait until it answers 2xx, three days at most'
  for (const [status, words] of [
    [401, `answers HTTP 401 → ${advice}`],
    [308, `answers HTTP 308 → ${advice}`],
    [
      410,
      'wants nothing any more (HTTP 410) → let it answer 2xx, and start the service anew: it tells nothing more until then',
    ],
  ] as const) {
    answer = answering(status)
    t.equal(await sayOfEvents(url), `fail EVENTS_URL: ${words}`)
  }
  const before = seen.length
  answer = (_request, response) => void response.writeHead(200).end('x'.repeat(2_000_000))
  t.match(await sayOfEvents(url), /^ok/, 'whatever it says besides')
  answer = () => {}
  t.match(
    await sayOfEvents(url),
    /takes the connection, and says nothing → look at the server that EVENTS_URL names/,
  )
  t.equal(seen.length, before + 2, 'no redirect was followed')

  t.match(
    await sayOfEvents('http://127.0.0.1:1/'),
    /nothing listens at 127\.0\.0\.1:1 → look at host and port in/,
  )
})

t.test('the receiver of events behind a proxy, and of an authority of our own', async t => {
  const certificate = await createTestCertificate()
  const secure = createHttpsServer(certificate, answering(204))
  const url = `https://127.0.0.1:${await listen(t, secure)}/hook`
  t.match(await sayOfEvents(url), /of an authority that is not trusted here → set TLS_CA_FILE/)
  trustDuring(t, certificate.cert)
  t.match(await sayOfEvents(url), /^ok/)
  const proxy = await startHttpProxy(t)
  t.match(await sayOfEvents(url, { HTTPS_PROXY: proxy.url }), /^ok/)
  t.equal(proxy.asked.length, 1)
  t.match(
    await sayOfEvents(url, { HTTPS_PROXY: 'http://courier:p%40ss@127.0.0.1:1' }),
    /nothing listens at 127\.0\.0\.1:1 → look at host and port in HTTPS_PROXY/,
  )
})
