import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import { createDdqClient } from '../../src/devices/ddq-client.ts'
import type { DdqMessage } from '../../src/devices/message.ts'
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
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const clients: { stop(): void }[] = []
  t.teardown(async () => {
    for (const client of clients) client.stop()
    await new Promise(resolve => server.close(resolve))
  })

  function connect() {
    const messages: DdqMessage[] = []
    const ends: string[] = []
    const client = createDdqClient({
      endpoint: {
        origin: `https://localhost:${(server.address() as AddressInfo).port}`,
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
      onEnd: ({ is, why }) => ends.push(`${is}: ${why}`),
    })
    clients.push(client)
    client.start()
    return { client, messages, ends }
  }
  async function until(condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition(); tries += 1) {
      if (tries > 500) throw new Error('did not come')
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  const wary = connect()
  await until(() => wary.ends.length > 0)
  t.match(wary.ends[0], /^unreachable: .*CERT/)
  t.same(wary.messages, [])
  wary.client.stop()
  // For this test alone: other certificates of the same name would not be told from this one.
  const usual = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(usual))
  setDefaultCACertificates([certificate.cert])
  const trusting = connect()
  await until(() => trusting.messages.length > 0)
  t.match(trusting.messages[0], { kind: 'unknown', topic: 'a/b', id: '1', payload: { x: 1 } })
  t.same(trusting.ends, [])
})
