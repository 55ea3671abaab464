import t from 'tap'
import { createLogThrottle } from '../../src/runtime/log-throttle.ts'

t.test('a thing is said at once, then once a minute with how often it happened', async t => {
  let now = 0
  const said: string[] = []
  const repeated = createLogThrottle(() => now)
  const happen = (what: string) => repeated(what, times => said.push(`${what} ${times}`))
  for (let n = 0; n < 1000; n += 1) happen('a')
  happen('b')
  t.same(said, ['a 1', 'b 1'])
  now = 59_999
  happen('a')
  t.equal(said.length, 2)
  now = 60_000
  happen('a')
  happen('a')
  t.same(said, ['a 1', 'b 1', 'a 1001'])
  now = 120_000
  happen('a')
  t.equal(said[3], 'a 2')
})

t.test('with a burst, so many times a minute', async t => {
  let now = 0
  const said: number[] = []
  const repeated = createLogThrottle(() => now, 3)
  for (let n = 0; n < 10; n += 1) repeated('a', times => said.push(times))
  t.same(said, [1, 1, 1])
  now = 60_000
  for (let n = 0; n < 10; n += 1) repeated('a', times => said.push(times))
  t.same(said, [1, 1, 1, 8, 1, 1])
})

t.test(
  'what happened several times at once counts so often; without end many things are forgotten',
  async t => {
    const said: string[] = []
    const throttle = createLogThrottle(() => 0)
    const happen = (what: string, times?: number) =>
      throttle(what, count => said.push(`${what} ${count}`), times)
    happen('many', 5)
    for (let n = 1; n < 500; n += 1) happen(`c${n}`)
    happen('many')
    t.same([said[0], said.length], ['many 5', 500])
    happen('one more')
    happen('many')
    t.same(said.slice(500), ['one more 1', 'many 1'])
  },
)
