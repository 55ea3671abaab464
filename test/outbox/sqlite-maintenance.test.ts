import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMaintenance } from '../../src/outbox/sqlite/maintenance.ts'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { createStore } from '../../src/outbox/sqlite/store.ts'
import { NOON, STORE, sample } from './samples.ts'

const DAY = 86_400_000
const MINUTE = NOON / 60_000

t.test('what counts no more is deleted step by step, and nothing else', async t => {
  const db = openStore(join(t.testdir({}), 'outbox.db'))
  t.teardown(() => db.close())
  const { prune, isPruneDue } = createMaintenance(db, DAY)
  const counter = db.prepare('INSERT INTO quota_counters VALUES (?, 0, 1, 1, ?)')
  for (let n = 0; n < 1200; n += 1) counter.run(`c${10_000 + n}`, NOON + (n % 2))
  const memo = db.prepare("INSERT INTO memos VALUES (?, '1', ?)")
  for (const at of [0, 1]) memo.run(`m${at}`, NOON + at)
  const count = db.prepare("INSERT INTO counts VALUES (?, 'email', 'k', 'sent', 1)")
  for (const minute of [-1, 0, 1]) count.run(MINUTE - 1440 + minute)
  const [figure, known] = ["figures VALUES (?, 'sms', 'k', 1)", 'known_numbers VALUES (?, 0, ?)'].map(into =>
    db.prepare(`INSERT INTO ${into}`),
  )
  for (const at of [-1, 0]) figure?.run(MINUTE / 15 - 200 + at)
  for (const at of [0, 1]) known?.run(`n${at}`, NOON + at)
  const read = (sql: string) => db.prepare(sql).all().map(Object.values)

  t.equal(isPruneDue(NOON), true, 'at the start')
  for (const left of [950, 700, 600]) {
    t.equal(isPruneDue(NOON), true, 'there is more')
    prune(NOON)
    t.same(read('SELECT minute FROM counts'), [[MINUTE - 1440], [MINUTE - 1439]])
    t.same(read('SELECT count(*) FROM quota_counters'), [[left]])
  }
  for (let n = 0; n < 600; n += 1) memo.run(`n${n}`, NOON)
  const due = [0, 1, 2, 3].map(() => [isPruneDue(NOON), prune(NOON)][0])
  t.same(due, [false, true, true, true], 'there may be more memos')
  t.same(read('SELECT DISTINCT expires_at FROM quota_counters'), [[NOON + 1]])
  t.same(read('SELECT name FROM memos'), [['m1']])
  t.same(read('SELECT recipient_hash FROM known_numbers'), [['n1']])
  t.same(read('SELECT quarter FROM figures'), [[MINUTE / 15 - 200]], 'of the last 50 hours')
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
})

t.test('a long log is moved into the file, and all of it is emptied when that is asked for', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const db = openStore(path)
  t.teardown(() => db.close())
  const { shortenWal, emptyWal } = createMaintenance(db, DAY)
  const moved = () => Number(db.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.['checkpointed'])
  const write = (pages: number) =>
    db.exec(`INSERT INTO memos VALUES ('${pages}', printf('%.*c', ${pages * 4096}, 'x'), 0)`)
  emptyWal()
  write(1900)
  shortenWal()
  t.equal(moved(), 0, 'that would hold up the next commit for little')
  write(120)
  shortenWal()
  t.ok(moved() >= 2000)
  t.ok(statSync(`${path}-wal`).size > 8_000_000)
  emptyWal()
  t.equal(statSync(`${path}-wal`).size, 0)
})

t.test('no statement walks through the messages, however many there are', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  const db = openStore(path)
  const asked: string[] = []
  const prepare = (sql: string) => {
    asked.push(sql)
    return db.prepare(sql)
  }
  const watched = new Proxy(db, {
    get: (of, name) => (name === 'prepare' ? prepare : bind(Reflect.get(of, name), of)),
  })
  const settings = { path, payloadKeys: STORE.storeKeys.payloadKeys, maxBacklog: 9, keepsEvents: true }
  const now = NOON
  const store = createStore(
    watched,
    { ...settings, now, retentionDays: 1, emptyWalEveryMs: 60_000 },
    () => 'lease',
  )
  t.teardown(() => {
    store.close()
    db.close()
  })
  const given = sample({ now: () => NOON })
  store.runCalls([['accept', { now, messages: [given] }]])
  store.runCalls([['cancelMessage', { now, id: given.message.id }]])
  const filters = [
    {},
    { state: 'sent' },
    { recipientHash: 'r' },
    { channel: 'sms', kind: 'k', since: 1 },
    { state: 'undelivered', channel: 'sms' },
  ] as const
  for (const filter of filters) store.runCalls([['listMessages', { filter: { limit: 9, ...filter } }]])
  const walks = asked
    .filter(sql => /^\s*(?:SELECT|UPDATE|DELETE|INSERT)/.test(sql))
    .flatMap(sql => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
    .map(({ detail }) => String(detail))
    .filter(detail =>
      /^SCAN (?:m|messages|quota_counters|memos|counts|figures)\b|TEMP B-TREE FOR ORDER/.test(detail),
    )
  t.same(walks, [
    // Whether there is any; the times of those that came last, so many at most; what is noted of a recipient who is forgotten; a page of
    // all there are; what one recipient got.
    'SCAN messages USING COVERING INDEX message_id',
    'SCAN messages USING COVERING INDEX message_arrival',
    'SCAN memos',
    'SCAN messages USING INDEX message_arrival',
    'USE TEMP B-TREE FOR ORDER BY',
  ])
  t.ok(asked.length > 40, `${asked.length} statements`)
})

function bind(value: unknown, to: object): unknown {
  return typeof value === 'function' ? value.bind(to) : value
}
