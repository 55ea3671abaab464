import { join } from 'node:path'
import t from 'tap'
import { createMaintenance } from '../../src/outbox/sqlite/maintenance.ts'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { NOON } from './samples.ts'

const DAY = 86_400_000
const MINUTE = NOON / 60_000

t.test('what counts no more is deleted step by step, and nothing else', t => {
  const db = openStore(join(t.testdir({}), 'outbox.db'))
  t.teardown(() => db.close())
  const { prune, isPruneDue } = createMaintenance(db, DAY)
  const counter = db.prepare('INSERT INTO quota_counters VALUES (?, 0, 1, 1, ?)')
  for (let n = 0; n < 1200; n += 1) counter.run(`c${10_000 + n}`, NOON + (n % 2))
  const memo = db.prepare("INSERT INTO memos VALUES (?, '1', ?)")
  for (const at of [0, 1]) memo.run(`m${at}`, NOON + at)
  const count = db.prepare("INSERT INTO counts VALUES (?, 'email', 'k', 'sent', 1)")
  for (const minute of [-1, 0, 1]) count.run(MINUTE - 1440 + minute)
  const read = (sql: string) => db.prepare(sql).all().map(Object.values)

  t.equal(isPruneDue(NOON), true, 'at the start')
  for (const left of [950, 700, 600]) {
    t.equal(isPruneDue(NOON), true, 'there is more')
    prune(NOON)
    t.same(read('SELECT minute FROM counts'), [[MINUTE - 1440], [MINUTE - 1439]])
    t.same(read('SELECT count(*) FROM quota_counters'), [[left]])
  }
  t.same(read('SELECT DISTINCT expires_at FROM quota_counters'), [[NOON + 1]])
  t.same(read('SELECT name FROM memos'), [['m1']])
  for (const [ms, isDue] of [
    [59_999, false],
    [60_000, true],
    [-59_999, false],
    [-60_000, true],
  ] as const)
    t.equal(isPruneDue(NOON + ms), isDue, `${ms} ms later`)
  const plan = read(
    'EXPLAIN QUERY PLAN SELECT name FROM memos WHERE expires_at <= 0 ORDER BY expires_at LIMIT 1',
  )
  t.match(plan.flat().at(-1), /^SEARCH memos .*\(expires_at</, 'memos that still count are not looked at')
  counter.run('a', NOON)
  prune(NOON)
  t.same(read("SELECT count(*) FROM quota_counters WHERE name = 'a'"), [[0]], 'it begins anew')
  t.end()
})
