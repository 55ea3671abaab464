import { createSecureServer, createServer, type Http2Server } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import { type ConnectionOptions, holdConnection } from '../../src/devices/ddq-client.ts'
import { say } from '../../src/language/sentence.ts'
import { inEnglish } from '../language/english.ts'
import { trustDuring } from '../rigs/authorities.ts'
import { listen } from '../rigs/listen.ts'

/** A connection to what listens there, until it ends. `subscribed`: how many topics were accepted, each time. */
function hold(t: Test, origin: string, more: Partial<ConnectionOptions> = {}) {
  const subscribed: number[] = []
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const options = {
    endpoint: { origin, authenticatePath: '/auth', subscribePath: '/subscribe', heartbeat: 'ping' as const },
    timings: { heartbeatMs: 1000, silenceMs: 60_000, reconnectMs: 1000, answerMs: 10_000 },
    appId: 'application-1',
    credential: { getToken: async () => ({ token: 'token', expiresAt: 1e15 }), refused: () => {} },
    topics: ['/a', '/b'],
    onMessage: () => {},
    onMalformed: () => {},
    onSubscribed: (topics: number) => subscribed.push(topics),
    onRefused: () => {},
    now: () => performance.now(),
    ...more,
  }
  return { end: holdConnection(options, ending.signal), subscribed, ending }
}

/** A server that ends each of its streams at once. */
async function startEnding(t: Test): Promise<readonly [Http2Server, origin: string]> {
  const server = createServer()
  server.on('stream', stream => {
    stream.respond({ ':status': 200 })
    stream.end('{}')
  })
  return [server, `http://127.0.0.1:${await listen(t, server)}`]
}

t.test(
  'a server that ends every stream has ended the subscription, though the connection is open',
  async t => {
    const [, origin] = await startEnding(t)
    const { end, subscribed } = hold(t, origin)
    t.same(await end, { is: 'closed', why: 'the server ended the subscription' })
    t.same(subscribed, [2])
  },
)

t.test('why a connection ended, or did not begin', async t => {
  const [server, origin] = await startEnding(t)
  server.on('session', session => session.goaway(2))
  t.same(await hold(t, origin).end, {
    is: 'closed',
    why: say('the server said goodbye (GOAWAY {code})', { code: 2 }),
  })
  const told = hold(t, origin)
  told.ending.abort()
  t.same(await told.end, { is: 'stopped', why: 'told to end' })

  const silent = createTcpServer(() => {})
  const timings = { heartbeatMs: 1000, silenceMs: 3_600_000, reconnectMs: 1000, answerMs: 1000 }
  const answered = new Set<string>()
  const mute = createServer()
  mute.on('stream', async (stream, headers) => {
    const asked = `${headers[':path']} ${await text(stream)}`
    if (asked.includes('/a"')) stream.respond({ ':status': 400 })
    else if (answered.has(String(headers[':path']))) stream.respond({ ':status': 200 })
    else return
    stream.end('{}')
  })
  const muteOrigin = `http://127.0.0.1:${await listen(t, mute)}`
  for (const [path, doing] of [
    ['', 'authenticate'],
    ['/auth', 'subscribe to /b'],
  ] as const) {
    answered.add(path)
    const ended = { is: 'closed', why: `${doing}: no answer`, logInAgain: false }
    t.same(inEnglish(await hold(t, muteOrigin, { timings }).end), ended, 'though /a was refused')
  }
  t.same(await hold(t, `https://127.0.0.1:${await listen(t, silent)}`, { timings }).end, {
    is: 'unreachable',
    why: 'no connection in time',
  })
  const certificate = await createCertificate(Date.now())
  trustDuring(t, certificate.cert)
  const plain = createTlsServer(certificate)
  t.same(await hold(t, `https://localhost:${await listen(t, plain)}`).end, {
    is: 'unreachable',
    why: 'the server does not speak HTTP/2',
  })
})

t.test('over TLS the client connects only to a server whose certificate is trusted', async t => {
  const certificate = await createCertificate(Date.now())
  const server = createSecureServer(certificate)
  server.on('sessionError', () => {})
  const names: unknown[] = []
  server.on('secureConnection', ({ servername }: { servername: unknown }) => names.push(servername))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    // A server that says nothing but 200, and ends the authentication.
    if (headers[':path'] === '/auth') stream.end()
    else stream.write('{"topic":"a/b","msgId":1,"payload":{"x":1}}')
  })
  const origin = `https://localhost:${await listen(t, server)}`
  const wary = hold(t, origin, { onMessage: () => void t.fail('it is heard') })
  t.match(await wary.end, { is: 'unreachable', why: { text: /CERT/ } })
  trustDuring(t, certificate.cert)
  const message = new Promise(onMessage => void hold(t, origin, { onMessage }))
  t.match(await message, { kind: 'unknown', topic: 'a/b', id: '1', payload: { x: 1 } })
  t.equal(names.at(-1), 'localhost', 'which one of its names it is asked as')
})

t.test('all streams of a connection may bring sixteen megabytes that nobody has read', async t => {
  for (const [topics, octets] of [
    [2, 524_288],
    [31, 524_288],
    [63, 262_144],
    [2000, 16_384],
  ] as const) {
    const [server, origin] = await startEnding(t)
    const settings = new Promise(resolve =>
      server.on('session', session => session.once('remoteSettings', resolve)),
    )
    const { end } = hold(t, origin, { topics: Array.from({ length: topics }, (_, n) => `/${n}`) })
    t.match(await settings, { enablePush: false, initialWindowSize: octets }, `${topics}`)
    await end
  }
})
