import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { AMBIGUOUS, openRig, pause, REFUSED, SENT, until, verdictOn } from './rig.ts'

const health = { inARow: 3 }

t.test('a provider that keeps failing is left alone; what waited is given back, and is not lost', async t => {
  const { delivery, provider, verdicts, accept, events, clock, outbox } = await openRig(t, {
    concurrency: 1,
    health,
    random: () => 0.1234567,
  })
  provider.respond = undefined
  delivery.start()
  const waits = []
  for (let n = 0; n < 20; n += 1) {
    const { message } = (await accept({ code: `c${n}` })).acceptance
    waits.push(verdictOn(verdicts, message.id))
  }
  provider.respond = () => REFUSED
  provider.asked[0]?.answer(REFUSED)
  await until('it opens', () => events.includes('breaker open'))
  t.equal(provider.asked.length, 3)
  t.ok(
    (await Promise.all(waits)).every(each => each.is === 'pending'),
    'nobody waits for a verdict',
  )
  t.ok(delivery.isVerdictFar('email', ''))
  t.equal(delivery.reservePlace('email', 'code', ''), undefined)
  await until('all are in the store', () => delivery.status()[0]?.waiting === 0)
  await pause(60)
  t.equal(provider.asked.length, 3, 'nothing is tried meanwhile')
  provider.respond = () => SENT
  // Past the rest and the spread of what was given back.
  clock.advance(10_000)
  await until('all are sent', async () => (await outbox.queries.readSummary(0)).backlog.email === 0)
  t.ok(events.includes('breaker closed'))
  const sent = () => events.filter(each => each === 'final sent').length
  await until('each is said', () => sent() >= 20)
  t.equal(sent(), 20)
  t.equal(events.filter(each => each.startsWith('breaker')).length, 2, 'each change is said once')
})

t.test('a trial that hangs holds nobody up for long', async t => {
  const { delivery, provider, store, events, clock } = await openRig(t, {
    concurrency: 3,
    health: { inARow: 1, firstRestMs: 1000 },
    patienceMs: 100,
  })
  for (let n = 0; n < 3; n += 1) await store({ code: `c${n}` })
  provider.respond = () => REFUSED
  delivery.start()
  await until('it opens', () => events.includes('breaker open'))
  await pause(50)
  provider.respond = undefined
  const before = provider.asked.length
  clock.advance(5000)
  await until('one tries', () => provider.asked.length === before + 1)
  provider.respond = () => SENT
  await until('it has failed', () => delivery.status()[0]?.breaker === 'open')
  await pause(50)
  t.equal(provider.asked.length, before + 1, 'and a rest follows')
  clock.advance(5000)
  await until('another tries', () => provider.asked.length > before + 1)
  await until('it closes', () => events.includes('breaker closed'))
})

t.test('a trial whose beginning could not be noted is made again', async t => {
  let failing = false
  const { delivery, provider, store, events, clock } = await openRig(t, {
    concurrency: 1,
    health: { inARow: 1, firstRestMs: 1000 },
    between: outbox => ({
      beginAttempt(id, lease) {
        if (!failing) return outbox.beginAttempt(id, lease)
        failing = false
        return Promise.reject(new StoreUnavailable(quote('the store cannot commit now')))
      },
    }),
  })
  await store()
  provider.respond = () => REFUSED
  delivery.start()
  await until('it opens', () => events.includes('breaker open'))
  await pause(50)
  failing = true
  provider.respond = () => SENT
  clock.advance(5000)
  await until('it closes', () => events.includes('breaker closed'))
  t.ok(events.includes('store-failed begin'))
})

t.test('a trial that is one too many is made again once there is a place', async t => {
  const { delivery, provider, store, events, clock } = await openRig(t, {
    concurrency: 2,
    health: { inARow: 1, firstRestMs: 1000 },
  })
  provider.respond = undefined
  await store({ code: 'stays' })
  await store({ code: 'fails' })
  delivery.start()
  await until('both are being sent', () => provider.asked.length === 2)
  provider.asked[1]?.answer(REFUSED)
  await until('it opens', () => events.includes('breaker open'))
  await pause(50)
  clock.advance(5000)
  await until('one tries', () => provider.asked.length === 3)
  const tooMany = {
    is: 'retry',
    whose: 'later',
    code: '421',
    reply: quote('421 too many'),
    untouched: true,
  } as const
  provider.asked[2]?.answer({ ...tooMany, overload: 'connections' })
  await until('it was one too many', () => events.filter(each => each === 'attempt retry').length === 2)
  provider.respond = () => SENT
  clock.advance(2000)
  provider.asked[0]?.answer(AMBIGUOUS)
  await until('it closes', () => events.includes('breaker closed'))
})

t.test('once the trial has closed the circuit, a code in the store goes before what waits here', async t => {
  const { delivery, provider, store, events, clock } = await openRig(t, {
    concurrency: 2,
    health: { inARow: 1, firstRestMs: 1000 },
  })
  provider.respond = () => AMBIGUOUS
  await store({ code: 'code' })
  delivery.start()
  await until('it opens', () => events.includes('breaker open'))
  for (const code of ['link 1', 'link 2']) await store({ code, purpose: 'link' })
  provider.respond = undefined
  clock.advance(1000)
  await until('one tries', () => provider.asked.length === 2)
  await until('another waits', () => delivery.status()[0]?.waiting === 1)
  // Before the trial counts as one that hangs.
  clock.advance(4900)
  provider.respond = () => SENT
  provider.asked[1]?.answer(SENT)
  await until('all are sent', () => events.filter(each => each === 'final sent').length === 3)
  t.same(
    provider.asked.map(({ code }) => code),
    ['code', 'link 1', 'code', 'link 2'],
  )
})
