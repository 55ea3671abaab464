import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, open, readdir, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type Outbox, StoreUnavailable, StoreUnusable } from '../../src/outbox/outbox.ts'
import { classifySqliteError, openStore } from '../../src/outbox/sqlite/open.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { pause } from '../faults/stage.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { until } from '../rigs/until.ts'
import { lease, record, SECRET, STORE, sample, testClock } from './samples.ts'

const CHILD = fileURLToPath(new URL('./accepting-child.ts', import.meta.url))
const clock = testClock()

const pathIn = (t: Test) => join(t.testdir({}), 'outbox.db')

function openAt(path: string, secret = SECRET, previous: readonly string[] = []): Promise<Outbox> {
  const storeKeys = createStoreKeys(secret, previous)
  return createSqliteOutbox({ ...STORE, path, clock, storeKeys, startThread: serveHere })
}

function childAt(t: Test, path: string, calls?: number): ChildProcess {
  const more = calls === undefined ? [] : [String(calls)]
  const child = spawn(process.execPath, [CHILD, path, SECRET, ...more], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Reads what a child says, line by line, until `enough` or its end. */
async function listen(child: ChildProcess, enough: (line: string) => boolean): Promise<void> {
  if (child.stdout === null) throw new Error('the child has no stdout')
  for await (const line of createInterface({ input: child.stdout })) if (enough(line)) return
}

t.test('SIGKILL at any moment: everything acknowledged is there, and what was sent stays sent', async t => {
  const path = pathIn(t)
  const acknowledged = new Map<string, string>()
  for (let loop = 0; loop < 4; loop += 1) {
    const child = childAt(t, path)
    const until = 40 + loop * 170
    let lines = 0
    // Lines that were written before the end count, those read after the kill as well.
    await listen(child, line => {
      const [what = '', id = ''] = line.split(' ')
      if (id.length === 32) acknowledged.set(id, what)
      lines += 1
      if (lines === until) child.kill('SIGKILL')
      return false
    })
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    t.equal(child.signalCode, 'SIGKILL')
  }
  const outbox = await openAt(path)
  let lost = 0
  for (const [id, what] of acknowledged) {
    const view = await outbox.queries.findMessage(id)
    if (view === null || (what === 'sent' && view.state !== 'sent')) lost += 1
  }
  t.ok(acknowledged.size > 500, `${acknowledged.size} acknowledged`)
  t.equal(lost, 0, 'none is lost')
  await outbox.close()
})

t.test(
  'a second process on the same file is refused, and told what to do; after the first it may',
  async t => {
    const path = pathIn(t)
    const child = childAt(t, path)
    await listen(child, line => line.startsWith('stored'))
    const error = await openAt(path).then(
      () => null,
      (reason: unknown) => reason,
    )
    t.ok(error instanceof StoreUnusable)
    t.match((error as Error).message, /in use by another process: end that one first/)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const outbox = await openAt(path)
    t.equal(await outbox.queries.probeCommit(), true)
    await t.rejects(openAt(path), StoreUnusable, 'nor twice in one process')
    await outbox.close()
  },
)

t.test('a file of which any table is damaged refuses the start and says what to do', async t => {
  const path = pathIn(t)
  const outbox = await openAt(path)
  await outbox.close()
  const db = new DatabaseSync(path)
  db.exec("INSERT INTO memos VALUES ('large', printf('%.*c', 9000000, 'x'), 0)")
  const page = Number(
    db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'known_numbers'").get()?.['rootpage'],
  )
  db.close()
  const file = await open(path, 'r+')
  await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096)
  await file.close()
  await t.rejects(openAt(path), {
    name: 'StoreUnusable',
    message: /is damaged: stop the service, keep a copy/,
  })
})

t.test('a file that is no store refuses the start', async t => {
  const path = pathIn(t)
  await writeFile(path, 'not a database, but long enough to be read as the header of one'.repeat(100))
  await t.rejects(openAt(path), {
    name: 'StoreUnusable',
    message: /is damaged/,
    cause: { message: 'file is not a database' },
  })
})

t.test('the database of another program refuses the start, and is left as it is', async t => {
  const path = pathIn(t)
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE bookings (id)')
  other.close()
  const before = await stat(path)
  await t.rejects(openAt(path), { name: 'StoreUnusable', message: /tables of another program/ })
  t.equal((await stat(path)).mtimeMs, before.mtimeMs)
})

t.test('a start that ends while it notes a new secret has noted nothing', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  await first.accept([sample(clock)])
  await first.claim('email', 1, 1000)
  await first.close()
  const inFile = (sql: string) => {
    const db = new DatabaseSync(path)
    db.exec(sql)
    db.close()
  }
  inFile(`CREATE TRIGGER cut BEFORE INSERT ON meta WHEN NEW.key = 'secrets-replaced'
    BEGIN SELECT RAISE(ABORT, 'cut'); END`)
  await t.rejects(openAt(path, 'another secret', [SECRET]), StoreUnusable)
  inFile('DROP TRIGGER cut')
  await t.rejects(
    openAt(path, 'another secret'),
    StoreUnusable,
    'the message under the old one is still known of',
  )
  await (await openAt(path, 'another secret', [SECRET])).close()
})

