import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type Outbox, PROBE_BYTES, StoreUnavailable, StoreUnusable } from '../../src/outbox/outbox.ts'
import { LOST_LEASE_PAUSE_MS } from '../../src/outbox/rules.ts'
import { openStore } from '../../src/outbox/sqlite/open.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { createStore } from '../../src/outbox/sqlite/store.ts'
import { pause } from '../faults/stage.ts'
import { until } from '../rigs/service.ts'
import { lease, record, sample, testClock } from './samples.ts'

const SECRET = 'a secret of the tests, long enough'
const CHILD = fileURLToPath(new URL('./accepting-child.ts', import.meta.url))
const clock = testClock()

const pathIn = (t: Test) => join(t.testdir({}), 'outbox.db')

function openAt(path: string, secret = SECRET, previous: readonly string[] = []): Promise<Outbox> {
  const storeKeys = createStoreKeys(secret, previous)
  return createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 1_000_000, retentionDays: 30 })
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

t.test('what a dead process was sending is claimed again at once, as an ambiguous attempt', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  const given = sample(clock, { lease: lease(clock, 3_600_000) })
  await first.accept([given])
  await first.beginAttempt(given.message.id, given.lease ?? lease(clock))
  await first.close()
  const second = await openAt(path)
  await second.claim('email', 10, 1000)
  clock.advance(LOST_LEASE_PAUSE_MS)
  const { messages } = await second.claim('email', 10, 1000)
  t.match(messages, [{ id: given.message.id, attempts: 2, ambiguous: 1 }])
  await second.close()
})

t.test('the end of an attempt that lost its lease says nothing of the attempt that goes on', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  const given = sample(clock, { lease: lease(clock, 1000) })
  const { id } = given.message
  const lost = given.lease ?? lease(clock)
  await first.accept([given])
  await first.beginAttempt(id, lost)
  clock.advance(1000)
  await first.claim('email', 10, 1000)
  clock.advance(LOST_LEASE_PAUSE_MS)
  const [again] = (await first.claim('email', 10, 3_600_000)).messages
  t.match(again, { id, attempts: 2, ambiguous: 1 })
  if (again === undefined) return
  await first.beginAttempt(id, again.lease)
  t.same(await first.settle(id, lost, { to: 'queued', dueAt: clock.now() }), { state: 'lost' })
  await first.close()
  const second = await openAt(path)
  await second.claim('email', 10, 1000)
  clock.advance(LOST_LEASE_PAUSE_MS)
  t.match((await second.claim('email', 10, 1000)).messages, [{ id, attempts: 3, ambiguous: 2 }])
  await second.close()
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

t.test('a damaged file refuses the start and says what to do', async t => {
  const path = pathIn(t)
  const outbox = await openAt(path)
  for (let n = 0; n < 200; n += 1) await outbox.accept([sample(clock, { recipient: `r${n}@example.com` })])
  await outbox.close()
  const file = await open(path, 'r+')
  // From the third page on; the first holds the header, so that the damage is found by reading, not by its name.
  await file.write(Buffer.alloc(64 * 4096, 0xa5), 0, 64 * 4096, 2 * 4096)
  await file.close()
  await t.rejects(openAt(path), {
    name: 'StoreUnusable',
    message: /is damaged: stop the service, keep a copy/,
  })
})

t.test('a file that is no store refuses the start', async t => {
  const path = pathIn(t)
  await writeFile(path, 'not a database, but long enough to be read as the header of one'.repeat(100))
  await t.rejects(openAt(path), { name: 'StoreUnusable', message: /is damaged/ })
})

t.test('a journal that cannot be written refuses the start, and the store is let go of', async t => {
  const path = pathIn(t)
  await mkdir(`${path}-attempts`)
  await t.rejects(openAt(path), { name: 'StoreUnusable', message: /outbox\.db-attempts cannot be written/ })
  await rm(`${path}-attempts`, { recursive: true })
  const outbox = await openAt(path)
  t.ok(await outbox.queries.probeCommit())
  await outbox.close()
})

t.test('damage that is met later fails the calls, and says what to do', async t => {
  const path = pathIn(t)
  const db = openStore(path)
  const payloadKeys = createStoreKeys(SECRET).payloadKeys
  const now = clock.now()
  const settings = {
    path,
    payloadKeys,
    now,
    maxBacklog: 1000,
    keepsEvents: false,
    retentionDays: 30,
    emptyWalEveryMs: 60_000,
  }
  const store = createStore(db, settings, () => 'lease')
  const accept = (n: number) =>
    store.runCalls([['accept', { now, messages: [sample(clock, { recipient: `r${n}@example.com` })] }]])
  for (let n = 0; n < 100; n += 1) accept(n)
  store.maintenance.emptyWal()
  // Nothing may be answered from memory.
  db.exec('PRAGMA cache_size = 1; PRAGMA shrink_memory')
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  await file.write(Buffer.alloc(size - 4096, 0xa5), 0, size - 4096, 4096)
  await file.close()
  t.match(accept(100), {
    failures: [[0, { is: 'unavailable', message: /is damaged: stop the service/ }]],
  })
  t.match(store.runCalls([['findMessage', { id: '0' }]]), { failures: [[0, { is: 'unavailable' }]] })
  db.close()
})

t.test('a store of a newer version is left alone', async t => {
  const path = pathIn(t)
  await (await openAt(path)).close()
  const db = new DatabaseSync(path)
  db.exec("UPDATE meta SET value = 999 WHERE key IN ('schema', 'min-writer')")
  db.close()
  await t.rejects(openAt(path), { name: 'StoreUnusable', message: /written by a newer version/ })
})

t.test('another secret is refused while messages wait, and taken when none does', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  await first.accept([sample(clock)])
  await first.close()
  await t.rejects(openAt(path, 'another secret'), {
    name: 'StoreUnusable',
    message: /1 messages wait .*another secret/,
  })
  const again = await openAt(path)
  const { messages } = await again.claim('email', 1, 1000)
  for (const each of messages)
    await again.settle(each.id, each.lease, { to: 'final', state: 'sent', answer: null })
  await again.close()
  const other = await openAt(path, 'another secret')
  await other.accept([sample(clock, { recipient: 'bob@example.com' })])
  await other.close()
  await t.rejects(openAt(path), StoreUnusable)
})

