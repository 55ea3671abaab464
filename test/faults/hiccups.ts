import type { Test } from 'tap'
import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import type { TwilioRequest } from '../../sandbox/carriers/twilio.ts'
import type { ServiceOptions } from '../../src/service/service.ts'
import type { SmtpAct, SmtpMoment } from '../rigs/smtp-server.ts'
import { counting, openStage, pause, type Stage } from './stage.ts'

export interface HiccupRun {
  /** How long it lasts once it was met, ms. */
  readonly lastsMs: number
  /** Limits and pauses; the usual ones unless given. */
  readonly options: ServiceOptions
}

const COUNT = 40
/** What a hiccup may cost: copies beyond the first, a message on average. */
const COPIES = 2

export const USUAL: HiccupRun = { lastsMs: 3000, options: { repeatPausesMs: undefined } }

function error(status: number, code: number): Omit<Extract<CarrierFault, { is: 'answer' }>, 'accept'> {
  return { is: 'answer', status, body: JSON.stringify({ code, message: 'not now', more_info: '', status }) }
}

function page(status: number): ReturnType<typeof error> {
  const headers = { 'content-type': 'text/html' }
  return { is: 'answer', status, body: `<html><h1>${status}</h1></html>`, headers }
}

const TWILIO = {
  'an error that does not say whether it was processed, 500': error(500, 20500),
  'an HTML page of a gateway, 502': page(502),
  'an HTML page of a gateway, 503': page(503),
  'a 503 that Twilio reports itself': error(503, 20503),
} as const

/** Forty codes under a hiccup of the carrier, each of its flavours against a service of its own. */
export function playHiccups(t: Test, { lastsMs, options }: HiccupRun): void {
  for (const [name, fault] of Object.entries(TWILIO))
    t.test(`Twilio: ${name}`, async t => {
      const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, options)
      let posts = 0
      // Every third is taken, but for the error by which Twilio says itself that it was not.
      const mayBeTaken = !fault.body.includes('20503')
      const { asked, met } = counting(({ method }: TwilioRequest): CarrierFault => {
        if (method === 'POST') posts += 1
        return { ...fault, accept: method === 'POST' && mayBeTaken && posts % 3 === 0 }
      })
      stage.twilio.fault = asked
      const load = stage.driver.load(stage.callbacks('sms', COUNT), COUNT)
      await met(5)
      await pause(lastsMs)
      stage.twilio.fault = undefined
      await load
      t.equal(await allDelivered(t, stage), 0, 'it is asked first, so nobody gets a copy')
    })

  t.test('SMTP: the connection is cut after the dot', async t => {
    const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, options)
    let dots = 0
    const { asked, met } = counting(({ step }: SmtpMoment): SmtpAct | undefined => {
      if (step !== 'dot') return undefined
      dots += 1
      return { is: 'drop', accept: dots % 3 === 0 }
    })
    stage.smtp.act = asked
    const load = stage.driver.load(stage.callbacks('email', COUNT), COUNT)
    await met(5)
    await pause(lastsMs)
    stage.smtp.act = undefined
    await load
    t.ok((await allDelivered(t, stage)) > 0, 'nobody can be asked')
  })
}

/** @returns how many copies beyond the first have arrived. */
async function allDelivered(t: Test, stage: Stage): Promise<number> {
  await stage.atRest()
  const { breaches, rows, copies, ...found } = await stage.finish()
  t.same(breaches, [], 'each copy is explained by the timeline')
  t.match(found, { answered: COUNT, delivered: COUNT, lost: 0, unknown: 0, states: { sent: COUNT } })
  t.ok(copies <= COPIES * COUNT, `${copies} copies beyond the first`)
  const slowest = Math.max(...rows.map(row => (row.timeline.at(-1)?.at ?? 0) - row.arrivedAt))
  const ambiguous = rows.filter(row => row.timeline.some(each => each.outcome === 'ambiguous')).length
  t.comment(`${ambiguous} met it without an end, ${copies} copies, the last one went out after ${slowest} ms`)
  return copies
}
