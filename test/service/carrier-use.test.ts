import t from 'tap'
import type { ServiceEvent } from '../../src/events/events.ts'
import { type Charge, type ChargedUse, StoreUnavailable } from '../../src/outbox/outbox.ts'
import type { Outcome, Provider } from '../../src/providers/provider.ts'
import { createCarrierUse } from '../../src/service/carrier-use.ts'
import { outgoingSms } from '../providers/sms.ts'

const SENT: Outcome = { is: 'sent', reply: '' }
const CHARGED: ChargedUse = { is: 'charged', windows: [['w', 0]], nearing: [], full: [] }

/** Two carriers, `a` before `b`, each with a quota of 10, and a store that says what a test wants. */
function startRig() {
  const rig = {
    now: 0,
    outcome: SENT,
    answer: () => CHARGED as ChargedUse | { is: 'over-quota'; quota: string; retryAfterSeconds: number },
    charged: [] as (readonly Charge[])[],
    refunded: 0,
    sent: 0,
    events: [] as ServiceEvent[],
  }
  const provider = (name: string): Provider => ({
    name,
    channel: 'sms',
    concurrency: 1,
    async send() {
      rig.sent += 1
      return rig.outcome
    },
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  })
  const providers = ['a', 'b'].map(provider)
  const use = createCarrierUse({
    providers,
    routes: new Map([['*', ['a', 'b']]]),
    costs: new Map(['a', 'b'].map((name, at) => [name, new Map([['*', 100 * (at + 1)]])])),
    perDay: new Map(['a', 'b'].map(name => [name, 10])),
    costPerDay: 5000,
    quotas: {
      async chargeUse(charges) {
        rig.charged.push(charges)
        return rig.answer()
      },
      async refundUse() {
        rig.refunded += 1
      },
    },
    clock: { now: () => rig.now },
    emit: event => rig.events.push(event),
  })
  const [a, b] = providers.map(use.wrapProvider)
  if (a === undefined || b === undefined) throw new Error('no carriers')
  const send = (to: Provider) => to.send(outgoingSms(), new AbortController().signal)
  return Object.assign(rig, { use, a, b, send })
}

t.test('what was sent, or may have been, stays counted; what surely was not is taken back', async t => {
  const rig = startRig()
  for (const [outcome, refunds] of [
    [SENT, 0],
    [{ is: 'ambiguous', code: 'x', reply: '' }, 0],
    [{ is: 'retry', whose: 'later', code: 'x', reply: '' }, 1],
    [{ is: 'rejected', why: 'recipient', code: 'x', reply: '' }, 2],
    [{ is: 'limit', scope: 'number', code: 'x', reply: '', retryAfterMs: 1 }, 3],
  ] as const) {
    rig.outcome = outcome
    t.equal(await rig.send(rig.a), outcome)
    t.equal(rig.refunded, refunds, outcome.is)
  }
  t.equal(rig.events.filter(({ type }) => type === 'sms-cost').length, 2)
})

t.test('each is counted at its own carrier, and its price beyond that of the first', async t => {
  const rig = startRig()
  await rig.send(rig.a)
  await rig.send(rig.b)
  t.match(rig.charged, [
    [{ quota: 'sms-carrier-day', bucket: 'carrier:a' }],
    [
      { quota: 'sms-carrier-day', bucket: 'carrier:b' },
      { quota: 'sms-cost-day', amount: 100 },
    ],
  ])
  t.equal(rig.charged[0]?.length, 1, 'the price of the first was counted when it was accepted')
})

t.test('one that is full sends nothing, and is known to be until it has room again', async t => {
  const rig = startRig()
  rig.answer = () => ({ ...CHARGED, full: [{ quota: 'sms-carrier-day', seconds: 60 }] })
  await rig.send(rig.a)
  t.equal(rig.a.fullUntil?.(), 60_000, 'after the last one that it had room for')
  t.match(rig.use.expectUse(outgoingSms()), { fullCarrier: undefined, cost: 100 }, 'the other one has room')
  rig.answer = () => ({ is: 'over-quota', quota: 'sms-carrier-day', retryAfterSeconds: 30 })
  t.match(await rig.send(rig.b), { is: 'limit', scope: 'account', retryAfterMs: 30_000 })
  t.equal(rig.sent, 1)
  t.match(rig.events.at(-1), { type: 'over-quota', quota: 'sms-carrier-day' })
  t.match(rig.use.expectUse(outgoingSms()), { fullCarrier: 'a' })
  rig.now = 60_000
  t.equal(rig.a.fullUntil?.(), null)
  rig.answer = () => ({ is: 'over-quota', quota: 'sms-cost-day', retryAfterSeconds: 30 })
  t.match(await rig.send(rig.b), { is: 'limit', code: 'sms-cost-day' })
  t.equal(rig.b.fullUntil?.(), null, 'no money says nothing of the carrier')
})

t.test('while the store cannot count nothing is sent', async t => {
  const rig = startRig()
  rig.answer = () => {
    throw new StoreUnavailable('down')
  }
  t.match(await rig.send(rig.a), { is: 'retry', untouched: true, code: 'aborted' })
  t.equal(rig.sent, 0)
})