t.test('a start that ends while it notes a new secret has noted nothing', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  await first.accept([sample(clock)])
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

t.test('what cannot be read any more is refused, and not in the way of the rest', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  const [bad, good] = [
    sample(clock, { code: '1', purpose: 'link' }),
    sample(clock, { code: '2', purpose: 'link' }),
  ]
  await first.accept([bad, good])
  await first.close()
  const db = new DatabaseSync(path)
  db.prepare('UPDATE messages SET payload = (SELECT payload FROM messages WHERE id = ?) WHERE id = ?').run(
    good.message.id,
    bad.message.id,
  )
  db.close()
  const outbox = await openAt(path)
  const { messages, settled } = await outbox.claim('email', 10, 1000)
  t.match(messages, [{ id: good.message.id }])
  t.match(settled, [{ id: bad.message.id, state: 'refused' }], 'another row’s content is not its own')
  t.match((await outbox.queries.findMessage(bad.message.id))?.timeline, [{ code: 'UNREADABLE' }])
  await outbox.close()
})

/** All threads; only calls that are watched stop, else the start of a process costs three times as much. */
const STRACE = ['-f', '--seccomp-bpf']
const noTrace =
  spawnSync('strace', [...STRACE, '-o', '/dev/null', 'true']).status === 0
    ? false
    : 'strace cannot watch here'

const disk = await mkdtemp(join(tmpdir(), 'small-disk-'))
const mounted =
  process.getuid?.() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]).status === 0
t.teardown(() => rm(disk, { recursive: true }))
if (mounted) t.teardown(() => spawnSync('umount', ['-l', disk]))
const noDisk = mounted ? false : 'only root may mount a small disk to fill'

