import t, { type Test } from 'tap'
import type { CarrierFault } from '../../sandbox/carriers/api-server.ts'
import { createTwilioStandIn, type TwilioRequest } from '../../sandbox/carriers/twilio.ts'
import { ownHost } from '../rigs/own-host.ts'
import { ACCOUNT_SID, AUTH_TOKEN } from '../rigs/twilio-server.ts'
import { loadUnder, openStage, PATIENT, pause, QUICK, type Stage } from './stage.ts'

t.jobs = 4

/** SMS of a load whose attempts all have an end; of one whose attempts may have none; and of one in whose middle Twilio goes. */
const [COUNT, UNCLEAR_COUNT, LONG_LOAD] = [40, 20, 200]

function error(status: number, code: number, headers: Readonly<Record<string, string>> = {}) {
  const body = JSON.stringify({ code, message: 'not now', more_info: '', status })
  return { is: 'answer', status, body, headers } as const
}

const PASSING = {
  'a 503 that Twilio reports itself': error(503, 20503),
  'a wrong token': error(401, 20003),
  'a sender that may not send': error(400, 21606),
} satisfies Readonly<Record<string, CarrierFault>>

/** After these nobody knows whether the SMS was taken; `taken`: it was. */
const UNCLEAR = {
  'a 500 that does not say whether it was processed': { fault: error(500, 20500), taken: false },
  'the same after accepting': { fault: { ...error(500, 20500), accept: true }, taken: true },
  'an HTML page from a gateway, 502': {
    fault: { is: 'answer', status: 502, body: '<html>Bad Gateway</html>' },
    taken: false,
  },
  'an HTML page from a gateway, 503, after accepting': {
    fault: { is: 'answer', status: 503, body: '<html>Service Unavailable</html>', accept: true },
    taken: true,
  },
  'a stall after accepting': { fault: { is: 'stall', accept: true }, taken: true },
  'a stall without accepting': { fault: { is: 'stall' }, taken: false },
  'a reset after accepting': { fault: { is: 'reset', accept: true }, taken: true },
  'a reset without accepting': { fault: { is: 'reset' }, taken: false },
  'half an answer': { fault: { is: 'half', reset: true }, taken: true },
} as const satisfies Readonly<Record<string, { fault: CarrierFault; taken: boolean }>>

async function under(
  t: Test,
  count: number,
  limits: typeof QUICK,
  fault: (request: TwilioRequest) => CarrierFault | undefined,
): Promise<Stage> {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300' }, { limits })
  const onPost = (request: TwilioRequest) => (request.method === 'POST' ? fault(request) : undefined)
  await loadUnder(stage, stage.callbacks('sms', count), onPost, given => {
    stage.twilio.fault = given
  })
  return stage
}

const ONCE_EACH = { answered: COUNT, delivered: COUNT, lost: 0, duplicated: 0, ambiguous: 0 }

for (const [name, fault] of Object.entries<CarrierFault>(PASSING)) {
  t.test(`${name}: everything arrives once when it has passed`, async t => {
    const stage = await under(t, COUNT, PATIENT, () => fault)
    t.match(await stage.finish(), ONCE_EACH)
  })
}

t.test('429 with Retry-After: each comes back no earlier than it was asked to, and arrives once', async t => {
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
  const stage = await under(t, COUNT, PATIENT, fault)
  t.ok(refused.size > 0)
  t.same(early, [])
  t.match(await stage.finish(), ONCE_EACH)
})

for (const [name, { fault, taken }] of Object.entries(UNCLEAR)) {
  t.test(`${name}: Twilio is asked what became of it, and nothing comes twice`, async t => {
    const stage = await under(t, UNCLEAR_COUNT, QUICK, () => fault)
    const found = await stage.finish()
    t.match(found, { answered: UNCLEAR_COUNT, lost: 0 })
    t.ok(found.ambiguous > 0, 'the attempts are on record as ambiguous')
    t.equal(found.duplicated, 0, taken ? 'Twilio was asked first' : 'nothing was taken')
    t.equal(found.delivered, UNCLEAR_COUNT - found.unknownNotArrived)
  })
}

t.test('a Twilio that is gone: everything arrives once when it is back', async t => {
  const standIn = () => createTwilioStandIn({ accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN })
  const first = standIn()
  const host = ownHost()
  const { port } = await first.listen(0, host)
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '300', TWILIO_API_URL: `http://${host}:${port}` },
    { limits: QUICK },
  )
  const answers = stage.driver.load(stage.callbacks('sms', LONG_LOAD), 10)
  await pause(30)
  await first.close()
  await pause(2500)
  const second = standIn()
  await second.listen(port, host)
  await answers
  await stage.atRest()
  await stage.service().close()
  await second.close()
  const numbers = [...first.messages, ...second.messages].map(each => each.to)
  t.ok(second.messages.length > 0)
  // What was on its way to the first one when it went is ambiguous, and may be there twice.
  t.equal(new Set(numbers).size, LONG_LOAD)
  t.ok(numbers.length - LONG_LOAD <= first.messages.length)
})
