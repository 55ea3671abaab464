import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { lookInto } from '../chaos/rows.ts'
import { type Callback, createCallbacks } from '../faults/callbacks.ts'
import { type Row, readRows } from '../faults/checker.ts'
import { openStage, QUICK } from '../faults/stage.ts'
import { STORE } from '../outbox/samples.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { until } from '../rigs/service.ts'
import { RECORDED_SETTINGS, readRecorded, restorePostgres, restoreSqlite, type Story } from './recorded.ts'

/** From the end of the recorded release to the start of this one, ms: less than a duplicate is known after its end. */
const LATER_MS = 5000

/** Starts this release on a store that another one left; nothing of what that one knew may be lost. */
async function takeOver(t: Test, databaseUrl: string, story: Story, rows: () => Promise<readonly Row[]>) {
  const shift = Date.now() - story.at - LATER_MS
  const stage = await openStage(
    t,
    { ...RECORDED_SETTINGS, DATABASE_URL: databaseUrl },
    { limits: QUICK, wall: () => Date.now() - shift },
  )
  const { driver } = stage
  const copiesOf = ({ to, code }: Callback) =>
    stage.arrivals().filter(each => each.to === to && each.code === code).length
  const post = async (each: Callback) => (await driver.post(each)).errCode

  for (const each of story.sent) t.equal(await post(each), 0, 'a duplicate of what was sent')
  for (const each of story.refused) t.equal(await post(each), 4002012, 'a duplicate of what was refused')
  t.equal(await post(story.overQuota), 4291001, 'what its recipient had is counted')
  await until(() => story.waiting.every(each => copiesOf(each) > 0), 'what waited is delivered')
  for (const each of story.waiting) t.equal(await post(each), 0, 'a duplicate of what waited')
  t.equal(await post(createCallbacks()('email', { person: 9, code: 'C99999999X' })), 0, 'a new one')
  await until(() => stage.arrivals().length > story.waiting.length, 'the new one is delivered')
  for (const each of story.waiting) t.equal(copiesOf(each), 1)
  t.equal(stage.arrivals().length, story.waiting.length + 1, 'and nothing else')
  await stage.service().close()

  const states = Object.groupBy(await rows(), ({ state }) => state)
  t.same(
    { sent: states.sent?.length, refused: states.refused?.length, superseded: states.superseded?.length },
    {
      sent: story.sent.length + story.waiting.length + 1,
      refused: story.refused.length,
      superseded: story.superseded.length,
    },
    'and all of it is on record',
  )
  t.notOk(
    stage.events().some(each => each['event'] === 'store-loss'),
    'no loss is told',
  )
}

t.test('this release goes on with what earlier ones left', async t => {
  const recorded = readRecorded()
  t.ok(recorded.length > 0)
  for (const each of recorded) {
    await t.test(`${each.release}, the embedded store`, async t => {
      const path = join(t.testdir({}), 'outbox.db')
      restoreSqlite(each, path)
      await takeOver(t, `file:${path}`, each.story, async () => readRows(path))
    })
  }
  await t.test('the shared store', { skip: noPostgres }, async t => {
    const postgres = await startPostgres(t)
    for (const each of recorded) {
      await t.test(each.release, async t => {
        const url = await postgres.url()
        await restorePostgres(each, url)
        const rows = () => lookInto(url).rows()
        await takeOver(t, url, each.story, rows)
        const storeKeys = createStoreKeys('canary-store-secret-0123456789')
        const outbox = await createPostgresOutbox({ ...STORE, storeKeys, url, clock: createClock() })
        const before = await rows()
        const hash = before[0]?.recipientHash ?? ''
        const own = before.filter(({ recipientHash }) => recipientHash === hash).length
        t.equal(
          await outbox.actions.forgetRecipient(hash),
          own,
          'who was sent to before the upgrade is forgotten, too',
        )
        t.equal((await rows()).length, before.length - own)
        await outbox.close()
      })
    }
  })
})
