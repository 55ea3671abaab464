import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { AMBIGUOUS, openRig, pause, REFUSED, SENT, until } from './rig.ts'

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
