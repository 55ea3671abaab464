import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { copyStore } from '../../src/outbox/sqlite/serve-store.ts'

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

t.test('a backup that cannot be written says why at once', async t => {
  const directory = t.testdir({})
  const store = openStore(join(directory, 'outbox.db'))
  t.teardown(() => store.close())
  await t.rejects(copyStore(store, join(directory, 'nowhere', 'copy.db')), /unable to open/)
})