t.test('a full disk: 503 while it lasts, nothing half stored, and it recovers', { skip: noDisk }, async t => {
  const path = join(disk, 'outbox.db')
  const outbox = await openAt(path)
  const before = sample(clock, { recipient: 'before@example.com', lease: lease(clock) })
  await outbox.accept([before])
  await writeFile(join(disk, 'filler'), Buffer.alloc(2_000_000))
  const stored: string[] = []
  const failed: string[] = []
  for (let n = 0; n < 400 && failed.length < 10; n += 1) {
    const given = sample(clock, { recipient: `full${n}@example.com` })
    try {
      await outbox.accept([given])
      stored.push(given.message.id)
    } catch (error) {
      t.ok(error instanceof StoreUnavailable)
      failed.push(given.message.id)
    }
  }
  t.equal(failed.length, 10, 'it is full')
  t.equal(await outbox.queries.probeCommit(), false)
  // As large as the probe: what a commit that failed had written of the log already is room for a small one.
  const reply = 'x'.repeat(PROBE_BYTES)
  const settle = () =>
    outbox.settle(before.message.id, before.lease ?? lease(clock), {
      to: 'final',
      state: 'sent',
      answer: null,
      records: [record(clock, 'sent', reply)],
    })
  await t.rejects(settle(), StoreUnavailable)
  for (const id of failed) t.equal(await outbox.queries.findMessage(id), null)
  await rm(join(disk, 'filler'))
  t.match(await settle(), { state: 'sent' }, 'it goes on when there is room')
  t.equal(await outbox.queries.probeCommit(), true)
  await outbox.accept([sample(clock, { recipient: 'after@example.com' })])
  await outbox.close()
  const again = await openAt(path)
  for (const id of stored) t.not(await again.queries.findMessage(id), null)
  t.equal((await again.queries.readSummary(0, 60_000)).backlog.email, stored.length + 1)
  await again.close()
})

t.test(
  'a disk that becomes full is seen by the probe, though nothing else is written',
  { skip: noDisk },
  async t => {
    const path = join(disk, 'probed', 'outbox.db')
    const outbox = await openAt(path)
    t.teardown(() => outbox.close())
    for (let n = 0; n < 20; n += 1) t.equal(await outbox.queries.probeCommit(), true)
    const filler = join(disk, 'all-of-it')
    await writeFile(filler, Buffer.alloc(8_000_000)).catch(() => {})
    const seen: boolean[] = []
    for (let n = 0; n < 30; n += 1) seen.push(await outbox.queries.probeCommit())
    t.ok(seen.includes(false), 'within 30 probes at most')
    await rm(filler)
    t.equal(await outbox.queries.probeCommit(), true)
  },
)

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
      path,
      clock,
      storeKeys: createStoreKeys(SECRET),
      maxBacklog: 1000,
      retentionDays: 30,
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

/** A process that probes ten times a second, under a fault of the disk that strace plays; gives what it said. */
async function probeUnder(t: Test, fault: string): Promise<readonly string[]> {
  const path = pathIn(t)
  const from = (module: string) => new URL(module, import.meta.url).href
  const script = `
    import { flushCompileCache } from 'node:module'
    import { createStoreKeys } from '${from('../../src/outbox/encryption.ts')}'
    import { createSqliteOutbox } from '${from('../../src/outbox/sqlite/outbox.ts')}'
    import { createReadiness } from '${from('../../src/admin/readiness.ts')}'
    import { viewOf } from '${from('../rigs/view.ts')}'
    const outbox = await createSqliteOutbox({ path: ${JSON.stringify(path)}, clock: { now: Date.now }, storeKeys: createStoreKeys('s'), maxBacklog: 99, retentionDays: 1 })
    const ready = createReadiness(viewOf({ queries: outbox.queries }), () => performance.now())
    let failures = 0
    for (let n = 0; n < 100 && failures < 3; n += 1) {
      const at = await ready()
      if (!at.ready) failures += 1
      console.log(at.ready ? 'ready' : at.reason)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    flushCompileCache()
    process.kill(process.pid, 'SIGKILL')`
  const node = [process.execPath, '--input-type=module-typescript', '-e', script]
  const trace = [
    ...STRACE,
    '-o',
    '/dev/null',
    '-e',
    `trace=${fault.split(':')[0] ?? ''}`,
    '-e',
    `inject=${fault}`,
  ]
  const { stdout } = spawnSync('strace', [...trace, ...node], { timeout: 60_000 })
  return stdout.toString().trim().split('\n')
}

for (const [name, fault, reason] of [
  ['an I/O error of the sync', 'fdatasync,fsync:error=EIO:when=30+', 'the store cannot commit'],
  ['a disk that became read-only', 'pwrite64:error=EROFS:when=300+', 'the store cannot commit'],
  ['a sync that hangs', 'fdatasync,fsync:delay_enter=8000000:when=30+', 'the store does not answer'],
] as const) {
  t.test(`${name} shows, and does not flap`, { skip: noTrace }, async t => {
    const seen = await probeUnder(t, fault)
    const first = seen.indexOf(reason)
    t.ok(first > 0, `ready at first, then not: ${seen.slice(-6).join('; ')}`)
    t.same(new Set(seen.slice(0, first)), new Set(['ready']))
    t.same(new Set(seen.slice(first)), new Set([reason]), 'and never ready again')
  })
}

