import { join } from 'node:path'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { MessageList } from '../../src/outbox/outbox.ts'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { createStore } from '../../src/outbox/sqlite/store.ts'
import { claimOf, NOON, STORE, sample, testClock } from './samples.ts'

const ROWS = 100_000

/** What each of these rows is, but for its number. */
const HIDING = {
  'all are due, for one destination': `1, ${NOON}, 'full'`,
  'all became due, for one destination': `0, ${NOON}, 'full'`,
  'all are due later, for a destination each': `0, ${NOON} + 6000000 + n, 'd' || n`,
  'one half so, the other is due for one destination': `n % 2, ${NOON} + (1 - n % 2) * 6000000, CASE n % 2 WHEN 1 THEN 'full' ELSE 'd' || n END`,
  'all are due, for a destination each': `1, ${NOON}, 'd' || n`,
} as const

/** Notes the statements that a database runs, and counts how often, and the rows that they give. */
function watch(db: DatabaseSync) {
  const ran = new Set<string>()
  let steps = 0
  const prepare = db.prepare.bind(db)
  db.prepare = sql => {
    const statement = prepare(sql)
    const [all, get, run] = [statement.all, statement.get, statement.run].map(each =>
      each.bind(statement),
    ) as never as [typeof statement.all, typeof statement.get, typeof statement.run]
    const count = <T>(value: T, rows: number): T => {
      ran.add(sql)
      steps += 1 + rows
      return value
    }
    const given = (values: unknown[]) => values as SQLInputValue[]
    statement.all = (...values: unknown[]) => {
      const rows = all(...given(values))
      return count(rows, rows.length)
    }
    statement.get = (...values: unknown[]) => count(get(...given(values)), 1)
    statement.run = (...values: unknown[]) => {
      const done = run(...given(values))
      return count(done, Number(done.changes))
    }
    return statement
  }
  return {
    /** Forgets what ran until now. */
    forget() {
      ran.clear()
      steps = 0
    },
    steps: () => steps,
    plans: () =>
      [...ran]
        .filter(sql => sql.includes('messages'))
        .flatMap(sql => prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
        .map(({ detail }) => String(detail)),
  }
}

/** Opens a store with so many messages that wait. @param row what each is, but for its number */
function openWith(t: Test, rows: number, row: string) {
  const clock = testClock(NOON + 1)
  const path = join(t.testdir({}), 'outbox.db')
  const db = openStore(path)
  const watched = watch(db)
  const { payloadKeys } = STORE.storeKeys
  const settings = { path, payloadKeys, maxBacklog: 9_999_999, keepsEvents: false, retentionDays: 30 }
  let leases = 0
  const store = createStore(
    db,
    { ...settings, emptyWalEveryMs: 60_000, now: clock.now() },
    () => `${(leases += 1)}`,
  )
  t.teardown(() => {
    store.close()
    db.close()
  })
  db.exec(`WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${rows})
    INSERT INTO messages (id, channel, kind, purpose, rank, state, attempts, ambiguous, arrived_at, expires_at, dedupe_key,
      recipient_hash, masked_recipient, ready, due_at, destination)
    SELECT 'w' || n, 'email', 'activation-code', 'code', 0, 'queued', 1, 0, ${NOON} - n, ${NOON} + 36000000, 'd' || n, 'r' || n, 'm', ${row} FROM r`)
  const run = (...calls: Parameters<typeof store.runCalls>[0]) =>
    (store.runCalls(calls) as unknown as { values: unknown[] }).values
  return { ...watched, clock, db, run }
}

t.test('a list of a rare kind looks through ten thousand messages, and goes on there', t => {
  const { run, db, plans, forget } = openWith(t, 25_000, HIDING['all are due, for one destination'])
  db.exec(`UPDATE messages SET kind = 'rare' WHERE seq = 24000;
    UPDATE messages SET state = 'expired', ready = NULL WHERE seq <= 12000;
    UPDATE messages SET attempted_by = 'ONLY_TO' WHERE seq = 11000;
    UPDATE messages SET channel = 'sms', state = 'expired', ready = NULL, attempted_by = 'ONLY_TO' WHERE seq = 24500`)
  forget()
  for (const [filter, pages] of [
    [{ kind: 'rare' }, ['10001 ', '20002 ', 'w24000']],
    [{ kind: 'rare', before: NOON - 23_000 }, ['w24000']],
    [{ kind: 'rare', before: NOON - 14_000 }, ['24001 w24000', '']],
    [{ kind: 'rare', before: NOON - 14_000, limit: 1 }, ['w24000']],
    [{ kind: 'rare', state: 'queued' }, ['22001 ', 'w24000']],
    [{ channel: 'sms' }, ['10001 ', '20002 ', 'w24500']],
    [{ state: 'held' }, ['10001 ', 'w11000,w24500']],
    [{ kind: 'rare', recipientHash: 'r24000' }, ['w24000']],
  ] as const) {
    let before: number | undefined = 'before' in filter ? filter.before : undefined
    for (const expected of pages) {
      const given = { limit: 50, ...filter, ...(before !== undefined && { before }) }
      const [list] = run(['listMessages', { filter: given }]) as [MessageList]
      const { messages, lookedFrom } = list
      t.same(
        `${lookedFrom === null ? '' : `${NOON - lookedFrom} `}${messages.map(({ id }) => id).join()}`,
        expected,
        JSON.stringify(given),
      )
      before = lookedFrom ?? undefined
    }
  }
  t.same(
    plans().filter(
      detail => !/USING (COVERING )?INDEX message_(arrival|state|recipient)|^USE TEMP/.test(detail),
    ),
    [],
  )
  t.end()
})

for (const [name, row] of Object.entries(HIDING)) {
  t.test(`a claim walks through nothing where very many messages wait: ${name}`, t => {
    const { clock, run, forget, steps, plans } = openWith(t, ROWS, row)
    const given = Array.from({ length: 3 }, (_, n) =>
      sample(clock, { recipient: `r${n}@example.com`, destination: `other${n}` }),
    )
    run(['accept', { now: clock.now(), messages: given }])
    clock.advance(2000)
    forget()
    const [claim] = run(['claim', claimOf(clock.now(), ['full'])]) as [{ messages: { id: string }[] }]
    t.same(claim.messages.map(({ id }) => id).sort(), given.map(({ message }) => message.id).sort())
    t.ok(steps() < 1500, `${steps()} statements and rows`)
    run(['readWaiting', { channel: 'email', known: ['full'] }])
    t.same(
      plans().filter(detail => /^SCAN (?!CONSTANT|json_each|chosen|\()|TEMP B-TREE/.test(detail)),
      [],
    )
    t.end()
  })
}
