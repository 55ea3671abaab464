import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { createGroupCommit } from '../../src/outbox/group-commit.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'

/** Gathers numbers, which weigh what they are; says which of them ran together. */
function gather(run?: (calls: readonly number[]) => readonly (number | Error)[], max = 4) {
  const together: (readonly number[])[] = []
  const commits = createGroupCommit<number, number>({
    max,
    weight: call => call,
    async run(calls) {
      together.push(calls)
      return run?.(calls) ?? calls.map(call => call * 10)
    },
  })
  return { together, ...commits }
}

t.test('calls that come together run together as far as there is room, each with its answer', async t => {
  const { together, call } = gather()
  t.same(await Promise.all([2, 2, 1, 9, 3, 1].map(call)), [20, 20, 10, 90, 30, 10])
  t.same(together, [[2, 2], [1], [9], [3, 1]], 'one that is too large runs alone')
})

t.test('a value that is an error fails its own call', async t => {
  const { call } = gather(calls => calls.map(each => (each === 2 ? new Error('mine') : each)))
  t.match(await Promise.allSettled([1, 2, 1].map(call)), [
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: { message: 'mine' } },
    { status: 'fulfilled', value: 1 },
  ])
})

t.test('of many calls the one that fails by its own fault is found by halves', async t => {
  const bad = 7
  const { together, call } = gather(calls => {
    if (calls.includes(bad)) throw new Error('of one of them')
    return calls
  }, 1000)
  const ends = await Promise.allSettled(
    Array.from({ length: 256 }, (_, n) => call(n % 256 === 200 ? bad : 1)),
  )
  t.equal(ends.filter(({ status }) => status === 'rejected').length, 1)
  t.equal(together.length, 1 + 2 * 8)
})

t.test('when a run fails its calls are tried apart, but not when the store cannot be reached', async t => {
  for (const [error, runs] of [
    [new Error('of one of them'), [[1, 2, 1], [1, 2], [1], [2], [1]]],
    [new StoreUnavailable(quote('away')), [[1, 2, 1]]],
  ] as const) {
    const { together, call } = gather(calls => {
      if (calls.includes(2)) throw error
      return calls
    })
    const ends = await Promise.allSettled([1, 2, 1].map(call))
    const kept = runs.length > 1 ? 'fulfilled' : 'rejected'
    t.same(
      ends.map(({ status }) => status),
      [kept, 'rejected', kept],
    )
    t.same(together, runs)
  }
})
