import type { Test } from 'tap'
import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import type { TwilioRequest } from '../../sandbox/carriers/twilio.ts'
import { ownHost } from '../rigs/own-host.ts'
import { counting, openStage, PATIENT, pause, QUICK, type Stage } from './stage.ts'

export interface TwilioRun {
  /** SMS of each load, and how long a fault goes on after it was met, ms. */
  readonly count: number
  readonly lastsMs: number
  /** SMS of the load in whose middle Twilio goes, and for how long it stays away, ms. */
  readonly load: number
  readonly awayMs: number
}

function error(status: number, code: number, headers: Readonly<Record<string, string>> = {}): CarrierFault {
  const body = JSON.stringify({ code, message: 'not now', more_info: '', status })
  return { is: 'answer', status, body, headers }
}

const PASSING = {
  'a 503 that Twilio reports itself': error(503, 20503),
  'a wrong token': error(401, 20003),
  'a sender that may not send': error(400, 21606),
} satisfies Readonly<Record<string, CarrierFault>>

/** After these nobody knows whether the SMS was taken; `taken`: it was. */
const UNCLEAR = {
  'a 500 that does not say whether it was processed': { fault: error(500, 20500), taken: false },
  'an HTML page from a gateway, 502': {
    fault: { is: 'answer', status: 502, body: '<html>Bad Gateway</html>' },
    taken: false,
  },
  'a stall after accepting': { fault: { is: 'stall', accept: true }, taken: true },
  'a stall without accepting': { fault: { is: 'stall' }, taken: false },
  'a reset after accepting': { fault: { is: 'reset', accept: true }, taken: true },
  'a reset without accepting': { fault: { is: 'reset' }, taken: false },
  'half an answer': { fault: { is: 'half', reset: true }, taken: true },
} as const satisfies Readonly<Record<string, { fault: CarrierFault; taken: boolean }>>

async function under(
  t: Test,
  fault: (request: TwilioRequest) => CarrierFault | undefined,
  { count, lastsMs, limits }: { count: number; lastsMs: number; limits: typeof QUICK },
): Promise<Stage> {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, { limits })
  const { asked, met } = counting((request: TwilioRequest) =>
    request.method === 'POST' ? fault(request) : undefined,
  )
  stage.twilio.fault = asked
  const load = stage.driver.load(stage.callbacks('sms', count), 20)
  await met(5)
  await pause(lastsMs)
  stage.twilio.fault = undefined
  await load
  await stage.atRest()
  return stage
}

/** Plays Twilio's faults, each against a service of its own. */
export function playTwilioFaults(t: Test, { count, lastsMs, load, awayMs }: TwilioRun): void {
  for (const [name, fault] of Object.entries<CarrierFault>(PASSING)) {
    t.test(`${name}: everything arrives once when it has passed`, async t => {
      const stage = await under(t, () => fault, { count, lastsMs, limits: PATIENT })
      const { breaches, ...found } = await stage.finish()
      t.same(breaches, [])
      t.match(found, { answered: count, delivered: count, lost: 0, duplicated: 0, ambiguous: 0 })
    })
  }

  t.test(
    '429 with Retry-After: each comes back no earlier than it was asked to, and arrives once',
    async t => {
      const refused = new Map<string, number>()
      const early: string[] = []
      const fault = ({ form, at }: TwilioRequest) => {
        const to = form['To'] ?? ''
        const before = refused.get(to)
        if (before !== undefined && at < before + 2000) early.push(`${to} after ${at - before} ms`)
        if (before !== undefined) return undefined
        refused.set(to, at)
        return error(429, 20429, { 'retry-after': '2' })
      }
      const stage = await under(t, fault, { count, lastsMs, limits: PATIENT })
      t.ok(refused.size > 0)
      t.same(early, [])
      const { breaches, ...found } = await stage.finish()
      t.same(breaches, [])
      t.match(found, { answered: count, delivered: count, lost: 0, duplicated: 0, ambiguous: 0 })
    },
  )

  for (const [name, { fault, taken }] of Object.entries(UNCLEAR)) {
    t.test(`${name}: Twilio is asked what became of it, and nothing comes twice`, async t => {
      const stage = await under(t, () => fault, { count: 20, lastsMs, limits: QUICK })
      const { breaches, ...found } = await stage.finish()
      t.same(breaches, [])
      t.match(found, { answered: 20, lost: 0 })
      t.ok(found.ambiguous > 0, 'the attempts are on record as ambiguous')
      t.equal(found.duplicated, 0, taken ? 'Twilio was asked first' : 'nothing was taken')
      t.equal(found.delivered, 20 - found.unknownNotArrived)
    })
  }

  t.test('a Twilio that is gone: everything arrives once when it is back', async t => {
    const { createTwilioStandIn } = await import('../../sandbox/carriers/twilio.ts')
    const { ACCOUNT_SID, AUTH_TOKEN } = await import('../rigs/twilio-server.ts')
    const standIn = () => createTwilioStandIn({ accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN })
    const first = standIn()
    const host = ownHost()
    const { port } = await first.listen(0, host)
    const stage = await openStage(
      t,
      { ANSWER_WITHIN_MS: '300', TWILIO_API_URL: `http://${host}:${port}` },
      { limits: QUICK },
    )
    const answers = stage.driver.load(stage.callbacks('sms', load), 10)
    await pause(30)
    await first.close()
    await pause(awayMs)
    const second = standIn()
    await second.listen(port, host)
    await answers
    await stage.atRest()
    await stage.service().close()
    await second.close()
    const numbers = [...first.messages, ...second.messages].map(each => each.to)
    t.ok(second.messages.length > 0)
    // What was on its way to the first one when it went is ambiguous, and may be there twice.
    t.equal(new Set(numbers).size, load)
    t.ok(numbers.length - load <= first.messages.length)
  })
}
