import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createAdaptiveLifo, type QueueEntry } from '../../src/delivery/adaptive-lifo.ts'

/** Another one each time, and printed; given to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
const RUNS = Number(process.env.RUNS ?? 1000)
t.comment(`SEED=${SEED}`)

interface Entry extends QueueEntry {
  readonly name: string
}

const code = (name: string, arrivedAt: number, groupKey = name): Entry => ({
  name,
  groupKey,
  message: { purpose: 'code', arrivedAt, destination: '' },
})
const link = (name: string, arrivedAt: number, destination = ''): Entry => ({
  name,
  message: { purpose: 'link', arrivedAt, destination },
})
const EQUAL = () => 0

/** A queue of these, each of which could have been sent since it arrived. */
function queueOf(...entries: readonly Entry[]) {
  const queue = createAdaptiveLifo<Entry>()
  for (const entry of entries) queue.add(entry, entry.message.arrivedAt)
  return queue
}

/** Takes all there is, at this moment. @returns their names in order. */
function drain(queue: ReturnType<typeof queueOf>, now: number, codesOnly = false): string[] {
  const names: string[] = []
  const next = () => queue.takeNext(now, codesOnly, EQUAL)
  for (let entry = next(); entry; entry = next()) names.push(entry.name)
  return names
}

t.test(
  'in a backlog every eighth place is for the oldest, and when it is gone the order is that of arrival again',
  async t => {
    const old = Array.from({ length: 3 }, (_, n) => code(`old ${n}`, n))
    const young = Array.from({ length: 30 }, (_, n) => code(`${n}`, 5000 + n))
    const order = drain(queueOf(...old, ...young), 5100)
    t.same(
      old.map(({ name }) => order.indexOf(name)),
      [7, 15, 23],
    )
    t.same(order.slice(0, 3), ['29', '28', '27'])
    t.same(order.slice(24), ['0', '1', '2', '3', '4', '5', '6', '7', '8'])
  },
)

t.test('a newer code of a group takes the place of an older one, never the other way round', async t => {
  const [first, second, third] = [code('1', 1, 'g'), code('2', 2, 'g'), code('3', 3, 'g')]
  const queue = queueOf(second)
  t.equal(queue.add(first, 1), first, 'it came too late')
  t.equal(queue.add(third, 3), second)
  t.equal(queue.length, 1)
  t.equal(queue.removeByGroup('g', 3), undefined, 'it came no earlier')
  t.equal(queue.removeByGroup('g', 4), third)
  t.equal(queue.removeByGroup('g'), undefined)
  t.equal(queue.length, 0)
  queue.add(first, 1)
  t.equal(queue.takeNext(1, false, EQUAL), first)
  t.equal(queue.add(first, 1), undefined, 'what was taken is in nobody’s way')
})

t.test('those that would be sent last leave first, in either order', async t => {
  const entries = [link('l1', 0), code('c2', 1), link('l3', 2), code('c4', 3)]
  for (const [now, order] of [
    [10, ['l3', 'l1', 'c4', 'c2', undefined]],
    [5000, ['l1', 'l3', 'c2', 'c4', undefined]],
  ] as const) {
    const queue = queueOf(...entries, link('other', 4, 'other'))
    t.same(
      order.map(() => queue.removeLast(now, '')?.name),
      order,
    )
    t.same([...queue.waiting], [['other', { all: 1, codes: 0 }]])
    t.equal(queue.removeLast(now)?.name, 'other')
  }
})

t.test('who ranks lower goes first, and who may not is passed over and hides nobody', async t => {
  const queue = queueOf(link('a1', 1, 'a'), link('a2', 2, 'a'), link('b', 3, 'b'), link('full', 0, 'full'))
  const held: Record<string, number> = { a: 0, b: 0, full: Infinity }
  const order: (string | undefined)[] = []
  for (let n = 0; n < 4; n += 1) {
    const taken = queue.takeNext(10, false, ({ message }) => held[message.destination] ?? 0)
    order.push(taken?.name)
    if (taken !== undefined) held[taken.message.destination] = 1
  }
  t.same(order, ['a1', 'b', 'a2', undefined])
})

