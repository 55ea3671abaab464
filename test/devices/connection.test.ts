import { createServer } from 'node:http2'
import t from 'tap'
import { holdConnection } from '../../src/devices/ddq-client.ts'
import { listen } from '../rigs/listen.ts'

t.test(
  'a server that ends every stream has ended the subscription, though the connection is open',
  async t => {
    const server = createServer()
    server.on('stream', stream => {
      stream.respond({ ':status': 200 })
      stream.end('{}')
    })
    const port = await listen(t, server)
    const subscribed: number[] = []
    const ending = new AbortController()
    t.teardown(() => ending.abort())
    const options = {
      endpoint: {
        origin: `http://127.0.0.1:${port}`,
        authenticatePath: '/auth',
        subscribePath: '/subscribe',
        heartbeat: 'ping' as const,
      },
      timings: { heartbeatMs: 1000, silenceMs: 60_000, reconnectMs: 1000, answerMs: 10_000 },
      appId: 'application-1',
      credential: { token: async () => ({ ok: true, value: 'token' }) as const, refused: () => {} },
      topics: ['/a', '/b'],
      onMessage: () => {},
      onMalformed: () => {},
      onSubscribed: (topics: number) => subscribed.push(topics),
      onRefused: () => {},
      now: () => performance.now(),
    }
    t.same(await holdConnection(options, ending.signal), {
      is: 'closed',
      why: 'the server ended the subscription',
      logInAgain: false,
    })
    t.same(subscribed, [2])
  },
)
