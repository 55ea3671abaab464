import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { AMBIGUOUS, failFour, openRig, pause, REFUSED, SENT, until } from './rig.ts'

t.test('a trial that is one too many is made again once there is a place', async t => {
  const rig = await openRig(t, { concurrency: 2 })
  const { delivery, provider, accept, events, clock } = rig
  delivery.start()
  await failFour(rig)
  await accept({ code: 'stays' })
  await accept({ code: 'fails' })
  await until('both are being sent', () => provider.asked.length === 6)
  provider.asked[5]?.answer(REFUSED)
  await until('it opens', () => events.includes('breaker open'))
  await pause(50)
  clock.advance(5000)
  await until('one tries', () => provider.asked.length === 7)
  const tooMany = {
    is: 'retry',
    whose: 'later',
    code: '421',
    reply: quote('421 too many'),
    untouched: true,
  } as const
  provider.asked[6]?.answer({ ...tooMany, overload: 'connections' })
  await until('it was one too many', () => events.filter(each => each === 'attempt retry').length === 6)
  provider.respond = () => SENT
  clock.advance(2000)
  provider.asked[4]?.answer(AMBIGUOUS)
  await until('it closes', () => events.includes('breaker closed'))
})
