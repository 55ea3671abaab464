import t, { type Test } from 'tap'
import type { TwilioFault, TwilioRequest } from '../../sandbox/carriers/twilio/server.ts'
import { counting, LONG, openStage, PATIENT, pause, QUICK, type Stage } from './stage.ts'

t.jobs = 4

const COUNT = LONG ? 400 : 40

function error(status: number, code: number, headers: Readonly<Record<string, string>> = {}): TwilioFault {
  const body = JSON.stringify({ code, message: 'not now', more_info: '', status })
  return { is: 'answer', status, body, headers }
}

async function under(
  t: Test,
  fault: (request: TwilioRequest) => TwilioFault | undefined,
  { count = COUNT, limits = PATIENT }: { count?: number; limits?: typeof QUICK } = {},
): Promise<Stage> {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '300', TWILIO_CONCURRENCY: '20' }, { limits })
  const { asked, met } = counting((request: TwilioRequest) =>
    request.method === 'POST' ? fault(request) : undefined,
  )
  stage.twilio.fault = asked
  const load = stage.driver.load(stage.callbacks('sms', count), 20)
  await met(5)
  await pause(1000)
  stage.twilio.fault = undefined
  await load
  await stage.atRest()
  return stage
}

for (const [name, fault] of Object.entries<TwilioFault>({
  'a 503 that Twilio reports itself': error(503, 20503),
  'a wrong token': error(401, 20003),
  'a sender that may not send': error(400, 21606),
})) {
  t.test(`${name}: everything arrives once when it has passed`, async t => {
    const stage = await under(t, () => fault)
    const { breaches, ...found } = await stage.finish()
    t.same(breaches, [])
    t.match(found, { answered: COUNT, delivered: COUNT, lost: 0, duplicated: 0, ambiguous: 0 })
  })
}

t.test('429 with Retry-After: each comes back no earlier than it was asked to, and arrives once', async t => {
  const refused = new Map<string, number>()
  const early: string[] = []
  const stage = await under(t, ({ form, at }) => {
    const to = form['To'] ?? ''
    const before = refused.get(to)
    if (before !== undefined && at < before + 2000) early.push(`${to} after ${at - before} ms`)
    if (before !== undefined) return undefined
    refused.set(to, at)
    return error(429, 20429, { 'retry-after': '2' })
  })
  t.ok(refused.size > 0)
  t.same(early, [])
  const { breaches, ...found } = await stage.finish()
  t.same(breaches, [])
  t.match(found, { answered: COUNT, delivered: COUNT, lost: 0, duplicated: 0, ambiguous: 0 })
})

for (const [name, fault, taken] of [
  ['a 500 that does not say whether it was processed', error(500, 20500), false],
  [
    'an HTML page from a gateway, 502',
    { is: 'answer', status: 502, body: '<html>Bad Gateway</html>' },
    false,
  ],
  ['a stall after accepting', { is: 'stall', accept: true }, true],
  ['a stall without accepting', { is: 'stall' }, false],
  ['a reset after accepting', { is: 'reset', accept: true }, true],
  ['a reset without accepting', { is: 'reset' }, false],
  ['half an answer', { is: 'half', reset: true }, true],
] as const satisfies readonly (readonly [string, TwilioFault, boolean])[]) {
  t.test(`${name}: at most one copy more, and only where nobody could know`, async t => {
    const stage = await under(t, () => fault, { count: 20, limits: QUICK })
    const { breaches, ...found } = await stage.finish()
    t.same(breaches, [])
    t.match(found, { answered: 20, lost: 0 })
    t.ok(found.ambiguous > 0, 'the attempts are on record as ambiguous')
    if (taken) t.ok(found.duplicated > 0, 'nobody could know')
    else t.equal(found.duplicated, 0)
    t.equal(found.delivered, 20 - found.unknownNotArrived)
  })
}

t.test('a Twilio that is gone: everything arrives once when it is back', async t => {
  const { createTwilioStandIn } = await import('../../sandbox/carriers/twilio/server.ts')
  const { ACCOUNT_SID, AUTH_TOKEN } = await import('../rigs/twilio-server.ts')
  const standIn = () => createTwilioStandIn({ accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN })
  const first = standIn()
  const { port } = await first.listen()
  const stage = await openStage(
    t,
    { ANSWER_WITHIN_MS: '300', TWILIO_API_URL: `http://127.0.0.1:${port}` },
    { limits: QUICK },
  )
  const load = stage.driver.load(stage.callbacks('sms', 200), 10)
  await pause(30)
  await first.close()
  await pause(2500)
  const second = standIn()
  await second.listen(port)
  await load
  await stage.atRest()
  await stage.service().close()
  await second.close()
  const numbers = [...first.messages, ...second.messages].map(each => each.to)
  t.ok(second.messages.length > 0)
  // What was on its way to the first one when it went is ambiguous, and may be there twice.
  t.equal(new Set(numbers).size, 200)
  t.ok(numbers.length - 200 <= first.messages.length)
})
