import t from 'tap'
import { createClock, withTimeout } from '../../src/runtime/clock.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

t.test('time goes on from the wall clock’s at the start, whoever sets that later', async t => {
  let [wall, ticks] = [1_790_000_000_000, 5000]
  const clock = createClock(
    () => wall,
    () => ticks,
  )
  wall += 86_400_000
  ticks += 1234.6
  t.equal(clock.now(), 1_790_000_001_235)
})

t.test('a promise is waited for as long as that, and a fault of it is one', async t => {
  const { pass } = enterVirtualTime(t)
  const given: unknown[] = []
  for (const ms of [-1, 1000, 1001])
    void withTimeout(ms, new Promise<string>(resolve => setTimeout(resolve, 1000, 'value'))).then(value =>
      given.push(`${ms}: ${value}`),
    )
  await pass(2000)
  t.same(given, ['-1: undefined', '1000: value', '1001: value'])
  await t.rejects(withTimeout(1000, Promise.reject(new Error('broken'))), { message: 'broken' })
})
