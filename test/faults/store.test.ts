import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openStage, pause } from './stage.ts'

const disk = await mkdtemp(join(tmpdir(), 'courier-disk-'))
const mounted =
  process.getuid?.() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).status === 0
t.teardown(() => rm(disk, { recursive: true }))
if (mounted) t.teardown(() => spawnSync('umount', ['-l', disk]))
const noDisk = mounted ? false : 'only root may mount a small disk to fill'

t.test('a full disk: 503 while it lasts, and everything goes on by itself', { skip: noDisk }, async t => {
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
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { lost: 0, duplicated: 0, ambiguous: 0, delivered: found.answered })
})

t.test('a full backlog: 503 while it lasts, what was taken is sent, and it goes on', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '200', MAX_BACKLOG: '100' })
  const { port } = new URL(stage.settings['SMTP_URL'] ?? '')
  await stage.smtp.close()
  const answers = await stage.driver.load(stage.callbacks('email', 150), 20)
  t.equal(answers.filter(each => each.errCode === 0).length, 100)
  const refused = answers.filter(each => each.errCode !== 0)
  t.equal(refused.length, 50)
  for (const { status, errCode, retryAfter } of refused)
    t.same({ status, errCode, retryAfter }, { status: 503, errCode: 5031002, retryAfter: '5' })
  const said = stage.log
    .map(each => JSON.parse(each) as Record<string, unknown>)
    .find(({ event }) => event === 'store')
  t.match(said, {
    doing: 'accept',
    err: { type: 'BacklogFull', message: '100 messages are waiting already' },
  })
  // The platform says again what was taken: that needs no room.
  const again = await stage.driver.post(
    (answers.find(each => each.errCode === 0) ?? answers[0])?.callback as never,
  )
  t.equal(again.errCode, 0)
  await stage.smtp.listen(Number(port))
  await stage.atRest()
  const [after] = await stage.driver.load(stage.callbacks('email', 1), 1)
  t.equal(after?.errCode, 0)
  await stage.atRest()
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: 101, delivered: 101, lost: 0, duplicated: 0 })
})