t.test('an end that the file’s own rules refuse is not written, and is no bug', async t => {
  const path = pathIn(t)
  await (await openAt(path)).close()
  const db = new DatabaseSync(path)
  db.exec(`CREATE TRIGGER picky BEFORE UPDATE ON messages WHEN NEW.timeline IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'picky'); END`)
  db.close()
  const outbox = await openAt(path)
  const held = lease(clock)
  const given = sample(clock, { lease: held })
  await outbox.accept([given])
  const end = { to: 'final', state: 'sent', answer: null, records: [record(clock, 'sent')] } as const
  t.same(await outbox.settle(given.message.id, held, end), { state: 'lost' })
  await outbox.close()
})

t.test('files that are deleted or replaced under the running service are noticed', async t => {
  for (const [what, harm] of [
    ['the database is deleted', (path: string) => rm(path)],
    ['its log is deleted', (path: string) => rm(`${path}-wal`)],
    [
      'a backup is put in its place',
      async (path: string) => {
        await copyFile(path, `${path}.backup`)
        await rename(`${path}.backup`, path)
      },
    ],
  ] as const) {
    const path = pathIn(t)
    const lines: string[] = []
    const outbox = await createSqliteOutbox({
      ...STORE,
      path,
      clock,
      emptyWalEveryMs: 50,
      log: ({ doing, message }) => lines.push(`${doing}: ${message}`),
    })
    await outbox.accept([sample(clock)])
    t.equal(await outbox.queries.probeCommit(), true)
    await pause(120)
    t.same(lines, [], 'all is well')
    await harm(path)
    t.equal(await outbox.queries.probeCommit(), false, `${what}: it is not ready`)
    await until(() => lines.length > 0, 'a line of the log')
    t.match(lines[0], /^look for its files: .* deleted or replaced under the running service/)
    await outbox.close()
  }
})

t.test('a duplicate that ended in a transaction that was undone is reported once', async t => {
  const outbox = await openAt(pathIn(t))
  const old = sample(clock, { lifeMs: 1000 })
  await outbox.accept([old])
  clock.advance(2000)
  const faulty = sample(clock, { recipient: 'b@example.com' })
  const unmasked = { ...faulty, message: { ...faulty.message, masked: {} as unknown as string } }
  const [stored, failed] = await Promise.allSettled([
    outbox.accept([sample(clock)]),
    outbox.accept([unmasked]),
  ])
  t.same([stored?.status, failed?.status], ['fulfilled', 'rejected'])
  const { settled } = await outbox.claim('email', 1, 1000)
  t.match(settled, [{ id: old.message.id, state: 'expired' }])
  t.equal(settled.length, 1)
  await outbox.close()
})

t.test('after close, calls are refused; what was called before is committed', async t => {
  const path = pathIn(t)
  const outbox = await openAt(path)
  const given = sample(clock)
  const last = outbox.accept([given])
  await outbox.close()
  t.match(await last, [{ is: 'stored' }])
  await t.rejects(outbox.accept([sample(clock)]), StoreUnavailable)
  await outbox.close()
  const files = await Promise.all(
    (await readdir('/proc/self/fd')).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  t.same(
    files.filter(file => file.startsWith(path)),
    [],
    'no file is held',
  )
  const again = await openAt(path)
  t.not(await again.queries.findMessage(given.message.id), null)
  await again.close()
})

t.test('every commit is synced, removed content overwritten, and the file held', async t => {
  const db = openStore(pathIn(t))
  const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  for (const [name, value] of [
    ['journal_mode', 'wal'],
    ['locking_mode', 'exclusive'],
    // FULL
    ['synchronous', 2],
    ['fullfsync', 1],
    ['secure_delete', 1],
    ['cell_size_check', 1],
    // In memory
    ['temp_store', 2],
    ['cache_size', -8192],
    ['wal_autocheckpoint', 0],
    ['busy_timeout', 1000],
  ] as const)
    t.equal(pragma(name), value, name)
  db.close()
})

t.test('what an error of SQLite means', async t => {
  for (const [means, codes] of [
    ['locked', [5, 6]],
    ['corrupt', [11, 26]],
    ['resource', [3, 7, 8, 10, 13, 14, 15, 22, 23]],
    ['refused', [18, 19, 20]],
    // An error of SQL, and a misuse of the library
    [null, [1, 21, undefined]],
  ] as const)
    for (const errcode of codes) t.equal(classifySqliteError({ errcode }), means, `${errcode}`)
  t.equal(classifySqliteError({ errcode: 19 | (8 << 8) }), 'refused', 'a code of more than eight bits')
  t.equal(classifySqliteError(null), null)
})

t.test('makes its directory, and says so when it cannot', async t => {
  const directory = t.testdir({ file: 'in the way' })
  const outbox = await openAt(join(directory, 'new', 'deep', 'outbox.db'))
  t.ok((await stat(join(directory, 'new', 'deep', 'outbox.db'))).size > 0)
  await outbox.close()
  await t.rejects(openAt(join(directory, 'file', 'outbox.db')), {
    name: 'StoreUnusable',
    message: /cannot be made or written/,
  })
  await mkdir(join(directory, 'taken.db'))
  await mkdir(join(directory, 'stuck.db-attempts'))
  for (const name of ['taken.db', 'stuck.db'])
    await t.rejects(openAt(join(directory, name)), { name: 'StoreUnusable', message: /cannot be opened/ })
})
