import t from 'tap'
import { LONG, openStage, pause } from './stage.ts'

const ANSWER_WITHIN_MS = 1000
/** A burst of 10,000 takes 200 s at 50 a second; what it shows, a smaller one shows as well. */
const BURST = LONG ? 10_000 : 500
/** Of an answer beyond its deadline. The short run shares its cores with other tests. */
const SLACK_MS = LONG ? 100 : 1000

t.test('a slow provider under a burst: answers in time, newest codes first, nothing lost', async t => {
  t.setTimeout(LONG ? 600_000 : 110_000)
  const stage = await openStage(t, { ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS) }, {})
  const { driver, smtp } = stage
  smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
  const alarms = stage.callbacks('email', BURST / 10, { kind: 'alarm' })
  const codes = stage.callbacks('email', BURST - alarms.length)
  const answers = [...(await driver.load(alarms, 50)), ...(await driver.load(codes, LONG ? 500 : 60))]
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

  smtp.act = undefined
  await stage.atRest(110_000)
  const order = stage.arrivals().map(each => each.code)
  const firstOfCodes =
    order.length - [...order].reverse().findIndex(code => codes.some(each => each.code === code))
  const late = alarms.filter(each => order.indexOf(each.code) >= firstOfCodes).length
  t.ok(late > 0, `${late} of ${alarms.length} alarms came after the last code`)
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: BURST + 1, delivered: BURST + 1, lost: 0, duplicated: 0, ambiguous: 0 })
})
