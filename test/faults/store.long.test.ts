import { spawnSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { spawnService } from '../rigs/process.ts'
import { mountSmallDisk } from '../rigs/small-disk.ts'
import { openStage, pause } from './stage.ts'

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
  const found = await stage.finish()
  t.match(found, { answered: 200, delivered: 200, lost: 0, duplicated: 0 })
})

const { disk, skip } = mountSmallDisk(t, 4)

t.test('a full disk: 503 while it lasts, and everything goes on by itself', { skip }, async t => {
  const stage = await openStage(t, {
    DATABASE_URL: `file:${join(disk, 'outbox.db')}`,
    ANSWER_WITHIN_MS: '300',
    SMTP_CONNECTIONS: '2',
  })
  // Some are being sent while the disk fills up: their ends cannot be written then.
  stage.smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 700 } : undefined)
  await stage.driver.load(stage.callbacks('email', 10), 10)
  const filler = join(disk, 'filler')
  for (let size = 4_000_000; size > 1000; size /= 2)
    await writeFile(filler, Buffer.alloc(size), { flag: 'a' }).catch(() => {})

  const full = await stage.driver.load(stage.callbacks('email', 20), 5)
  const refused = full.filter(each => each.errCode !== 0)
  t.ok(refused.length > 0, 'it is full')
  for (const { status, errCode, retryAfter } of refused)
    t.same({ status, errCode, retryAfter }, { status: 503, errCode: 5031002, retryAfter: '5' })
  await pause(1500)

  stage.smtp.act = undefined
  await rm(filler)
  const [after] = await stage.driver.load(stage.callbacks('email', 1), 1)
  t.equal(after?.errCode, 0, 'there is room: it is taken')
  await stage.atRest()
  const found = await stage.finish()
  t.match(found, { lost: 0, duplicated: 0, ambiguous: 0, delivered: found.answered })
})
