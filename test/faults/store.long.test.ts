import { spawnSync } from 'node:child_process'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { spawnService } from '../rigs/process.ts'
import { openStage } from './stage.ts'

t.test('a second process on the same file ends and says why; the first is not disturbed', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '1000' })
  const load = stage.driver.load(stage.callbacks('email', 200), 10)
  const second = spawnService(t, ['serve'], { ...stage.settings, PATH: process.env['PATH'] ?? '' })
  t.equal(await second.exited, 1)
  t.match(second.stderr(), /outbox\.db is in use by another process: end that one first/)
  const peek = spawnSync('sqlite3', [join(stage.directory, 'outbox.db'), 'SELECT count(*) FROM messages'])
  if (peek.error === undefined) t.match(peek.stderr.toString(), /locked/, 'nor can a tool get in the way')
  await load
  await stage.atRest()
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: 200, delivered: 200, lost: 0, duplicated: 0 })
})

t.test('a store that another process holds at the start is told so', async t => {
  const stage = await openStage(t)
  await stage.service().close()
  const path = join(stage.directory, 'outbox.db')
  const { DatabaseSync } = await import('node:sqlite')
  const holder = new DatabaseSync(path)
  holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE')
  const held = spawnService(t, ['serve'], { ...stage.settings, PATH: process.env['PATH'] ?? '' })
  t.equal(await held.exited, 1)
  t.match(held.stderr(), /is in use by another process/)
  holder.exec('ROLLBACK')
  holder.close()
  await stage.restart()
  const [after] = await stage.driver.load(stage.callbacks('email', 1), 1)
  t.equal(after?.errCode, 0, 'when it is free, it starts')
})

t.test('a corrupt page: it does not start, and says what to do', async t => {
  const stage = await openStage(t)
  await stage.driver.load(stage.callbacks('email', 100), 20)
  await stage.atRest()
  await stage.service().close()
  const path = join(stage.directory, 'outbox.db')
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  const page = 4096 * Math.floor(size / 4096 / 2)
  await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, page)
  await file.close()
  const damaged = spawnService(t, ['serve'], { ...stage.settings, PATH: process.env['PATH'] ?? '' })
  t.equal(await damaged.exited, 1)
  t.match(damaged.stderr(), /is damaged: stop the service, keep a copy of the file/)
})
