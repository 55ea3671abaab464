import t from 'tap'
import { createEndOfTickBatch } from '../../src/runtime/event-loop.ts'

t.test('what is asked for in a turn is done at its end, all of it, in its order', async t => {
  const atEndOfTurn = createEndOfTickBatch()
  const done: number[] = []
  for (const n of [1, 2, 3]) atEndOfTurn(() => done.push(n))
  await Promise.resolve()
  t.same(done, [], 'not before')
  await new Promise(resolve => setImmediate(resolve))
  t.same(done, [1, 2, 3])
})

t.test('what is asked for meanwhile is done in the next', async t => {
  const atEndOfTurn = createEndOfTickBatch()
  const done: string[] = []
  atEndOfTurn(() => {
    done.push('first')
    atEndOfTurn(() => done.push('second'))
  })
  await new Promise(resolve => setImmediate(resolve))
  t.same(done, ['first'])
  await new Promise(resolve => setImmediate(resolve))
  t.same(done, ['first', 'second'])
})
