import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { createStore } from '../../src/outbox/sqlite/store.ts'
import { claimOf, SECRET, sample, testClock } from './samples.ts'

/** The store as its thread has it. */
function openIn(t: Test) {
  const clock = testClock()
  const path = join(t.testdir({}), 'outbox.db')
  const db = openStore(path)
  const now = clock.now()
  const settings = { path, now, maxBacklog: 1000, keepsEvents: false, retentionDays: 30 }
  /** Starts it. @param previous secrets beside that of the tests. */
  const start = (...previous: readonly string[]) => {
    const { payloadKeys } = createStoreKeys(SECRET, previous)
    return createStore(db, { ...settings, payloadKeys, emptyWalEveryMs: 60_000 }, () => 'lease')
  }
  const store = start()
  const accept = (n: number) =>
    store.runCalls([['accept', { now, messages: [sample(clock, { recipient: `r${n}@example.com` })] }]])
  return { path, db, store, now, accept, start }
}

t.test('what is damaged of a stored message ends it unsent as refused, and no other one', async t => {
  const { db, store, now, accept } = openIn(t)
  for (let n = 0; n < 4; n += 1) accept(n)
  db.exec(`UPDATE messages SET charges = '[["a' WHERE seq = 1; UPDATE messages SET timeline = 'x' WHERE seq = 2;
    UPDATE messages SET payload = x'01' WHERE seq = 3`)
  const claim = claimOf(now)
  const refused = { state: 'refused' }
  t.match(store.runCalls([['claim', claim]]), {
    values: [{ messages: [{ recipient: 'r3@example.com' }], settled: [refused, refused, refused] }],
    failures: [],
  })
  const reply = 'the stored content cannot be read\u001f{}'
  const lines = { answer: 'content', timeline: [{ outcome: 'rejected', code: 'UNREADABLE', reply }] }
  const filter = { state: 'refused', limit: 9 } as const
  t.match(store.runCalls([['listMessages', { filter }]]), { values: [{ messages: [lines, lines, lines] }] })
  db.exec("UPDATE messages SET timeline = 'x'")
  t.match(store.runCalls([['listMessages', { filter }]]), { values: [{ messages: [{ timeline: [] }] }] })
  db.close()
})

t.test('once damage was met nothing is written any more, though the next page be sound', async t => {
  const { path, db, store, now, accept } = openIn(t)
  for (let n = 0; n < 100; n += 1) accept(n)
  store.maintenance.emptyWal()
  // Nothing may be answered from memory.
  db.exec('PRAGMA cache_size = 1; PRAGMA shrink_memory')
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  const sound = Buffer.alloc(size - 4096)
  await file.read(sound, 0, sound.length, 4096)
  await file.write(Buffer.alloc(sound.length, 0xa5), 0, sound.length, 4096)
  const refused = { is: 'unavailable', message: /is damaged: stop the service/ }
  t.match(accept(100), { failures: [[0, refused]] })
  t.match(store.runCalls([['findMessage', { id: '0' }]]), { failures: [[0, { is: 'unavailable' }]] })
  await file.write(sound, 0, sound.length, 4096)
  await file.close()
  db.exec('PRAGMA shrink_memory')
  t.match(accept(101), { failures: [[0, refused]] }, 'what would be written now might be lost with the file')
  t.match(store.runCalls([['probeCommit', { now }]]), { failures: [[0, refused]] }, 'and it is not ready')
  db.close()
})

t.test('with a secret that was taken out no start looks for it: a damaged message stops none', async t => {
  const { db, accept, start } = openIn(t)
  start('one that was replaced, long enough')
  accept(1)
  start()
  db.exec("UPDATE messages SET payload = x'01'")
  t.doesNotThrow(start)
  db.close()
})
