import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openConnection } from '../../src/devices/ddq-client.ts'

t.test(
  'a server that ends every stream has ended the subscription, though the connection is open',
  async t => {
    const server = createServer()
    server.on('stream', stream => {
      stream.respond({ ':status': 200 })
      stream.end('{}')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const subscribed: number[] = []
    const connection = openConnection({
      endpoint: {
        origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        authenticatePath: '/auth',
        subscribePath: '/subscribe',
        heartbeat: 'ping',
      },
      timings: { heartbeatMs: 1000, silenceMs: 60_000, reconnectMs: 1000, answerMs: 10_000 },
      appId: 'application-1',
      credential: { token: () => Promise.resolve({ ok: true, value: 'token' }), refused: () => {} },
      topics: ['/a', '/b'],
      onMessage: () => {},
      onMalformed: () => {},
      onSubscribed: topics => subscribed.push(topics),
      onRefused: () => {},
      now: () => performance.now(),
    })
    t.teardown(() => connection.stop())
    t.same(await connection.ended, {
      is: 'closed',
      why: 'the server ended the subscription',
      logInAgain: false,
    })
    t.same(subscribed, [2])
  },
)
