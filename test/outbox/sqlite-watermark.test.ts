import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Acceptance } from '../../src/outbox/outbox.ts'
import { openStore, readMeta, writeMeta } from '../../src/outbox/sqlite/open.ts'
import { createStore } from '../../src/outbox/sqlite/store.ts'
import { readWatermark } from '../../src/outbox/sqlite/watermark.ts'
import { claimOf, lease, STORE, sample, testClock } from './samples.ts'

const clock = testClock()
type Call = Parameters<ReturnType<typeof createStore>['runCalls']>[0][number]

/** The store as its thread has it. */
function openAt(path: string) {
  const db = openStore(path)
  const settings = {
    path,
    payloadKeys: STORE.storeKeys.payloadKeys,
    maxBacklog: 9999,
    keepsEvents: false,
    retentionDays: 30,
    emptyWalEveryMs: 60_000,
    now: clock.now(),
  }
  const store = createStore(db, settings, () => 'lease')
  store.maintenance.emptyWal()
  const run = (...calls: readonly Call[]) => store.runCalls(calls)
  return {
    db,
    store,
    run,
    claim: () => run(['claim', claimOf(clock.now())]),
    /** Stores messages, a second apart, each with a commit of its own. */
    accept(count: number, from = 0): readonly Acceptance[] {
      return Array.from({ length: count }, (_, n) => {
        clock.advance(1000)
        const given = sample(clock, { recipient: `r${from + n}@example.com`, lease: lease(clock) })
        run(['accept', { now: clock.now(), messages: [given] }])
        return given
      })
    },
    send(given: readonly Acceptance[]) {
      for (const { message, lease: own } of given)
        run([
          'settle',
          {
            now: clock.now(),
            id: message.id,
            token: own?.token ?? '',
            settlement: { to: 'final', state: 'sent', answer: null },
          },
        ])
    },
    close() {
      store.maintenance.emptyWal()
      store.close()
      db.close()
    },
  }
}
type Opened = ReturnType<typeof openAt>

/**
 * The files of a store as they are between two commits: what a process that is killed leaves, since what it had written is
 * in the page cache. @returns the path of the database.
 */
async function killed(t: Test, work: (opened: Opened, path: string) => unknown): Promise<string> {
  const directory = t.testdir({ store: {}, left: {} })
  const path = join(directory, 'store/outbox.db')
  const opened = openAt(path)
  await work(opened, path)
  cpSync(dirname(path), join(directory, 'left'), { recursive: true })
  opened.close()
  return join(directory, 'left/outbox.db')
}

function lossAt(path: string) {
  const { store, db, close } = openAt(path)
  const there = Number(db.prepare('SELECT count(*) AS n FROM messages').get()?.['n'])
  close()
  return { loss: store.loss, there }
}

t.test('a WAL that is deleted: noticed with the number, kept for a day, counted once', async t => {
  const path = await killed(t, ({ accept }) => accept(10))
  await rm(`${path}-wal`)
  const until = clock.now()
  clock.advance(5000)
  const noticedAt = clock.now()
  const { loss, there } = lossAt(path)
  t.equal(there, 0)
  t.same(loss, { messages: 10, from: null, until, noticedAt })
  t.same(lossAt(path).loss, loss, 'the next start shows it still')
  clock.advance(24 * 3_600_000)
  t.same(lossAt(path).loss, null, 'after a day nobody needs it any more')
})

t.test('a WAL that is cut off: those after the cut', async t => {
  let size = 0
  const path = await killed(t, ({ accept }, own) => {
    accept(5)
    size = statSync(`${own}-wal`).size
    accept(7, 5)
  })
  truncateSync(`${path}-wal`, size)
  const from = clock.now() - 7000
  const { loss, there } = lossAt(path)
  t.equal(there, 5)
  t.match(loss, { messages: 7, from, until: clock.now() })
})

