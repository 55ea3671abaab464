import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startService } from '../../src/service/service.ts'
import { freePort } from '../rigs/free-port.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { startSinks, until } from '../rigs/service.ts'

t.test(
  'a start waits for a database that is not there yet, and for nothing else',
  { skip: noPostgres },
  async t => {
    const sinks = await startSinks(t)
    const rig = await startPostgres()
    t.teardown(() => rig.close())
    const log: string[] = []
    const port = await freePort()
    const settings = { ...sinks.settings, ADMIN_PORT: String(port), DATABASE_URL: await rig.url() }
    const start = (more: Readonly<Record<string, string>> = {}) =>
      startService({ ...settings, ...more }, { log: { write: line => void log.push(line) } })
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { connection: 'close' },
      }).catch(() => null)
      return answer === null ? null : { status: answer.status, body: await answer.json() }
    }

    const wrong = settings.DATABASE_URL.replace('/postgres?', '/nothing?')
    await t.rejects(start({ DATABASE_URL: wrong }), {
      name: 'StoreUnusable',
      message: /does not exist: create it/,
    })

    await rig.stop()
    const starting = start()
    t.teardown(async () => (await starting).close())
    await until(async () => (await ask('/healthz'))?.status === 200, 'health while it waits')
    t.match(await ask('/readyz'), {
      status: 503,
      body: { status: 'not ready', reason: 'the database does not answer' },
    })
    t.ok(log.some(line => line.includes('wait for the database')))
    await pause(500)
    t.equal((await ask('/healthz'))?.status, 200, 'it goes on waiting')
    t.equal(log.filter(line => line.includes('wait for the database')).length, 1, 'one line')
    let isStarting = true
    const asked: (number | undefined)[] = []
    const asking = (async () => {
      while (isStarting) asked.push((await ask('/healthz'))?.status)
    })()
    await rig.start()
    await starting
    isStarting = false
    await asking
    // The kernel resets a connection that waits to be accepted at the moment in which the listener that waited closes.
    const unanswered = asked.filter(status => status !== 200).length
    t.ok(unanswered <= 1, `the next listener takes over at once: ${unanswered} of ${asked.length} unanswered`)
    await until(async () => (await ask('/readyz'))?.status === 200, 'ready once the database is there')
  },
)
