import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { AMBIGUOUS, openRig, pause, REFUSED, SENT, until } from './rig.ts'

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
