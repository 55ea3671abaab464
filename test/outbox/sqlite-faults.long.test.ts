import { spawnSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { mountSmallDisk } from '../rigs/small-disk.ts'
import { lease, record, STORE, sample, testClock } from './samples.ts'

const clock = testClock()

const pathIn = (t: Test) => join(t.testdir({}), 'outbox.db')

function openAt(path: string): Promise<Outbox> {
  return createSqliteOutbox({ ...STORE, path, clock })
}

/** All threads; only calls that are watched stop, else the start of a process costs three times as much. */
const STRACE = ['-f', '--seccomp-bpf']
const noTrace =
  spawnSync('strace', [...STRACE, '-o', '/dev/null', 'true']).status === 0
    ? false
    : 'strace cannot watch here'

const { disk, skip } = mountSmallDisk(t, 3)

t.test('a full disk: 503 while it lasts, nothing half stored, and it recovers', { skip }, async t => {
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
  const reply = 'x'.repeat(64 * 1024)
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
  t.equal((await again.queries.readSummary(0)).backlog.email, stored.length + 1)
  await again.close()
})

t.test('a disk that becomes full is seen by the probe, though nothing else is written', { skip }, async t => {
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
})

const from = (module: string) => new URL(module, import.meta.url).href

/** Runs a program with a store of its own at `path` by strace; it is killed at its end, and keeps nothing of what it compiled. @returns what it said. */
function runTraced(path: string, trace: readonly string[], program: string): readonly string[] {
  const script = `
    import { flushCompileCache } from 'node:module'
    import { createSqliteOutbox } from '${from('../../src/outbox/sqlite/outbox.ts')}'
    import { STORE, sample } from '${from('./samples.ts')}'
    const clock = { now: Date.now }
    const outbox = await createSqliteOutbox({ ...STORE, path: ${JSON.stringify(path)}, clock })
    ${program}
    flushCompileCache()
    process.kill(process.pid, 'SIGKILL')`
  const node = [process.execPath, '--input-type=module-typescript', '-e', script]
  const { stdout } = spawnSync('strace', [...STRACE, ...trace, ...node], { timeout: 60_000 })
  return stdout.toString().trim().split('\n')
}

/** A process that probes ten times a second, under a fault of the disk that strace plays; gives what it said. */
function probeUnder(t: Test, fault: string): readonly string[] {
  const trace = ['-o', '/dev/null', '-e', `trace=${fault.split(':')[0] ?? ''}`, '-e', `inject=${fault}`]
  return runTraced(
    pathIn(t),
    trace,
    `
    import { createReadiness } from '${from('../../src/admin/readiness.ts')}'
    import { viewOf } from '${from('../rigs/view.ts')}'
    const ready = createReadiness(viewOf({ queries: outbox.queries }), () => performance.now())
    let failures = 0
    for (let n = 0; n < 100 && failures < 3; n += 1) {
      const at = await ready()
      if (!at.ready) failures += 1
      console.log(at.ready ? 'ready' : at.reason)
      await new Promise(resolve => setTimeout(resolve, 20))
    }`,
  )
}

for (const [name, fault, reason] of [
  ['an I/O error of the sync', 'fdatasync,fsync:error=EIO:when=30+', 'the store cannot commit'],
  ['a disk that became read-only', 'pwrite64:error=EROFS:when=300+', 'the store cannot commit'],
  ['a sync that hangs', 'fdatasync,fsync:delay_enter=8000000:when=30+', 'the store does not answer'],
] as const) {
  t.test(`${name} shows, and does not flap`, { skip: noTrace }, async t => {
    const seen = probeUnder(t, fault)
    const first = seen.indexOf(reason)
    t.ok(first > 0, `ready at first, then not: ${seen.slice(-6).join('; ')}`)
    t.same(new Set(seen.slice(0, first)), new Set(['ready']))
    t.same(new Set(seen.slice(first)), new Set([reason]), 'and never ready again')
  })
}

t.test('each answer waits for a sync of its own', { skip: noTrace }, async t => {
  const path = pathIn(t)
  const trace = join(dirname(path), 'trace')
  const calls = 12
  // One after the other, so that no two share a commit.
  const program = `
    for (let n = 0; n < ${calls}; n += 1) await outbox.accept([sample(clock, { code: String(n), purpose: 'link' })])`
  runTraced(path, ['-e', 'trace=fdatasync,fsync', '-o', trace], program)
  const syncs = await readFile(trace, 'utf8')
  const wal = syncs.split('\n').filter(line => /f(data)?sync\(/.test(line)).length
  t.ok(wal >= calls, `${wal} syncs for ${calls} commits`)
})
