import { existsSync } from 'node:fs'
import { chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import { type Charge, type Lease, type Outbox, StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { askPostgres, connectTo, noPostgres, type PostgresRig, startPostgres } from '../rigs/postgres.ts'
import { readinessOf } from '../rigs/readiness.ts'
import { mountSmallDisk } from '../rigs/small-disk.ts'
import { until } from '../rigs/until.ts'
import { openWay } from '../rigs/way.ts'
import { lease, SECRET, STORE, sample, testClock } from './samples.ts'

const clock = testClock()

/** With more time for a statement than in the service, since the machine may be busy with other tests. */
function openAt(url: string, secret = SECRET, statementTimeoutMs = 5000): Promise<Outbox> {
  return createPostgresOutbox({
    ...STORE,
    clock,
    storeKeys: createStoreKeys(secret),
    url,
    statementTimeoutMs,
  })
}

type Sampled = ReturnType<typeof sample>

const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Tries until it is done. */
async function persist<T>(attempt: () => Promise<T>): Promise<T> {
  let done: { readonly value: T } | undefined
  await until(async () => {
    try {
      done = { value: await attempt() }
      return true
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return false
    }
  }, 'the store')
  return (done as { readonly value: T }).value
}

t.test('the shared store under faults', { skip: noPostgres }, async t => {
  const rig: PostgresRig = await startPostgres(t, { durable: true })

  await t.test('replicas that start together on an empty database all come up', async t => {
    const url = await rig.url()
    const replicas = await Promise.all(Array.from({ length: 5 }, () => openAt(url)))
    for (const [n, replica] of replicas.entries()) {
      await replica.accept([sample(clock, { recipient: `r${n}@example.com` })])
    }
    t.equal((await replicas[0]?.queries.readSummary(0))?.backlog.email, 5)
    const finds = replicas.flatMap(({ queries }) => Array.from({ length: 30 }, () => queries.findMessage('')))
    await Promise.all(finds)
    const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'callback-courier'"
    t.equal((await askPostgres(rig.adminUrl, sessions)).length, 5 * 7, 'each has seven connections')
    await Promise.all(replicas.map(each => each.close()))
  })

  const { disk, skip } = mountSmallDisk(t, 6)
  await t.test('a disk that becomes full is seen by the probe', { skip }, async t => {
    const { uid, gid } = await stat(`/proc/${await rig.pid()}`)
    await chown(disk, uid, gid)
    await askPostgres(rig.adminUrl, `CREATE TABLESPACE small LOCATION '${disk}'`)
    const url = new URL(await rig.url())
    url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} -c default_tablespace=small`)
    const outbox = await openAt(url.href)
    t.teardown(() => outbox.close())
    for (let n = 0; n < 5; n += 1) t.equal(await outbox.queries.probeCommit(), true)
    const filler = join(disk, 'filler')
    await writeFile(filler, Buffer.alloc(8_000_000)).catch(() => {})
    const seen: boolean[] = []
    for (let n = 0; n < 5; n += 1) seen.push(await outbox.queries.probeCommit())
    t.same(seen, [false, false, false, false, false])
    await rm(filler)
    t.equal(await persist(() => outbox.queries.probeCommit()), true)
  })

  await t.test('a database that hangs shows, until it goes on', async t => {
    const outbox = await openAt(await rig.url())
    const isReady = readinessOf(outbox)
    await persist(async () => t.ok(await isReady()))
    const server = await rig.pid()
    const children = await readFile(`/proc/${server}/task/${server}/children`, 'utf8')
    const processes = [server, ...children.trim().split(' ').map(Number)]
    const signal = (name: NodeJS.Signals) => {
      // A process of the server may have ended meanwhile.
      for (const each of processes) if (existsSync(`/proc/${each}`)) process.kill(each, name)
    }
    signal('SIGSTOP')
    try {
      await until(async () => !(await isReady()), 'it is seen')
      t.same([await isReady(), await isReady()], [false, false])
    } finally {
      signal('SIGCONT')
    }
    await until(isReady, 'it goes on')
    await outbox.close()
  })

  await t.test(
    'a session that an administrator ends is no failure of the call: it is tried once more',
    async t => {
      const url = await rig.url()
      const outbox = await openAt(url)
      const admin = await connectTo(url)
      const given = sample(clock, { recipient: 'ended@example.com' })
      await admin.query('SELECT pg_advisory_lock(hashtextextended($1, 8443))', [given.recipientHash])
      const accepted = outbox.accept([given])
      const endWaiting =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'callback-courier' AND datname = current_database() AND wait_event_type = 'Lock'"
      for (let ended: number | null = 0; (ended ?? 0) === 0; await wait(20))
        ended = (await admin.query(endWaiting)).rowCount
      await admin.query('SELECT pg_advisory_unlock_all()')
      t.match(await accepted, [{ is: 'stored' }])
      await admin.end()
      await outbox.close()
    },
  )

  /** Calls while another transaction holds what the call waits for, and commits then. @param waits how the statement begins that waits: the server shows no more of it. */
  async function callBehind<T>(url: string, sql: string, waits: string, call: () => Promise<T>): Promise<T> {
    const other = await connectTo(url)
    await other.query(`BEGIN; ${sql}`)
    let hasEnded = false
    const answer = call().finally(() => (hasEnded = true))
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '${waits}%'`
    await until(async () => hasEnded || (await askPostgres(url, waiting)).length === 1, 'it waits')
    await other.query('COMMIT')
    await other.end()
    return answer
  }

  await t.test('what another transaction does while a call waits for its lock is seen', async t => {
    const url = await rig.url()
    const outbox = await openAt(url)
    t.teardown(() => outbox.close())
    const windowMs = 600_000
    const start = clock.now() - (clock.now() % windowMs)
    const insert = 'INSERT INTO courier_quota_counters (name, window_start, current, previous, expires_at)'
    const count = (bucket: string) =>
      `${insert} VALUES ('${bucket} q ${windowMs}', ${start}, 1, 0, ${start + 2 * windowMs})`
    const charges = ['ann', 'bob'].map(bucket => ({ quota: 'q', bucket, windowMs, limit: 1 }))
    const charged = () => outbox.accept([sample(clock, { charges })])
    const behindOne = () => callBehind(url, count('ann'), insert, charged)
    const behindBoth = await callBehind(url, count('bob'), `${insert}%DISTINCT`, behindOne)
    t.match(behindBoth, [{ is: 'over-quota', quota: 'q' }], 'others were the first to count, one by one')
    const counted = "UPDATE courier_quota_counters SET current = 2 WHERE name LIKE 'ann%'"
    const ofTwo = () => outbox.accept([sample(clock, { charges: [{ ...charges[0], limit: 2 } as Charge] })])
    const behindThird = await callBehind(url, counted, 'SELECT name', ofTwo)
    t.match(behindThird, [{ is: 'over-quota' }], 'another one has counted more')

    const older = sample(clock, { lifeMs: 1000 })
    await outbox.accept([older])
    clock.advance(1000)
    const end = `DELETE FROM courier_live WHERE id = '${older.message.id}'`
    const given = sample(clock)
    const again = () => outbox.accept([given])
    t.match(await callBehind(url, end, 'WITH newest', again), [{ is: 'stored' }], 'its duplicate has ended')

    const { id } = given.message
    const [second, third] = ['second', 'third'].map(token => ({ token, until: 0 })) as [Lease, Lease]
    const { cancelMessage } = outbox.actions
    const report = { channel: 'email', id, status: 'sent', errorCode: null, at: clock.now() } as const
    const sent = { to: 'final', state: 'sent', answer: null } as const
    const reported = `'{"status":"delivered"}'`
    for (const [change, waits, call, answer] of [
      [`receipt = ${reported}`, 'WITH found', () => outbox.writeReceipt(report), { is: 'stale' }],
      ["state = 'sending', lease_token = 'second'", 'SELECT m.seq', () => cancelMessage(id), false],
      ["lease_token = 'third'", 'SELECT m.seq', () => outbox.settle(id, second, sent), { state: 'lost' }],
      ['outdated = true', 'WITH held', () => outbox.beginAttempt(id, third), 'outdated'],
    ] as const) {
      const sql = `UPDATE courier_live SET ${change} WHERE id = '${id}'`
      t.same(await callBehind<unknown>(url, sql, waits, async () => call()), answer, change)
    }
    await outbox.settle(id, third, sent)
    const keep = `SELECT pg_advisory_xact_lock(hashtextextended(id, 8444)) FROM courier_finished WHERE id = '${id}';
      INSERT INTO courier_reports (final_at, id, channel, receipt)
      SELECT final_at, id, channel, '{"status":"read"}' FROM courier_finished WHERE id = '${id}'`
    const read = { ...report, status: 'read' }
    const late = await callBehind(url, keep, 'WITH found', () => outbox.writeReceipt(read))
    t.same(late, { is: 'stale' }, 'a later report was kept')
  })

  await t.test('a claim waits for nothing that another replica is changing', async t => {
    const url = await rig.url()
    const outbox = await openAt(url)
    t.teardown(() => outbox.close())
    const names = ['lost', 'outlived', 'later', 'due']
    const [lost, outlived, later, due] = names.map(name =>
      sample(clock, {
        recipient: `${name}@example.com`,
        ...(name === 'outlived' && { lifeMs: 1000 }),
        ...(name === 'lost' && { lease: lease(clock, 1000) }),
        ...(name === 'later' && { lease: lease(clock) }),
      }),
    ) as [Sampled, Sampled, Sampled, Sampled]
    await outbox.accept([lost, outlived, later, due])
    await outbox.settle(later.message.id, later.lease ?? lease(clock), {
      to: 'queued',
      dueAt: clock.now() + 1000,
    })
    clock.advance(1000)
    const other = await connectTo(url)
    await other.query('BEGIN; SELECT FROM courier_live FOR UPDATE')
    t.match(await outbox.claim('email', 10, 60_000), { messages: { length: 0 }, settled: { length: 0 } })
    await other.query('ROLLBACK')
    await other.end()
    const { messages, settled } = await outbox.claim('email', 10, 60_000)
    t.same(
      new Set(messages.map(({ id }) => id)),
      new Set([lost, later, due].map(({ message: { id } }) => id)),
    )
    t.match(settled, [{ id: outlived.message.id, state: 'expired' }])
  })

  await t.test('the answer to a commit is lost on its way: what was done is known all the same', async t => {
    const { url, loseNextCommit } = await openWay(t, await rig.url())
    const outbox = await openAt(url)
    const held = lease(clock)
    const [handed, queued] = [sample(clock, { lease: held }), sample(clock, { recipient: 'b@example.com' })]
    const first = loseNextCommit()
    t.same(await outbox.accept([handed, queued]), [
      { is: 'stored', superseded: [] },
      { is: 'stored', superseded: [] },
    ])
    t.ok(first.lost, 'the answer was lost')
    const second = loseNextCommit()
    const settled = await outbox.settle(handed.message.id, held, { to: 'final', state: 'sent', answer: null })
    t.same(settled, { state: 'sent', answer: null })
    t.ok(second.lost)
    const again = { to: 'final', state: 'refused', answer: 'content' } as const
    t.same(
      await outbox.settle(handed.message.id, held, again),
      { state: 'lost' },
      'but nobody may settle it twice',
    )
    const fourth = loseNextCommit()
    const report = { channel: 'email', id: queued.message.id, status: 'sent', errorCode: null } as const
    t.match(await outbox.writeReceipt({ ...report, at: clock.now() }), { is: 'recorded' })
    t.ok(fourth.lost)
    const third = loseNextCommit()
    const { messages } = await outbox.claim('email', 10, 3_600_000)
    t.match(messages, [{ id: queued.message.id, attempts: 1, ambiguous: 0 }], 'put back, and claimed again')
    t.ok(third.lost)
    t.equal((await outbox.queries.readSummary(0)).backlog.email, 1)
    await outbox.close()
  })

  /** Takes the synchronous standby away: every commit hangs. @returns brings it back */
  async function loseStandby(t: Test): Promise<() => Promise<void>> {
    const [admin, committing] = [await connectTo(rig.adminUrl), await connectTo(rig.adminUrl)]
    const set = async (name: string) => {
      await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
      await admin.query('SELECT pg_reload_conf()')
    }
    await set('gone')
    let isGone = false
    const commits = (async () => {
      while (!isGone) await committing.query("SELECT pg_logical_emit_message(true, '', '')")
    })()
    const hanging = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await until(async () => (isGone = (await admin.query(hanging)).rowCount === 1), 'a commit that hangs')
    let back: Promise<void> | undefined
    const bringBack = () =>
      (back ??= set('')
        .then(() => commits)
        .then(async () => void (await Promise.all([admin.end(), committing.end()]))))
    t.teardown(bringBack)
    return bringBack
  }

  await t.test('a commit that hangs for long: what it stored in the end waits for nobody', async t => {
    const url = await rig.url()
    let later = 0
    const outbox = await createPostgresOutbox({
      ...STORE,
      url,
      clock,
      statementTimeoutMs: 800,
      monotonic: () => performance.now() + later,
    })
    t.teardown(() => outbox.close())
    const held = { ...lease(clock, 472_000), begins: true }
    const given = sample(clock, { lease: held })
    const bringBack = await loseStandby(t)
    await t.rejects(outbox.accept([given]), StoreUnavailable)
    later += 90_000
    await bringBack()
    const again = sample(clock, { lease: lease(clock, 472_000) })
    t.same(await persist(() => outbox.accept([again])), [{ is: 'in-progress', id: given.message.id }])
    const { messages } = await persist(() => outbox.claim('email', 10, 1000))
    t.match(messages, [{ id: given.message.id, attempts: 1, ambiguous: 0 }])
  })

  await t.test('an end whose commit hangs: whoever settles again learns that it was written', async t => {
    const url = await rig.url()
    const outbox = await openAt(url, SECRET, 800)
    t.teardown(() => outbox.close())
    const held = lease(clock)
    const given = sample(clock, { lease: held })
    await outbox.accept([given])
    const settle = () => outbox.settle(given.message.id, held, { to: 'final', state: 'sent', answer: null })
    const bringBack = await loseStandby(t)
    t.equal(await outbox.beginAttempt(given.message.id, held), undefined, 'its mark waits for no disk')
    await t.rejects(settle(), StoreUnavailable)
    await t.rejects(settle(), StoreUnavailable, 'its row is locked')
    await bringBack()
    t.same(await persist(settle), { state: 'sent', answer: null }, 'so that its final event is reported')
    t.same(await settle(), { state: 'lost' }, 'once')
  })

  await t.test('a replica that is stopped in the middle of a transaction lets go of its locks', async t => {
    const url = await rig.url()
    let stops = false
    const way = await openWay(t, url, asked => {
      if (stops && asked.includes('pg_advisory_xact_lock')) way.cut()
      return asked
    })
    const [stopped, outbox] = [await openAt(way.url, SECRET, 2000), await openAt(url, SECRET, 2000)]
    stops = true
    const given = stopped.accept([sample(clock)]).catch(() => {})
    const holding = "SELECT FROM pg_stat_activity WHERE state = 'idle in transaction'"
    await until(async () => (await askPostgres(url, holding)).length === 1, 'it holds its locks')
    t.match(await persist(() => outbox.accept([sample(clock, { code: '2' })])), [{ is: 'stored' }])
    await given
    stops = false
    way.mend()
    await Promise.all([stopped.close(), outbox.close()])
  })

  await t.test(
    'three replicas that fight for the same few recipients: no deadlock, no double, true counts',
    async t => {
      const url = await rig.url()
      const replicas = await Promise.all([0, 1, 2].map(() => openAt(url)))
      const charges = [
        { quota: 'channel', bucket: 'email', windowMs: 60_000, limit: 100_000 },
        { quota: 'country', bucket: 'de', windowMs: 60_000, limit: 100_000 },
      ]
      let random = 1
      const pick = (n: number) => {
        random = (random * 48_271) % 2_147_483_647
        return random % n
      }
      const sent = new Map<string, number>()
      let accepting = 0
      const accept = async (outbox: Outbox) => {
        accepting += 1
        for (let round = 0; round < 25; round += 1) {
          const given = Array.from({ length: 1 + pick(4) }, () =>
            sample(clock, { recipient: `r${pick(12)}@example.com`, code: `${pick(40)}`, charges }),
          )
          await outbox.accept([...new Map(given.map(each => [each.recipientHash, each])).values()])
        }
        accepting -= 1
      }
      const send = async (outbox: Outbox) => {
        while (accepting > 0) {
          const { messages } = await outbox.claim('email', 5, 60_000)
          await Promise.all(
            messages.map(async ({ id, lease }) => {
              const retry = pick(3) === 0
              const settled = await outbox.settle(
                id,
                lease,
                retry ? { to: 'queued', dueAt: clock.now() } : { to: 'final', state: 'sent', answer: null },
              )
              if (settled.state === 'sent') sent.set(id, (sent.get(id) ?? 0) + 1)
            }),
          )
        }
      }
      await Promise.all(replicas.flatMap(each => [accept(each), accept(each), send(each), send(each)]))
      const [first] = replicas
      if (first === undefined) throw new Error('no replica')
      const { messages: all } = await first.queries.listMessages({ limit: 100_000 })
      t.comment(`${all.length} messages, ${sent.size} sent`)
      t.ok(
        [...sent.values()].every(times => times === 1),
        'settled once each',
      )
      const live = all.filter(each => each.finalAt === null)
      const { backlog, counts } = await first.queries.readSummary(0)
      t.equal(backlog.email, live.length)
      for (const { state, count } of counts)
        t.equal(count, all.filter(each => each.state === state).length, state)
      t.notMatch(await rig.log(), /deadlock detected/)
      await Promise.all(replicas.map(each => each.close()))
    },
  )

  await t.test('refuses a database that promises less than Postgres, and says so', async t => {
    const url = await rig.url()
    const admin = await connectTo(rig.adminUrl)
    t.teardown(() => admin.end())
    await admin.query("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    await t.rejects(openAt(rig.adminUrl.replace('/postgres?', '/narrow?')), {
      message: /encoding is LATIN1.*ENCODING 'UTF8'/,
    })
    await admin.query('CREATE ROLE reader LOGIN')
    await t.rejects(openAt(url.replace('courier@', 'reader@')), { message: /may not create tables/ })
    await (await openAt(url)).close()
    const schema = new URL(url).searchParams.get('options')?.split('=')[1]
    await admin.query(`CREATE ROLE maker LOGIN; GRANT ALL ON SCHEMA ${schema} TO maker;
      GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO maker; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO maker`)
    await t.rejects(openAt(url.replace('courier@', 'maker@')), { message: /does not own the tables/ })
    await admin.query('GRANT courier TO maker')
    await (await openAt(url.replace('courier@', 'maker@'))).close()
  })
})
