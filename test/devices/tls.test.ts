import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import t from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import { createDdqClient } from '../../src/devices/ddq-client.ts'
import type { DdqMessage } from '../../src/devices/message.ts'
import { trustDuring } from '../rigs/authorities.ts'
import { listen } from '../rigs/listen.ts'
import { until } from '../rigs/until.ts'
import { quick } from './line.ts'

t.test('over TLS the client connects only to a server whose certificate is trusted', async t => {
  const certificate = await createCertificate(Date.now())
  const server = createSecureServer(certificate)
  server.on('sessionError', () => {})
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    // A server that says nothing but 200, and ends the authentication.
    if (headers[':path'] === '/auth') stream.end()
    else stream.write('{"topic":"a/b","msgId":1,"payload":{"x":1}}')
  })
  const port = await listen(t, server)

  function connect() {
    const messages: DdqMessage[] = []
    const ends: string[] = []
    const client = createDdqClient({
      endpoint: {
        origin: `https://localhost:${port}`,
        authenticatePath: '/auth',
        subscribePath: '/subscribe',
        heartbeat: 'ping',
      },
      timings: quick,
      appId: 'a',
      credential: { token: async () => ({ ok: true, value: 'token' }) as const, refused: () => {} },
      topics: ['a/b'],
      random: Math.random,
      now: () => performance.now(),
      onMessage: message => void messages.push(message),
      onMalformed: () => {},
      onSubscribed: () => {},
      onRefused: () => {},
      onEnd: ({ is, why }) => ends.push(`${is}: ${String(why)}`),
    })
    t.teardown(() => client.stop())
    client.start()
    return { client, messages, ends }
  }
  const wary = connect()
  await until(() => wary.ends.length > 0, 'an end')
  t.match(wary.ends[0], /^unreachable: .*CERT/)
  t.same(wary.messages, [])
  wary.client.stop()
  trustDuring(t, certificate.cert)
  const trusting = connect()
  await until(() => trusting.messages.length > 0, 'a message')
  t.match(trusting.messages[0], { kind: 'unknown', topic: 'a/b', id: '1', payload: { x: 1 } })
  t.same(trusting.ends, [])
})
