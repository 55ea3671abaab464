import t from 'tap'
import { openStage, pause } from './stage.ts'

const ANSWER_WITHIN_MS = 1000
/** A burst of 10,000 would keep this provider busy for 200 s; what it shows, a smaller one shows as well. */
const BURST = 500
/** Callbacks that wait for their answers at any time: with this deadline, as many come in a second. */
const AT_ONCE = 60
/** Mails that are being sent at once, SMTP_CONNECTIONS: nothing can come in front of these any more. */
const ON_THEIR_WAY = 10

t.test('a slow provider under a burst: answers in time, newest codes first, nothing lost', async t => {
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS), SMTP_CONNECTIONS: String(ON_THEIR_WAY) },
    {},
  )
  const { driver, smtp } = stage
  // The connections stand already: what it costs this process to open hundreds, at both ends, is not looked at here.
  await driver.load(stage.callbacks('email', AT_ONCE), AT_ONCE)
  await stage.atRest()
  smtp.act = ({ step }) => (step === 'dot' ? { is: 'wait', ms: 500 } : undefined)
  const answers = await driver.load(stage.callbacks('email', BURST), AT_ONCE, ANSWER_WITHIN_MS)
  // A busy service may refuse at once: then it has nothing to deliver.
  const refused = answers.filter(each => each.errCode !== 0)
  t.ok(
    refused.every(each => each.status === 503 && each.errCode === 5031002),
    'each is answered, with 0 or a refusal',
  )
  const taken = AT_ONCE + BURST - refused.length
  const waiting = taken - smtp.mails.length
  t.ok(waiting > 100, `all are answered, and ${waiting} still wait for the provider`)
  // From here on the provider stands still, until all are posted whose places are looked at.
  let letGo: () => void = () => {}
  const until = new Promise<void>(resolve => {
    letGo = resolve
  })
  let held = 0
  smtp.act = ({ step }) => {
    if (step !== 'dot') return undefined
    held += 1
    return { is: 'hold', until }
  }
  while (held < ON_THEIR_WAY) await pause(20)
  const before = smtp.mails.length
  const fresh = stage.callback('email')
  const alarms = stage.callbacks('email', 5, { kind: 'alarm' })
  const last = await Promise.all([fresh, ...alarms].map(each => driver.post(each)))
  t.same(
    last.map(each => each.errCode),
    [0, 0, 0, 0, 0, 0],
  )
  smtp.act = undefined
  letGo()
  await stage.atRest()
  const order = stage.arrivals().map(each => each.code)
  // One more code is in front of all that wait, but for the few that are on their way.
  const ahead = order.indexOf(fresh.code) - before
  t.ok(ahead <= 2 * ON_THEIR_WAY, `${ahead} arrived before it, ${waiting} waited`)
  // Alarms come last, however long the codes have waited.
  const codes = taken + 1
  const first = Math.min(...alarms.map(each => order.indexOf(each.code)))
  t.ok(first >= codes - ON_THEIR_WAY, `${codes - first} codes came after the first alarm`)
  const found = await stage.finish()
  t.match(found, { answered: codes + 5, delivered: codes + 5, lost: 0, duplicated: 0, ambiguous: 0 })
})
