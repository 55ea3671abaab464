import type { Test } from 'tap'
import type { ServiceOptions } from '../../src/service/service.ts'
import type { SmtpMoment } from '../rigs/smtp-server.ts'
import { counting, openStage, PATIENT, pause } from './stage.ts'

export interface SwallowedRun {
  /** How long a reply is waited for in all, ms. */
  readonly replyMs: number
  readonly options: ServiceOptions
}

/** As many as are sent at once at first: they hold every place. */
const SWALLOWED = 10
const BEHIND = 50

/** A mail server swallows ten replies after the dot: all places wait for them, and new mail must not. */
export function playSwallowedReplies(t: Test, { replyMs, options }: SwallowedRun): void {
  t.test('new mail flows again once the patience with ten swallowed replies is over', async t => {
    // A busy machine may hold up any step but the one that is tried.
    const limits = {
      ...PATIENT,
      smtp: { connectMs: 15_000, greetingMs: 15_000, commandMs: 15_000, replyMs },
    }
    const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, { ...options, limits })
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
    const { breaches, ...found } = await stage.finish()
    const count = SWALLOWED + BEHIND
    t.same(breaches, [], 'each copy is explained by the timeline')
    t.match(found, { answered: count, delivered: count, lost: 0, unknown: 0, ambiguous: SWALLOWED })
    t.match(found, { states: { sent: count } })
    t.equal(found.copies, SWALLOWED / 2, 'one copy of each that had been taken')
  })
}