t.test('two losses within a day are told together', async t => {
  const path = await killed(t, ({ accept, run, store }) => {
    run(['forgetRecipient', { recipientHash: 'of nobody' }])
    store.maintenance.emptyWal()
    accept(3, 1)
  })
  const from = clock.now() - 3000
  await rm(`${path}-wal`)
  lossAt(path)
  const opened = openAt(path)
  opened.accept(1, 4)
  opened.store.maintenance.emptyWal()
  opened.accept(2, 5)
  const second = join(dirname(path), 'again')
  mkdirSync(second)
  for (const file of ['', '-wal', '-watermark'])
    await copyFile(`${path}${file}`, join(second, `outbox.db${file}`))
  opened.close()
  await rm(join(second, 'outbox.db-wal'))
  const until = clock.now()
  clock.advance(5000)
  const loss = { messages: 5, from, until, noticedAt: clock.now() }
  t.same(lossAt(join(second, 'outbox.db')), { loss, there: 1 })
})

t.test('ends that are lost are told, and an attempt that had begun then counts as ambiguous', async t => {
  const path = await killed(t, ({ accept, send, store }) => {
    const given = accept(1)
    store.maintenance.emptyWal()
    send(given)
  })
  await rm(`${path}-wal`)
  const { store, claim, close } = openAt(path)
  t.match(store.loss, { messages: 0 })
  claim()
  clock.advance(5000)
  t.match(claim(), { values: [{ messages: [{ attempts: 2, ambiguous: 1 }] }] })
  close()
})

t.test('attempts that began are known after a death; after a power cut all that was claimed', async t => {
  const fs = process.getBuiltinModule('node:fs')
  const usual = fs.readFileSync
  for (const [what, ambiguous] of [
    ['a death', [0, 1]],
    ['a power cut', [1, 1]],
    ['a power cut that took the mark', [1, 1]],
    ['a backup that was restored, without a watermark', [1, 1]],
    ['a backup that was restored, beside the mark of another store', [1, 1]],
    ['a death on a machine that does not name its runs', [1, 1]],
  ] as const) {
    if (what.startsWith('a death on'))
      Object.assign(fs, { readFileSync: (file: string) => usual(file.replace('/proc/', '/none/'), 'latin1') })
    syncBuiltinESMExports()
    let size = 0
    const path = await killed(t, ({ accept, run }, own) => {
      const [, sent] = accept(2)
      size = statSync(`${own}-wal`).size
      const { message, lease: held } = sent ?? sample(clock)
      const begin = { id: message.id, token: held?.token ?? '', provider: 'smtp' }
      t.same(run(['beginAttempt', begin]), { values: [undefined], failures: [] })
      t.match(run(['beginAttempt', { ...begin, token: 'of nobody' }]), { values: ['outdated'] })
    })
    if (what.endsWith('mark')) truncateSync(`${path}-wal`, size)
    if (what.endsWith('watermark')) await rm(`${path}-watermark`)
    if (what.endsWith('of another store')) {
      const other = join(path, '../other.db')
      openAt(other).close()
      await copyFile(`${other}-watermark`, `${path}-watermark`)
    }
    if (what.startsWith('a power cut')) {
      const db = new DatabaseSync(path)
      db.exec("UPDATE meta SET value = 'another' WHERE key = 'boot'")
      db.close()
    }
    const { store, claim, close } = openAt(path)
    t.equal(store.loss, null, `${what}: what is not synced may be gone`)
    const first = claim()
    clock.advance(5000)
    const claimed = [first, claim()].flatMap(
      each =>
        (each as unknown as { values: { messages: { ambiguous: number }[] }[] }).values[0]?.messages ?? [],
    )
    t.same(
      claimed.map(each => each.ambiguous).toSorted((a, b) => a - b),
      ambiguous,
      what,
    )
    close()
    Object.assign(fs, { readFileSync: usual })
    syncBuiltinESMExports()
  }
})

