import t from 'tap'
import type { SmtpMoment } from '../rigs/smtp-server.ts'
import { counting, openStage, PATIENT, pause } from './stage.ts'

/** As many as are sent at once at first: they hold every place. */
const SWALLOWED = 10
const BEHIND = 50

// A mail server swallows ten replies after the dot: all places wait for them, and new mail must not.
t.test('new mail flows again once the patience with ten swallowed replies is over', async t => {
  // A busy machine may hold up any step but the one that is tried.
  const limits = {
    ...PATIENT,
    smtp: { connectMs: 15_000, greetingMs: 15_000, commandMs: 15_000, replyMs: 12_000 },
  }
  const options = { patienceMs: 2000, repeatPausesMs: [1000, 2000, 4000], limits }
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, options)
  let dots = 0
  const { asked, met } = counting(({ step }: SmtpMoment) => {
    if (step !== 'dot' || dots === SWALLOWED) return undefined
    dots += 1
    return { is: 'stall', accept: dots % 2 === 0 } as const
  })
  stage.smtp.act = asked
  const swallowed = stage.driver.load(stage.callbacks('email', SWALLOWED), SWALLOWED)
  await met(SWALLOWED)
  await swallowed
  const fresh = stage.callbacks('email', BEHIND)
  await stage.driver.load(fresh, BEHIND)
  const codes = new Set(fresh.map(each => each.code))
  const arrived = () => stage.arrivals().filter(each => codes.has(each.code))
  while (arrived().length < BEHIND) await pause(20)
  t.same(
    stage.events().filter(({ event, outcome }) => event === 'attempt' && outcome === 'ambiguous'),
    [],
    'all new mail arrived while the swallowed replies were waited for',
  )
  await stage.atRest()
  const found = await stage.finish()
  const count = SWALLOWED + BEHIND
  t.match(found, { answered: count, delivered: count, lost: 0, unknown: 0, ambiguous: SWALLOWED })
  t.match(found, { states: { sent: count } })
  t.equal(found.copies, SWALLOWED / 2, 'one copy of each that had been taken')
})