t.test('a call that fails for itself takes no other along', async t => {
  const outbox = await openAt(pathIn(t))
  const sound = sample(clock, { recipient: 'a@example.com' })
  await outbox.accept([sound])
  const faulty = sample(clock, { recipient: 'b@example.com' })
  const unmasked = { ...faulty, message: { ...faulty.message, masked: {} as unknown as string } }
  const others = Array.from({ length: 20 }, (_, n) => sample(clock, { recipient: `r${n}@example.com` }))
  const [bad, ...good] = await Promise.allSettled([
    outbox.accept([sample(clock, { recipient: 'c@example.com' }), unmasked]),
    ...others.map(each => outbox.accept([each])),
  ])
  t.equal(bad?.status, 'rejected')
  t.notOk(bad?.status === 'rejected' && bad.reason instanceof StoreUnavailable, 'it is a bug, not the store')
  t.ok(good.every(each => each.status === 'fulfilled'))
  t.equal(
    (await outbox.queries.readSummary(0, 60_000)).backlog.email,
    21,
    'nothing of the bad call is stored',
  )
  await outbox.close()
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
  const again = await openAt(path)
  t.not(await again.queries.findMessage(given.message.id), null)
  await again.close()
})

t.test('every commit is synced, removed content overwritten, and the file held', t => {
  const db = openStore(pathIn(t))
  const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  t.equal(pragma('journal_mode'), 'wal')
  t.equal(pragma('synchronous'), 2, 'FULL')
  t.equal(pragma('secure_delete'), 1)
  t.equal(pragma('locking_mode'), 'exclusive')
  db.close()
  t.end()
})

t.test('each answer waits for a sync of its own', { skip: noTrace }, async t => {
  const path = pathIn(t)
  const trace = join(dirname(path), 'trace')
  const calls = 12
  // One after the other, so that no two share a commit.
  const from = (module: string) => new URL(module, import.meta.url).href
  const script = `
    import { flushCompileCache } from 'node:module'
    import { createStoreKeys } from '${from('../../src/outbox/encryption.ts')}'
    import { createSqliteOutbox } from '${from('../../src/outbox/sqlite/outbox.ts')}'
    import { sample } from '${from('./samples.ts')}'
    const clock = { now: Date.now }
    const outbox = await createSqliteOutbox({ path: ${JSON.stringify(path)}, clock, storeKeys: createStoreKeys('s'), maxBacklog: 99, retentionDays: 1 })
    for (let n = 0; n < ${calls}; n += 1) await outbox.accept([sample(clock, { code: String(n), purpose: 'link' })])
    flushCompileCache()
    process.kill(process.pid, 'SIGKILL')`
  const args = [
    ...STRACE,
    '-e',
    'trace=fdatasync,fsync',
    '-o',
    trace,
    process.execPath,
    '--input-type=module-typescript',
    '-e',
    script,
  ]
  spawnSync('strace', args, { stdio: 'ignore', timeout: 60_000 })
  const syncs = await readFile(trace, 'utf8')
  const wal = syncs.split('\n').filter(line => /f(data)?sync\(/.test(line)).length
  t.ok(wal >= calls, `${wal} syncs for ${calls} commits`)
})

t.test('the encrypted content itself is gone with the final state', async t => {
  const path = pathIn(t)
  const first = await openAt(path)
  await first.accept([sample(clock)])
  await first.close()
  const db = new DatabaseSync(path)
  const payload = db.prepare('SELECT payload FROM messages').get()?.['payload']
  db.close()
  const disk = async () =>
    Buffer.concat([await readFile(path), await readFile(`${path}-wal`).catch(() => Buffer.alloc(0))])
  if (!(payload instanceof Uint8Array)) throw new Error('nothing is encrypted')
  const bytes = Buffer.from(payload)
  t.ok((await disk()).includes(bytes))
  const outbox = await openAt(path)
  const { messages } = await outbox.claim('email', 1, 1000)
  for (const each of messages)
    await outbox.settle(each.id, each.lease, { to: 'final', state: 'sent', answer: null })
  await outbox.close()
  t.notOk((await disk()).includes(bytes))
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
  await t.rejects(openAt(join(directory, 'taken.db')), { name: 'StoreUnusable', message: /cannot be opened/ })
})
