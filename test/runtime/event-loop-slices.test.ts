import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createTimeSlices, createUnreadClock } from '../../src/runtime/event-loop.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

t.test('a turn of the event loop spends a slice; the rest comes in the next turns, in order', async t => {
  let now = 0
  const done: number[] = []
  const inSlices = createTimeSlices(10, () => now)
  const add = (n: number, ms: number) =>
    inSlices(() => {
      now += ms
      done.push(n)
    })
  for (let n = 0; n < 10; n += 1) add(n, 4)
  await Promise.resolve()
  t.same(done, [0, 1, 2], 'at once, until the slice is spent')
  await turn()
  t.same(done, [0, 1, 2, 3, 4, 5])
  add(10, 1)
  t.same(done.length, 6, 'nobody overtakes')
  await turn()
  await turn()
  t.same(done, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  await turn()
  add(11, 4)
  t.equal(done.at(-1), 11, 'and at once again')
})

t.test('a task may bring more, which come after those that wait', async t => {
  let now = 0
  const done: string[] = []
  const inSlices = createTimeSlices(10, () => now)
  const task = (name: string, then?: () => void) => () => {
    now += 6
    done.push(name)
    then?.()
  }
  inSlices(task('a', () => inSlices(task('d'))))
  inSlices(task('b'))
  inSlices(task('c'))
  for (let n = 0; n < 4; n += 1) await turn()
  t.same(done, ['a', 'd', 'b', 'c'])
})

t.test('a single task that takes longer runs whole, and the next one in a turn of its own', async t => {
  let now = 0
  let done = 0
  const inSlices = createTimeSlices(10, () => now)
  for (let n = 0; n < 3; n += 1)
    inSlices(() => {
      now += 50
      done += 1
    })
  t.equal(done, 1)
  await turn()
  t.equal(done, 2)
  await turn()
  t.equal(done, 3)
})

t.test('slices give way, but not for long', async t => {
  const done: number[] = []
  let mustGiveWay = true
  const inSlices = createTimeSlices(
    10,
    () => 0,
    () => mustGiveWay,
  )
  inSlices(() => done.push(1))
  for (let turns = 0; turns < 10; turns += 1) await turn()
  t.same(done, [], 'it waits')
  mustGiveWay = false
  await turn()
  await turn()
  t.same(done, [1])
  mustGiveWay = true
  inSlices(() => done.push(2))
  for (let turns = 0; turns < 70; turns += 1) await turn()
  t.same(done, [1, 2], 'in a turn of its own at last')
})

t.test('what is read after a long turn may have lain unread for all of it', async t => {
  const time = enterVirtualTime(t)
  let stoodMs = 0
  const clock = createUnreadClock(20, () => time.now() + stoodMs)
  t.teardown(clock.stop)
  time.tick(100)
  t.equal(clock.mostUnreadMs(), 20)
  stoodMs = 300
  t.equal(clock.mostUnreadMs(), 320)
  time.tick(20)
  t.equal(clock.mostUnreadMs(), 320, 'the first beat after it says nothing of what came before')
  time.tick(20)
  t.equal(clock.mostUnreadMs(), 20)
})
