import t from 'tap'
import { createAwaitedReports, IN_TIME_MS } from '../../src/delivery/awaited-reports.ts'

const HOUR = 60 * 60_000

t.test('a report is late once, in the order of sending, and is waited for on', async t => {
  const awaited = createAwaitedReports()
  for (const [n, id] of ['a', 'b', 'c'].entries()) awaited.add(id, `carrier-${id}`, n)
  t.equal(awaited.take('b')?.provider, 'carrier-b')
  t.equal(awaited.take('b'), undefined, 'one report for each')
  t.same(awaited.takeLate(IN_TIME_MS), [])
  t.same(awaited.takeLate(IN_TIME_MS + 1), [{ provider: 'carrier-a', sentAt: 0 }])
  t.same(awaited.takeLate(IN_TIME_MS + 3), [{ provider: 'carrier-c', sentAt: 2 }])
  t.equal(awaited.take('a')?.sentAt, 0)
})

t.test('after an hour it is not waited for any more', async t => {
  const awaited = createAwaitedReports()
  for (const [n, id] of ['a', 'b'].entries()) awaited.add(id, 'x', n)
  awaited.takeLate(HOUR + 1)
  t.equal(awaited.take('a'), undefined)
  t.ok(awaited.take('b'))
})

t.test('of very many a part stands for all', async t => {
  const awaited = createAwaitedReports()
  for (let n = 0; n < 6000; n += 1) awaited.add(String(n), 'x', n < 3000 ? 0 : IN_TIME_MS + 1)
  t.equal(awaited.takeLate(IN_TIME_MS + 1).length, 3000)
  awaited.add('one more', 'x', IN_TIME_MS + 1)
  t.equal(awaited.take('one more'), undefined, 'those that are late count, too')
  t.equal(awaited.take('5000'), undefined)
  t.ok(awaited.take('4999'))
})
