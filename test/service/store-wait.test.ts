import { createServer } from 'node:net'
import promises from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { type Outbox, StoreUnusable } from '../../src/outbox/outbox.ts'
import { openStoreWhenThere } from '../../src/service/store-wait.ts'
import { enough, load } from '../config/settings.ts'
import { freePort } from '../rigs/free-port.ts'

const away = new StoreUnusable(quote('the database does not answer: start it'), { passes: true })
const full = new StoreUnusable(quote('the database takes no more connections: raise its limit'), {
  passes: true,
})
const wrong = new StoreUnusable(quote('the database does not exist: create it'))

t.test('a database that is not there yet is waited for, and who asks meanwhile learns of what', async t => {
  const port = await freePort()
  const config = load({ ...enough, ADMIN_TOKENS: '', ADMIN_PORT: `${port}` })
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    const { status, reason } = (await answer.json()) as { readonly status: string; readonly reason?: string }
    return `${answer.status} ${status}${reason === undefined ? '' : `: ${reason}`}`
  }
  const log: unknown[] = []
  const store = { is: 'the store' } as unknown as Outbox
  /** Opens while these come. @returns what came of it, and what was answered at each try but the first. */
  const waitFor = async (...failures: readonly StoreUnusable[]) => {
    const seen: string[] = []
    let tries = 0
    const open = async () => {
      if (tries > 0) seen.push(`${await ask('/healthz')}, ${await ask('/readyz')}`)
      const failure = failures[tries]
      tries += 1
      if (failure !== undefined) throw failure
      return store
    }
    const opened = await openStoreWhenThere(config, open, {
      log: pino({ base: null, timestamp: false }, { write: line => void log.push(JSON.parse(line)) }),
      emit: () => {},
      clock: { now: () => 0 },
    }).catch((error: Error) => error)
    return { seen, opened }
  }

  t.same(await waitFor(), { seen: [], opened: { store, waiting: null } })
  const pauses = t.capture(promises, 'setTimeout', async () => {})
  const { seen, opened } = await waitFor(away, away, full, away, away, away)
  t.same(
    pauses.args().map(([ms]) => ms),
    [250, 500, 1000, 2000, 4000, 4000],
  )
  t.same(seen, Array(6).fill('200 ok, 503 not ready: the database does not answer'))
  const line = { level: 40, event: 'store', doing: 'wait for the database' }
  t.same(log.splice(0), [
    { ...line, msg: 'the database does not answer: start it' },
    { ...line, msg: 'the database takes no more connections: raise its limit' },
    { ...line, msg: 'the database does not answer: start it' },
  ])
  if (opened instanceof Error || opened.waiting === null) return t.fail('nobody answers')
  t.equal(opened.store, store)
  t.equal(await ask('/readyz'), '503 not ready: starting', 'until the private listener is there')
  await opened.waiting.close()

  t.same(await waitFor(wrong), { seen: [], opened: wrong }, 'what time does not mend')
  t.equal((await waitFor(away, wrong)).opened, wrong)
  await t.rejects(ask('/healthz'), 'and then nobody listens any more')
  const other = createServer()
  await new Promise<void>(resolve => other.listen(port, '127.0.0.1', resolve))
  t.match((await waitFor(away)).opened, { code: 'EADDRINUSE' }, 'a port that is taken')
  other.close()
})
