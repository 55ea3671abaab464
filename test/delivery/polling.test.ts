import t, { type Test } from 'tap'
import { createCarrier } from '../../src/delivery/carrier.ts'
import { createDelivery } from '../../src/delivery/delivery.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { createEmitter } from '../../src/events/events.ts'
import type { Outcome } from '../../src/providers/provider.ts'
import { NOON, sample } from '../outbox/samples.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'
import { createModelOutbox } from './model-outbox.ts'
import { rendered, SENT } from './rig.ts'

/** A channel that looks each 500 ms, and each 1250 ms at a store that is empty. */
function open(t: Test, outcomes: readonly Outcome[] = []) {
  const time = enterVirtualTime(t)
  const clock = { now: () => NOON + time.now() }
  const { outbox } = createModelOutbox(clock.now, async work => work())
  /** When the store was asked for messages, ms from the start. */
  const claimed: number[] = []
  const taken: number[] = []
  const signals: AbortSignal[] = []
  const left = [...outcomes]
  const carrier = createCarrier(
    {
      name: 'smtp',
      channel: 'email',
      concurrency: 2,
      async send(_outgoing, signal) {
        taken.push(time.now())
        signals.push(signal)
        return left.shift() ?? SENT
      },
      verify: async () => ({ ok: true, detail: '' }),
      close: async () => {},
    },
    { clock, random: () => 0.5 },
  )
  let leases = 0
  const delivery = createDelivery({
    outbox: {
      ...outbox,
      claim(channel, limit, leaseMs) {
        if (channel === 'email' && limit > 0) claimed.push(time.now())
        return outbox.claim(channel, limit, leaseMs)
      },
    },
    clock,
    random: () => 0.5,
    verdicts: createVerdicts(),
    emit: createEmitter([{ fault: ({ error }) => t.fail(error.message) }]),
    channels: [{ channel: 'email', carriers: [carrier], route: () => [carrier], render: rendered }],
    leaseMs: 120_000,
    attemptWithinMs: 60_000,
    pollMs: 500,
    idlePollMs: 1250,
    leaseToken: () => `lease ${(leases += 1)}`,
  })
  let sent = 0
  /** Takes the road of a callback. */
  async function accept(): Promise<void> {
    const acceptance = sample(clock, { recipient: `r${(sent += 1)}@example.com`, purpose: 'link' })
    const lease = delivery.reservePlace('email', 'link')
    if (lease === undefined) throw new Error('there is no place')
    await outbox.accept([{ ...acceptance, lease }])
    delivery.submit({ message: acceptance.message, lease, outgoing: rendered(acceptance.message) })
  }
  return { time, delivery, claimed, taken, signals, accept }
}

t.test('what was sent since the last look leaves no other look behind', async t => {
  const { time, delivery, claimed, taken, accept } = open(t)
  delivery.start()
  await time.pass(100)
  for (let n = 0; n < 10; n += 1) {
    await accept()
    await time.pass(100)
  }
  t.equal(taken.length, 10)
  t.same(claimed, [0])
  await time.pass(3000)
  t.same(claimed, [0, 2250, 3500], 'the store was empty')
  await delivery.stop(0, 0)
})

t.test('a call that has ended in time is not aborted at its limit', async t => {
  const { time, delivery, signals, accept } = open(t)
  delivery.start()
  await time.pass(100)
  await accept()
  await time.pass(61_000)
  t.same(
    signals.map(({ aborted }) => aborted),
    [false],
  )
  await delivery.stop(0, 0)
})

t.test('what has a due time is claimed then, and until then the store is asked as usual', async t => {
  const later: Outcome = { is: 'limit', scope: 'recipient', code: '450', reply: '', retryAfterMs: 1200 }
  const { time, delivery, claimed, taken, accept } = open(t, [later])
  delivery.start()
  await time.pass(100)
  await accept()
  await time.pass(4000)
  t.same(taken, [100, 3800], 'after the carrier’s 1200 ms, and half of 5 s')
  t.same(claimed, [0, 600, 1100, 1600, 2100, 2600, 3100, 3600, 3800])
  await delivery.stop(0, 0)
})