t.test(
  'every commit but the mark of an attempt is synced, after a start, a mark and a mark that failed',
  async t => {
    const path = join(t.testdir({}), 'outbox.db')
    const { db, accept, run, close } = openAt(path)
    const FULL = { synchronous: 2 }
    const synchronous = () => ({ ...db.prepare('PRAGMA synchronous').get() })
    t.same(synchronous(), FULL)
    const [given] = accept(1)
    const begin = { id: given?.message.id ?? '', token: given?.lease?.token ?? '' }
    const during: unknown[] = []
    db.function('look', () => during.push(synchronous()))
    db.exec('CREATE TEMP TRIGGER marked UPDATE OF begun ON messages BEGIN SELECT look(); END')
    t.match(run(['beginAttempt', begin]), { failures: [] })
    t.same(during, [{ synchronous: 1 }], 'nobody waits for the disk')
    t.same(synchronous(), FULL)
    db.exec("CREATE TEMP TRIGGER refused UPDATE OF begun ON messages BEGIN SELECT raise(ABORT, 'no'); END")
    t.match(run(['beginAttempt', begin]), { failures: [[0, { is: 'refused' }]] })
    t.same(synchronous(), FULL)
    close()
  },
)

t.test('a database that is deleted, with what waited in it', async t => {
  const path = await killed(t, ({ accept, send }) => send(accept(3).slice(2)))
  for (const file of ['', '-wal']) await rm(`${path}${file}`)
  t.match(lossAt(path).loss, { messages: 2, from: null })
  t.match(lossAt(path).loss, { messages: 2 }, 'and once')
  const idle = await killed(t, ({ accept, send }) => send(accept(1)))
  for (const file of ['', '-wal']) await rm(`${idle}${file}`)
  t.same(lossAt(idle), { loss: null, there: 0 }, 'nothing waited')
})

t.test('no loss is told where there is none', async t => {
  const [mark, quiet] = [(path: string) => `${path}-watermark`, async () => {}]
  for (const [what, harm] of [
    ['killed', quiet],
    ['no watermark', (path: string) => rm(mark(path))],
    ['a watermark that is empty', async (path: string) => writeFileSync(mark(path), '')],
    [
      'a watermark that is torn',
      async (path: string) => writeFileSync(mark(path), readFileSync(mark(path)).fill('9', 45, 46)),
    ],
    [
      'a watermark of before, as after a power cut',
      (path: string) => copyFile(join(path, '../before'), mark(path)),
    ],
    [
      'a watermark of another store',
      async (path: string) => {
        const other = join(path, '../other.db')
        const opened = openAt(other)
        opened.accept(50)
        opened.close()
        await copyFile(mark(other), mark(path))
      },
    ],
  ] as const) {
    const path = await killed(t, async ({ accept }, own) => {
      accept(3)
      await copyFile(mark(own), join(own, '../before'))
      accept(3, 3)
    })
    await harm(path)
    t.same(lossAt(path), { loss: null, there: 6 }, what)
    t.same(lossAt(path), { loss: null, there: 6 }, `${what}, and a clean stop`)
  }
})

t.test('a backup that is restored has lost nothing that it had', async t => {
  const directory = t.testdir({ elsewhere: {} })
  const path = join(directory, 'outbox.db')
  const { accept, db, close } = openAt(path)
  const before = accept(2).length
  const then = readFileSync(`${path}-watermark`)
  accept(1, before)
  await backup(db, join(directory, 'backup'))
  accept(2, 3)
  close()
  const there = join(directory, 'elsewhere/outbox.db')
  await copyFile(join(directory, 'backup'), there)
  t.same(lossAt(there), { loss: null, there: 3 }, 'on another machine')
  for (const file of readdirSync(directory).filter(each => each.startsWith('outbox.db')))
    await rm(join(directory, file))
  await copyFile(join(directory, 'backup'), path)
  t.same(lossAt(path), { loss: null, there: 3 }, 'in its place, as the documentation says')
  writeFileSync(`${there}-watermark`, then)
  t.same(lossAt(there), { loss: null, there: 3 }, 'beside an older watermark')
})

