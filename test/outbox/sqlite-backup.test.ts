import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { copyStore } from '../../src/outbox/sqlite/serve-store.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { STORE, testClock } from './samples.ts'

t.test('a backup that begins in the middle of a commit has what is committed', async t => {
  const directory = t.testdir({})
  const store = openStore(join(directory, 'outbox.db'))
  t.teardown(() => store.close())
  store.exec("BEGIN IMMEDIATE; INSERT INTO meta (key, value) VALUES ('half', 'a commit')")
  const copy = join(directory, 'copy.db')
  const copied = copyStore(store, copy)
  await setTimeout(30)
  store.exec('COMMIT')
  await copied
  const read = new DatabaseSync(copy)
  t.teardown(() => read.close())
  t.match(read.prepare("SELECT value FROM meta WHERE key = 'half'").get(), { value: 'a commit' })
})

t.test('one backup is made at a time, and another one after it', async t => {
  const directory = t.testdir({})
  const outbox = await createSqliteOutbox({
    ...STORE,
    path: join(directory, 'outbox.db'),
    clock: testClock(),
    startThread: serveHere,
  })
  t.teardown(() => outbox.close())
  const backUp = async (name: string) => await outbox.backUp?.(join(directory, name))
  const both = await Promise.allSettled([backUp('a.db'), backUp('b.db')])
  t.match(both, [{ status: 'fulfilled' }, { status: 'rejected', reason: { message: /being made already/ } }])
  await t.rejects(backUp('nowhere/c.db'), { name: 'StoreUnavailable', message: /unable to open/ })
  await backUp('d.db')
  t.same([existsSync(join(directory, 'b.db')), existsSync(join(directory, 'd.db'))], [false, true])
  const last = backUp('e.db')
  await outbox.close()
  await t.resolves(last, 'the end waits for it')
})
