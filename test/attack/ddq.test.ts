import t from 'tap'
import { createDdqClient } from '../../src/devices/ddq-client.ts'
import { FLOODS, type Flood, startHostileDdq } from '../rigs/hostile-ddq.ts'

const MB = 1024 * 1024

t.test(
  'a DDQ server that floods is hung up on, whatever it floods with, before it has sent much',
  async t => {
    const names = Object.keys(FLOODS) as Flood[]
    const hostile = await startHostileDdq(names[0] as Flood)
    t.teardown(() => hostile.close())
    for (const flood of names) {
      hostile.flood = flood
      const end = await endOf(hostile.port)
      t.equal(end.is, 'closed', `${flood}: ${String(end.why)}`)
      const octets = hostile.floods.at(-1)?.octets ?? 0
      // What waits in the buffers of the system was written as well; the 23 MB that ended the service are more.
      t.ok(octets < 16 * MB, `${flood}: ${(octets / MB).toFixed(1)} MB were taken`)
    }
    t.equal(hostile.floods.length, names.length, 'each was begun')
  },
)

/** Connects once. @returns why the connection ended */
function endOf(port: number): Promise<{ readonly is: string; readonly why: unknown }> {
  return new Promise(resolve => {
    const client = createDdqClient({
      endpoint: {
        origin: `http://127.0.0.1:${port}`,
        authenticatePath: '/auth',
        subscribePath: '/subscribe',
        heartbeat: 'ping',
      },
      timings: { heartbeatMs: 1000, silenceMs: 15_000, reconnectMs: 60_000, answerMs: 10_000 },
      appId: 'application-1',
      credential: { getToken: async () => ({ token: 'token', expiresAt: 1e15 }), refused: () => {} },
      topics: ['/a'],
      random: Math.random,
      now: () => performance.now(),
      onMessage: () => {},
      onMalformed: () => {},
      onSubscribed: () => {},
      onRefused: () => {},
      onEnd(end) {
        client.stop()
        resolve(end)
      },
    })
    client.start()
  })
}
