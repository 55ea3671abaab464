import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { readinessOf } from '../rigs/readiness.ts'
import { openWay } from '../rigs/way.ts'
import { sample, testClock } from './samples.ts'

/** Faults of a shared store's disk, and of the way to it: they show in readiness within 5 s, and it does not flap. */

const SHOWS_WITHIN_MS = 5000
/** A server that ended for a fault recovers first, on a machine that may be busy. */
const BACK_WITHIN_MS = 30_000
const clock = testClock()
const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

async function open(t: Test, url: string) {
  const storeKeys = createStoreKeys('a secret of the tests, long enough')
  const settings = { clock, storeKeys, maxBacklog: 1000, retentionDays: 30, statementTimeoutMs: 800 }
  const outbox = await createPostgresOutbox({ ...settings, url })
  t.teardown(() => outbox.close())
  return { outbox, isReady: readinessOf(outbox) }
}

/** Plays a fault: it has to show, to go on showing, to refuse callbacks as one of the store, and to be over afterwards. */
async function play(
  t: Test,
  { outbox, isReady }: Awaited<ReturnType<typeof open>>,
  begin: () => Promise<() => unknown>,
): Promise<void> {
  await untilReady(isReady)
  const end = await begin()
  const began = performance.now()
  try {
    while (await isReady()) await wait(20)
    const tookMs = performance.now() - began
    t.ok(tookMs < SHOWS_WITHIN_MS, `it shows after ${tookMs} ms`)
    const seen: boolean[] = []
    for (let n = 0; n < 15; n += 1) {
      seen.push(await isReady())
      await wait(100)
    }
    t.notOk(seen.includes(true), 'and goes on showing')
    await t.rejects(outbox.accept([sample(clock)]), StoreUnavailable)
  } finally {
    await end()
  }
  await untilReady(isReady)
  const after: boolean[] = []
  for (let n = 0; n < 10; n += 1) {
    after.push(await isReady())
    await wait(100)
  }
  t.notOk(after.includes(false), 'it is over')
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  )
}

async function untilReady(isReady: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + BACK_WITHIN_MS; !(await isReady()); await wait(100))
    if (performance.now() > end) throw new Error('it is not ready again')
}

t.test('a shared store whose disk or connection fails', { skip: noPostgres }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())

  /** What the server's processes ask of the kernel fails, or hangs. */
  const inject = (fault: string) => async () => {
    const server = await rig.pid()
    const children = await readFile(`/proc/${server}/task/${server}/children`, 'utf8')
    const processes = [server, ...children.trim().split(' ')].flatMap(each => ['-p', String(each)])
    const calls = `trace=${fault.split(':')[0]}`
    const strace = spawn(
      'strace',
      ['-f', '-o', '/dev/null', '-e', calls, '-e', `inject=${fault}`, ...processes],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    // It says so of each process that it has attached to.
    await once(strace.stderr, 'data')
    return async () => {
      strace.kill('SIGINT')
      if (strace.exitCode === null && strace.signalCode === null) await once(strace, 'exit')
      // A server that cannot even recover ends, and is started again by whoever mended the disk.
      for (let tries = 0; tries < 100 && !(await answers(rig.adminUrl)); tries += 1) {
        if (!existsSync(`/proc/${server}`)) await rig.start()
        await wait(50)
      }
    }
  }
  const noTrace =
    spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0 ? false : 'strace cannot watch here'
  for (const [name, fault] of [
    ['a sync of its log fails (EIO)', 'fdatasync:error=EIO'],
    ['its files can only be read (EROFS)', 'pwrite64:error=EROFS'],
    ['a write fails (EIO)', 'pwrite64:error=EIO'],
    ['a sync of its log hangs', 'fdatasync:delay_enter=10s'],
  ] as const)
    await t.test(name, { skip: noTrace }, async t => {
      await play(t, await open(t, await rig.url()), inject(fault))
    })

  await t.test('it can only be read from now on, as a standby', async t => {
    const admin = new pg.Client(rig.adminUrl)
    await admin.connect()
    t.teardown(() => admin.end())
    const set = async (value: 'on' | 'off') => {
      await admin.query('SET default_transaction_read_only = off')
      await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
      await admin.query('SELECT pg_reload_conf()')
    }
    await play(t, await open(t, await rig.url()), async () => {
      await set('on')
      return () => set('off')
    })
  })

  await t.test('a COMMIT is swallowed on its way', async t => {
    const way = await openWay(t, await rig.url())
    await play(t, await open(t, way.url), async () => {
      way.swallowCommits()
      return () => way.mend()
    })
  })

  await t.test('a right is taken away', async t => {
    const url = new URL(await rig.url())
    const schema = /store\d+/.exec(url.href)?.[0]
    const admin = new pg.Client(rig.adminUrl)
    await admin.connect()
    t.teardown(() => admin.end())
    await admin.query(`CREATE ROLE guest LOGIN; GRANT ALL ON SCHEMA ${schema} TO guest`)
    url.username = 'guest'
    const opened = await open(t, url.href)
    await play(t, opened, async () => {
      await admin.query(`REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM guest`)
      return () => admin.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO guest`)
    })
  })
})
