import t from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'

const PROVIDER: Provider = {
  name: 'smtp',
  channel: 'email',
  concurrency: 10,
  send: async () => SENT,
  verify: async () => ({ ok: true, detail: '' }),
  close: async () => {},
}
const SENT: Outcome = { is: 'sent', reply: '250' }
const DENIED = {
  is: 'retry',
  whose: 'ours',
  code: '554 5.7.1',
  reply: 'relaying denied',
  scope: 'recipient',
} as const satisfies Outcome
const REFUSED: Outcome = { is: 'retry', whose: 'later', code: 'ECONNREFUSED', reply: '', untouched: true }

function open() {
  let now = 0
  const carrier = createCarrier(PROVIDER, { clock: { now: () => now }, random: () => 0.5 })
  return {
    carrier,
    pass(ms: number): void {
      now += ms
    },
    now: () => now,
    /** Makes an attempt of a message for this recipient that ends so. */
    attempt: (outcome: Outcome, recipient = 'ann@example.com') => carrier.begin(now).end(outcome, recipient),
  }
}

t.test('what one recipient meets, however often, is not ours to mend; what three meet is', async t => {
  const { attempt, carrier } = open()
  for (let n = 0; n < 10; n += 1) t.match(attempt(DENIED, 'a@x.test').outcome, { whose: 'later' })
  t.match(attempt(DENIED, 'b@x.test').outcome, { whose: 'later' })
  t.match(attempt({ ...DENIED, code: '550 5.7.1' }, 'c@x.test').outcome, { whose: 'later' }, 'another code')
  t.equal(carrier.mayAsk(undefined, 0), null, 'and its circuit is closed')
  t.same(attempt(DENIED, 'c@x.test').outcome, DENIED)
  t.same(attempt(DENIED, 'a@x.test').outcome, DENIED, 'for all of them from now on')
})

t.test('a message that is sent in between shows that the provider takes others', async t => {
  const { attempt } = open()
  for (let n = 0; n < 100; n += 1) {
    t.match(attempt(DENIED, `a${n}@x.test`).outcome, { whose: 'later' })
    t.match(attempt(DENIED, `b${n}@x.test`).outcome, { whose: 'later' })
    attempt(SENT)
  }
})

t.test('every other outcome stays what it is, and codes without end are no leak', async t => {
  const { attempt } = open()
  const ours: Outcome = { is: 'retry', whose: 'ours', code: '535', reply: 'no' }
  for (const outcome of [ours, { ...DENIED, whose: 'later' } as Outcome, SENT])
    t.same(attempt(outcome).outcome, outcome)
  for (let n = 0; n < 500; n += 1) attempt({ ...DENIED, code: `5${n}` })
})

t.test('one that keeps failing is left alone, then tried by one message', async t => {
  const { attempt, carrier, pass, now } = open()
  const circuits = [1, 2, 3, 4, 5].map(() => attempt(REFUSED).circuit)
  t.same(circuits, [null, null, null, null, 'open'])
  t.match(carrier.mayAsk(undefined, now()), { until: 2000, code: 'circuit-open' })
  t.match(carrier.standing(now()), { circuit: 'open', openUntil: 2000 })
  pass(2000)
  t.equal(carrier.mayAsk(undefined, now()), null)
  const trial = carrier.begin(now())
  t.match(carrier.mayAsk(undefined, now()), { until: 3000 }, 'one message tries it')
  trial.forget()
  t.equal(carrier.mayAsk(undefined, now()), null, 'a trial that never began is still to be made')
  t.equal(carrier.begin(now()).end(SENT, '').circuit, 'closed')
  t.match(carrier.standing(now()), { circuit: 'closed', openUntil: null, inFlight: 0 })
})

t.test('one that refuses one more, and takes those that are under way, is not down', async t => {
  const { carrier } = open()
  const crowded: Outcome = { ...REFUSED, code: '421', overload: 'connections' }
  const first = carrier.begin(0)
  for (let n = 0; n < 10; n += 1) carrier.begin(0).end(crowded, '')
  t.match(carrier.standing(0), { circuit: 'closed', inFlight: 1 })
  first.end(SENT, '')
})

t.test('what does not fit is not asked, until the operator has mended something', async t => {
  const carrier = createCarrier(
    { ...PROVIDER, fits: () => 'it has no template for it' },
    { clock: { now: () => 0 }, random: () => 0.5 },
  )
  const outgoing = { channel: 'email', id: '1', to: 'a@x.test', raw: Buffer.from(''), expiresAt: 1 } as const
  t.match(carrier.mayAsk(outgoing, 0), {
    until: null,
    code: 'no-carrier-fits',
    reply: 'it has no template for it',
  })
  t.equal(carrier.mayAsk(undefined, 0), null, 'but asked what became of a copy that it may have')
})
