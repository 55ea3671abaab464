import type { ClientHttp2Session } from 'node:http2'
import t from 'tap'
import { startHeartbeat } from '../../src/devices/ddq-client.ts'

t.test('a process that was held up itself does not take that for silence of the other side', async t => {
  let time = 0
  let pings = 0
  let answers = true
  let silences = 0
  let before = 0
  const ping = (answered: (error: Error | null) => void) => {
    pings += 1
    // Node refuses more than ten that have no answer.
    if (answers || pings > before + 10) answered(answers ? null : new Error('cancelled'))
  }
  const heartbeat = startHeartbeat({
    session: { ping, destroyed: false, closed: false } as unknown as ClientHttp2Session,
    heartbeat: 'ping',
    heartbeatMs: 2,
    silenceMs: 40,
    now: () => time,
    onSilence: () => (silences += 1),
  })
  t.teardown(heartbeat.stop)
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise(resolve => setTimeout(resolve, 2))
  }
  await until(() => pings >= 25)
  time += 60_000
  before = pings
  await until(() => pings >= before + 3 || silences > 0)
  t.equal(silences, 0)

  answers = false
  time += 60_000
  before = pings
  await until(() => silences > 0 || pings > before + 100)
  t.equal(pings - before, 20)
  t.equal(silences, 1, 'once as many heartbeats as fit into the time have no answer')
})
