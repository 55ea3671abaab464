import { monitorEventLoopDelay } from 'node:perf_hooks'
import t from 'tap'
import { patient } from '../rigs/patience.ts'
import { LONG, openStage, pause } from './stage.ts'

const ANSWER_WITHIN_MS = 1000
/** A burst of 10,000 would keep this provider busy for 200 s; what it shows, a smaller one shows as well. */
const BURST = LONG ? 10_000 : 500
/** Callbacks that wait for their answers at any time: with this deadline, as many come in a second. */
const AT_ONCE = LONG ? 500 : 60
/**
 * Of an answer beyond its deadline. The short run shares its cores with other tests, and shows only that answers do
 * not wait for the provider, which needs ten seconds for all of it.
 */
const SLACK_MS = LONG ? 100 : 3000
/** Mails that are being sent at once, SMTP_CONNECTIONS: nothing can come in front of these any more. */
const ON_THEIR_WAY = 10

t.test('a slow provider under a burst: answers in time, newest codes first, nothing lost', async t => {
  t.setTimeout(patient(LONG ? 600_000 : 110_000))
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS), SMTP_CONNECTIONS: String(ON_THEIR_WAY) },
    {},
  )
  const { driver, smtp } = stage
  // The connections stand already: what it costs this process to open hundreds, at both ends, is not looked at here.
  await driver.load(stage.callbacks('email', AT_ONCE), AT_ONCE)
  await stage.atRest()
  smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 200 } : undefined)
  const turns = monitorEventLoopDelay({ resolution: 1 })
  turns.enable()
  const answers = await driver.load(stage.callbacks('email', BURST), AT_ONCE, ANSWER_WITHIN_MS)
  turns.disable()
  // Platform, service and mail server share a thread here: what it was late by as a whole is nobody's answer.
  const lateMs = Math.round(turns.max / 1e6)
  t.ok(answers.every(each => each.errCode === 0))
  const slowest = Math.max(...answers.map(each => each.answeredAt - each.askedAt))
  t.ok(
    slowest <= ANSWER_WITHIN_MS + SLACK_MS + lateMs,
    `the slowest answer took ${slowest} ms, the thread was late by ${lateMs} ms`,
  )

  const waiting = AT_ONCE + BURST - smtp.mails.length
  t.ok(waiting > 100, `${waiting} wait`)
  // One more code: it is in front of all that wait, but for the few that are on their way.
  const fresh = stage.callback('email')
  const before = smtp.mails.length
  await driver.post(fresh)
  const place = () => stage.arrivals().findIndex(each => each.code === fresh.code)
  for (const end = Date.now() + patient(20_000); place() < 0 && Date.now() < end; ) await pause(20)
  t.ok(place() >= 0 && place() - before <= 45, `${place() - before} arrived before it, ${waiting} waited`)

  // Alarms come last, however long the codes have waited, but for the few that are on their way.
  const alarms = stage.callbacks('email', 5, { kind: 'alarm' })
  const codes = AT_ONCE + BURST + 1
  const still = codes - smtp.mails.length
  for (const alarm of alarms) await driver.post(alarm)
  // The long run goes on at this pace, and looks at every claim until the last one.
  if (!LONG) smtp.act = undefined
  await stage.atRest(LONG ? 400_000 : 90_000)
  const order = stage.arrivals().map(each => each.code)
  const first = Math.min(...alarms.map(each => order.indexOf(each.code)))
  t.ok(first >= codes - ON_THEIR_WAY, `${codes - first} codes came after the first alarm, ${still} waited`)
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: codes + 5, delivered: codes + 5, lost: 0, duplicated: 0, ambiguous: 0 })
})
