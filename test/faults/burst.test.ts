import t from 'tap'
import { LONG, openStage, pause } from './stage.ts'

const ANSWER_WITHIN_MS = 1000
/** A burst of 10,000 takes 200 s at 50 a second; what it shows, a smaller one shows as well. */
const BURST = LONG ? 10_000 : 500
/**
 * Of an answer beyond its deadline. The short run shares its cores with other tests, and shows only that answers do
 * not wait for the provider, which needs ten seconds for all of it.
 */
const SLACK_MS = LONG ? 100 : 3000

t.test('a slow provider under a burst: answers in time, newest codes first, nothing lost', async t => {
  t.setTimeout(LONG ? 600_000 : 110_000)
  const stage = await openStage(t, { ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS) }, {})
  const { driver, smtp } = stage
  smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
  const answers = await driver.load(stage.callbacks('email', BURST), LONG ? 500 : 60)
  t.ok(answers.every(each => each.errCode === 0))
  const slowest = Math.max(...answers.map(each => each.answeredAt - each.askedAt))
  t.ok(slowest <= ANSWER_WITHIN_MS + SLACK_MS, `the slowest answer took ${slowest} ms`)

  const waiting = BURST - smtp.mails.length
  t.ok(waiting > 100, `${waiting} wait`)
  // One more code: it is in front of all that wait, but for the few that are on their way.
  const fresh = stage.callback('email')
  const before = smtp.mails.length
  await driver.post(fresh)
  const place = () => stage.arrivals().findIndex(each => each.code === fresh.code)
  for (const end = Date.now() + 20_000; place() < 0 && Date.now() < end; ) await pause(20)
  t.ok(place() >= 0 && place() - before <= 45, `${place() - before} arrived before it, ${waiting} waited`)

  // Alarms come last, however long the codes have waited, but for the few that are on their way.
  const alarms = stage.callbacks('email', 5, { kind: 'alarm' })
  const still = BURST + 1 - smtp.mails.length
  for (const alarm of alarms) await driver.post(alarm)
  smtp.act = undefined
  await stage.atRest(110_000)
  const order = stage.arrivals().map(each => each.code)
  const first = Math.min(...alarms.map(each => order.indexOf(each.code)))
  t.ok(first >= BURST + 1 - 45, `${BURST + 1 - first} codes came after the first alarm, ${still} waited`)
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: BURST + 6, delivered: BURST + 6, lost: 0, duplicated: 0, ambiguous: 0 })
})
