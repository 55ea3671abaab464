import t, { type Test } from 'tap'
import { createSettler } from '../../src/delivery/settle.ts'
import { createVerdicts } from '../../src/delivery/verdicts.ts'
import { quote } from '../../src/language/sentence.ts'
import { type Outbox, type Settled, type Settlement, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { sample, testClock } from '../outbox/samples.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'
import { openBusy, rendered, SENT, until } from './rig.ts'

/** A store whose calls fail while `down`. */
function failing() {
  const state = { down: false, settles: 0, claims: 0 }
  const fail = () => Promise.reject(new StoreUnavailable(quote('the store cannot commit now')))
  return {
    state,
    between: (outbox: Outbox) => ({
      settle: (...given: Parameters<typeof outbox.settle>) => {
        state.settles += 1
        return state.down ? fail() : outbox.settle(...given)
      },
      claim: (...given: Parameters<typeof outbox.claim>) => {
        state.claims += 1
        return state.down ? fail() : outbox.claim(...given)
      },
    }),
  }
}

t.test('while an end cannot be written nothing is claimed or begun; then all goes on', async t => {
  const { state, between } = failing()
  const rig = await openBusy(t, { concurrency: 2, between })
  const { clock, delivery, provider, store, view, events, outbox, first } = rig
  const { message } = sample(clock)
  const lease = delivery.reservePlace('email', 'code', message.destination)
  state.down = true
  provider.asked[0]?.answer(SENT)
  await until('writing has failed', () => events.includes('store-failed settle'))
  const claims = state.claims
  await store({ code: 'waits' })
  delivery.wake('email')
  delivery.submit({ message, lease, outgoing: rendered(message), groupKey: undefined })
  t.equal(delivery.reservePlace('email', 'code', ''), undefined, 'no place: it goes to the store')
  await until('it is asked again', () => state.settles > 2)
  t.equal(provider.asked.length, 1, 'nothing is begun')
  t.equal(state.claims, claims, 'nothing is claimed')
  t.equal(events.filter(each => each === 'store-failed settle').length, 1, 'and said once')
  t.match(await view(first.message.id), { state: 'sending' })

  state.down = false
  provider.respond = () => SENT
  await until('all is sent', async () => (await outbox.queries.readSummary(0)).backlog.email === 0)
  t.match(await view(first.message.id), { state: 'sent', attempts: 1 })
  t.equal(provider.asked.length, 3)
  t.ok(provider.asked.some(({ id }) => id === message.id))
})

t.test('ending does not wait for ever for a store that cannot write', async t => {
  const { state, between } = failing()
  const { delivery, provider, view, first } = await openBusy(t, { between })
  state.down = true
  provider.asked[0]?.answer(SENT)
  await delivery.stop(100, 100)
  t.match(await view(first.message.id), { state: 'sending' }, 'its lease is what is left')
})

/** A settler over a store that fails so often, and then has this to say. */
function open(t: Test, failures: number, settled: Settled | Error) {
  const time = enterVirtualTime(t)
  const clock = testClock()
  const log: unknown[] = []
  const { message } = sample(clock, { arrivedAt: clock.now() - 700 })
  const verdicts = createVerdicts()
  verdicts.wait(message.id, verdict => log.push(verdict))
  const settler = createSettler({
    outbox: {
      async settle() {
        failures -= 1
        log.push(`asked at ${time.now()}`)
        if (failures >= 0) throw new StoreUnavailable(quote('away'))
        if (settled instanceof Error) throw settled
        return settled
      },
    } as never,
    clock,
    verdicts,
    emit: event => log.push('error' in event ? event.type : event),
    onCaughtUp: () => log.push('caught up'),
  })
  const lease = { token: 'lease', until: 0 }
  const settle = (
    ran: boolean,
    settlement: Settlement = { to: 'final', state: 'refused', answer: 'content', providerId: 'P1' },
  ) => settler.settle({ message, lease, attempts: 1, ambiguous: 0 }, settlement, ran)
  return { ...message, time, settler, log, settle, fail: (often: number) => (failures = often) }
}

t.test(
  'a verdict is told at once; its end when the store has it, however late, and as the store has it',
  async t => {
    const { id, channel, kind, time, settler, log, settle } = open(t, 2, {
      state: 'superseded',
      answer: null,
    })
    const settled = settle(true)
    t.equal(settler.isBehind, false)
    await time.pass(60)
    t.equal(settler.isBehind, true)
    await time.pass(1000)
    t.equal(settler.isBehind, false)
    t.same(await settled, { state: 'superseded', answer: null })
    t.same(log, [
      { is: 'final', state: 'refused', answer: 'content' },
      'asked at 0',
      'store-failed',
      'asked at 50',
      'asked at 150',
      'caught up',
      { type: 'final', id, channel, kind, state: 'superseded', answer: null, tookMs: 700, providerId: 'P1' },
    ])
  },
)

t.test('of two ends that wait, the store is caught up with the last', async t => {
  const { time, settler, log, settle, fail } = open(t, 0, { state: 'queued' } as Settled)
  await settle(true)
  fail(3)
  const both = [settle(true), settle(true)]
  await time.pass(60)
  t.equal(settler.isBehind, true)
  await time.pass(1000)
  await Promise.all(both)
  t.same(log.slice(-4), ['asked at 50', 'asked at 50', 'asked at 150', 'caught up'])
})

t.test('what a store fails with that is no failure of a store is a bug, and is not tried again', async t => {
  const { log, settle } = open(t, 0, new Error('a bug'))
  await t.rejects(settle(false), { message: 'a bug' })
  t.same(log, ['asked at 0'])
})

t.test('what only waited took no time, and what goes on or was lost is no end', async t => {
  const { id, channel, kind, log, settle } = open(t, 0, { state: 'refused', answer: 'country' })
  await settle(false, { to: 'final', state: 'expired', answer: null })
  t.same(log.slice(1), [
    { is: 'final', state: 'refused', answer: 'country' },
    { type: 'final', id, channel, kind, state: 'refused', answer: 'country' },
  ])
  for (const state of ['queued', 'sending', 'lost'] as const) {
    const other = open(t, 0, { state, answer: null })
    t.match(await other.settle(false), { state })
    t.equal(other.log.length, 1)
  }
})

t.test('what the store has ended by itself is told, and what of it nobody can read', async t => {
  const { id, channel, kind, settler, log } = open(t, 0, { state: 'lost' })
  settler.reportEnded([
    { id, channel, kind, state: 'refused' },
    { id: 'b', channel, kind, state: 'expired' },
  ])
  t.same(log, [
    { is: 'final', state: 'refused', answer: 'content' },
    { type: 'final', id, channel, kind, state: 'refused', answer: 'content' },
    { type: 'unreadable', id, channel, kind },
    { type: 'final', id: 'b', channel, kind, state: 'expired', answer: null },
  ])
})

t.test('once a second in the end; what is given up is not told, and tried once more at most', async t => {
  const { time, settler, log, settle } = open(t, 1000, { state: 'lost' })
  const settled = settle(false)
  await time.pass(2600)
  settler.abandon()
  await time.pass(10_000)
  t.equal(await settled, null)
  t.same(log.splice(0, 4), ['asked at 0', 'store-failed', 'asked at 50', 'asked at 150'])
  t.same(log.slice(1), ['asked at 750', 'asked at 1550', 'asked at 2550', 'asked at 3550'])
})