/** The same queue, as it is described: everything in one list that is sorted when it is asked. */
function createModel() {
  let all: { readonly entry: Entry; readonly since: number; readonly order: number }[] = []
  let order = 0
  const taken = { code: 0, link: 0 }
  const of = (purpose: string) =>
    all
      .filter(({ entry }) => (entry.message.purpose === 'code') === (purpose === 'code'))
      .toSorted((a, b) => a.entry.message.arrivedAt - b.entry.message.arrivedAt || a.order - b.order)
      .map(({ entry, since }) => ({ entry, since }))
  const drop = (entry: Entry | undefined): Entry | undefined => {
    all = all.filter(each => each.entry !== entry)
    return entry
  }
  function take(purpose: 'code' | 'link', now: number): Entry | undefined {
    const line = of(purpose)
    const oldest = line[0]
    if (oldest === undefined) {
      taken[purpose] = 0
      return undefined
    }
    taken[purpose] = now - oldest.since >= 1000 ? taken[purpose] + 1 : 0
    return drop((taken[purpose] % 8 === 0 ? oldest : line.at(-1))?.entry)
  }
  const inGroup = (groupKey: string) => all.find(({ entry }) => entry.groupKey === groupKey)?.entry
  return {
    size: () => all.length,
    add(entry: Entry, since: number): Entry | undefined {
      const older = entry.groupKey === undefined ? undefined : inGroup(entry.groupKey)
      if (older !== undefined && older.message.arrivedAt > entry.message.arrivedAt) return entry
      drop(older)
      all.push({ entry, since, order: (order += 1) })
      return older
    },
    take: (now: number, codesOnly: boolean) =>
      take('code', now) ?? (codesOnly ? undefined : take('link', now)),
    removeByGroup: (groupKey: string) => drop(inGroup(groupKey)),
    removeWhere(when: (entry: Entry) => boolean) {
      const gone = all.filter(({ entry }) => when(entry)).map(({ entry }) => entry)
      for (const entry of gone) drop(entry)
      return gone
    },
  }
}

t.test('whatever happens, it does what its description says', async t => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constant('add' as const),
        old: fc.constantFrom(0, 0, 1, 500, 1500),
        group: fc.nat(6),
        isCode: fc.boolean(),
        retry: fc.boolean(),
      }),
    },
    { weight: 5, arbitrary: fc.record({ does: fc.constant('take' as const), codesOnly: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('remove group' as const), group: fc.nat(6) }) },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constant('sweep' as const), share: fc.integer({ min: 2, max: 5 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 300, 700) }),
    },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), steps => {
      const queue = createAdaptiveLifo<Entry>()
      const model = createModel()
      let now = 10_000
      for (const [n, each] of steps.entries()) {
        if (each.does === 'wait') now += each.ms
        else if (each.does === 'add') {
          const arrivedAt = now - each.old
          // Some codes have no group.
          const grouped = code(`${n}`, arrivedAt, `${each.group}`)
          const entry = !each.isCode
            ? link(`${n}`, arrivedAt)
            : each.group === 0
              ? { ...link(`${n}`, arrivedAt), message: grouped.message }
              : grouped
          const since = each.retry ? now : arrivedAt
          assert.equal(queue.add(entry, since), model.add(entry, since))
        } else if (each.does === 'take')
          assert.equal(queue.takeNext(now, each.codesOnly, EQUAL), model.take(now, each.codesOnly))
        else if (each.does === 'remove group')
          assert.equal(queue.removeByGroup(`${each.group}`), model.removeByGroup(`${each.group}`))
        else {
          const leaves = ({ name }: Entry): boolean => Number(name) % each.share === 0
          assert.deepEqual(new Set(queue.removeWhere(leaves)), new Set(model.removeWhere(leaves)))
        }
        assert.equal(queue.length, model.size())
      }
      assert.deepEqual(
        queue.codes + queue.removeWhere(entry => entry.message.purpose !== 'code').length,
        model.size(),
      )
    }),
    { seed: SEED, numRuns: RUNS },
  )
  t.pass()
})
