import t from 'tap'
import { createAdaptiveLifo, type QueueEntry } from '../../src/delivery/adaptive-lifo.ts'

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
  const next = () => queue.takeNext(now, codesOnly ? 'codes-alone' : 'codes-first', EQUAL)
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

t.test('there is a backlog once the oldest has waited for a second', async t => {
  const first = [999, 1000].map(now => drain(queueOf(code('old', 0), code('new', 1)), now)[0])
  t.same(first, ['old', 'new'])
})

t.test('a newer code of a group takes the place of an older one, never the other way round', async t => {
  const [first, second, third] = [code('1', 1, 'g'), code('2', 2, 'g'), code('3', 3, 'g')]
  const queue = queueOf(second)
  t.equal(queue.add(first, 1), first, 'it came too late')
  t.equal(queue.add(third, 3), second)
  t.equal(queue.length, 1)
  t.equal(queue.removeByGroup('g', 3), undefined, 'it came no earlier')
  const last = code('last', 3, 'g')
  t.equal(queue.add(last, 3), third, 'of one moment the last')
  t.equal(queue.removeByGroup('g', 4), last)
  t.equal(queue.removeByGroup('g'), undefined)
  t.equal(queue.length, 0)
  queue.add(first, 1)
  t.equal(queue.takeNext(1, 'codes-first', EQUAL), first)
  t.equal(queue.add(first, 1), undefined, 'what was taken is in nobody’s way')
})

t.test('what comes again waits since then: it makes no backlog', async t => {
  const queue = queueOf(code('new', 4900), link('other', 4900), link('next', 4950))
  queue.add(code('again', 0), 4800)
  t.same(drain(queue, 5000, true), ['again', 'new'])
  t.same(
    queue.removeWhere(({ message }) => message.purpose === 'link').map(({ name }) => name),
    ['other', 'next'],
  )
  t.same([queue.length, queue.waiting.size], [0, 0])
})

t.test('who ranks lower goes first, and who may not is passed over and hides nobody', async t => {
  const queue = queueOf(link('a1', 1, 'a'), link('a2', 2, 'a'), link('b', 3, 'b'), link('full', 0, 'full'))
  const held: Record<string, number> = { a: 0, b: 0, full: Infinity }
  const order: (string | undefined)[] = []
  for (let n = 0; n < 4; n += 1) {
    const taken = queue.takeNext(10, 'codes-first', ({ message }) => held[message.destination] ?? 0)
    order.push(taken?.name)
    if (taken !== undefined) held[taken.message.destination] = 1
  }
  t.same(order, ['a1', 'b', 'a2', undefined])
})