t.test('a version that counts nothing, between two that do, has lost nothing', async t => {
  const path = await killed(t, ({ accept, db }, own) => {
    accept(3)
    const progress = String(readMeta(db, 'progress'))
    const mark = readFileSync(`${own}-watermark`)
    accept(2, 3)
    writeMeta(db, 'progress', progress)
    writeFileSync(`${own}-watermark`, mark)
  })
  t.same(lossAt(path), { loss: null, there: 5 })
  const again = await killed(t, ({ db, accept, store }, own) => {
    accept(4)
    store.maintenance.emptyWal()
    for (const key of ['store', 'progress']) db.prepare('DELETE FROM meta WHERE key = ?').run(key)
    accept(1, 4)
    db.prepare('DELETE FROM meta WHERE key = ?').run('progress')
    t.ok(readWatermark(`${own}-watermark`))
  })
  t.same(lossAt(again), { loss: null, there: 5 }, 'nor one whose store was put in the place of a counted one')
  const { accept, close } = openAt(again)
  accept(1, 5)
  close()
  t.same(lossAt(again), { loss: null, there: 6 })
})

t.test('a watermark that cannot be written refuses the start', async t => {
  const path = join(t.testdir({}), 'outbox.db')
  mkdirSync(`${path}-watermark`)
  const message = `the store ${path}-watermark cannot be opened: its directory must exist, be writable for the service's user and have room left`
  t.throws(() => openAt(path), { name: 'StoreUnusable', message, cause: { code: 'EISDIR' } })
})

t.test('a watermark counts what is stored, and not what is undone or repeated', async t => {
  const path = await killed(t, ({ accept, run }, own) => {
    accept(4)
    const now = clock.now()
    const [ann, bob, eve] = ['ann', 'bob', 'eve'].map(name =>
      sample(clock, { recipient: `${name}@example.com` }),
    )
    if (ann === undefined || bob === undefined || eve === undefined) throw new Error('three')
    run(['accept', { now, messages: [ann, bob] }], ['accept', { now, messages: [ann] }])
    // A column takes no value of this kind: whatever shares its commit is undone with it, what was stored before it in its call, too.
    const given = sample(clock, { recipient: 'bad@example.com' })
    const bad = { ...given, message: { ...given.message, masked: {} as never } }
    t.match(run(['accept', { now, messages: [eve] }], ['accept', { now, messages: [bad] }]), {
      undone: { is: 'fault' },
    })
    t.match(run(['accept', { now, messages: [sample(clock, { recipient: 'x@example.com' }), bad] }]), {
      failures: [[0, { is: 'fault' }]],
    })
    t.match(readWatermark(`${own}-watermark`), { stored: 6, live: 6 }, 'nothing of it is counted')
    t.match(run(['accept', { now, messages: [eve] }]), { values: [[{ is: 'stored' }]], failures: [] })
  })
  t.match(readWatermark(`${path}-watermark`), { stored: 7, live: 7 })
  t.same(lossAt(path), { loss: null, there: 7 })
})

t.test('what an undone transaction charged is not used up', async t => {
  await killed(t, ({ run }) => {
    const now = clock.now()
    const charges = [{ quota: 'q', bucket: 'b', windowMs: 600_000, limit: 1 }]
    const [first, second] = ['1', '2'].map(code => sample(clock, { code, purpose: 'link', charges }))
    if (first === undefined || second === undefined) throw new Error('two')
    const bad = { ...first, message: { ...first.message, masked: {} as never } }
    t.match(run(['accept', { now, messages: [bad] }]), { failures: [[0, {}]] })
    t.match(run(['accept', { now, messages: [first] }]), { values: [[{ is: 'stored' }]] })
    t.match(run(['accept', { now, messages: [second] }]), { values: [[{ is: 'over-quota' }]] })
  })
})
