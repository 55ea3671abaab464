import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { ClaimedMessage, Lease, Outbox } from '../../src/outbox/outbox.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import type { HeartbeatLimits } from '../../src/outbox/postgres/heartbeats.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { noPostgres, startPostgres } from '../rigs/postgres.ts'
import { openWay } from '../rigs/way.ts'
import { sample } from './samples.ts'

const SECRET = 'a secret of the tests, long enough'
const CHILD = fileURLToPath(new URL('./holding-child.ts', import.meta.url))
/** Far longer than any test: what is claimed sooner was taken over because its process is gone. */
const LEASE_MS = 3_600_000
const QUICK: HeartbeatLimits = { everyMs: 150, sureMs: 1200, goneMs: 2500 }
const clock = { now: Date.now }

interface Opened {
  readonly outbox: Outbox
  readonly log: string[]
  end(): Promise<void>
}

async function open(t: Test, url: string, heartbeats = QUICK): Promise<Opened> {
  const log: string[] = []
  const outbox = await createPostgresOutbox({
    url,
    clock,
    storeKeys: createStoreKeys(SECRET),
    maxBacklog: 1_000_000,
    retentionDays: 30,
    heartbeats,
    log: ({ doing, message }) => log.push(`${doing}: ${message}`),
  })
  let ended: Promise<void> | undefined
  const end = () => (ended ??= outbox.close())
  t.teardown(end)
  return { outbox, log, end }
}

/** A lease as the delivery makes them on a shared store, for a message whose attempt begins at once. */
function ownLease({ sharedLeases }: Outbox): Lease {
  return { token: sharedLeases?.newLeaseToken() ?? '', until: clock.now() + LEASE_MS, begins: true }
}

const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Claims until something comes, for at most 30 s; tells after how many ms it did. */
async function claimed(
  outbox: Outbox,
): Promise<{ readonly messages: readonly ClaimedMessage[]; readonly ms: number }> {
  const began = performance.now()
  for (;;) {
    const messages = await claimNow(outbox)
    const ms = performance.now() - began
    if (messages.length > 0 || ms > 30_000) return { messages, ms }
    await wait(50)
  }
}

/** What a claim gives; nothing while the store cannot be reached. */
async function claimNow(outbox: Outbox): Promise<readonly ClaimedMessage[]> {
  try {
    return (await outbox.claim('email', 10, LEASE_MS)).messages
  } catch (error) {
    if (error instanceof StoreUnavailable) return []
    throw error
  }
}

t.test('processes on the shared store', { skip: noPostgres, jobs: 1 }, async t => {
  const rig = await startPostgres()
  t.teardown(() => rig.close())
  const replicaNames = async (url: string) => {
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client
      .query<{ name: string }>('SELECT name FROM courier_replicas')
      .finally(() => client.end())
    return rows.map(row => row.name)
  }

  await t.test('what a killed process was sending is taken over soon, as ambiguous', async t => {
    const url = await rig.url()
    const { outbox, log } = await open(t, url)
    const child = spawn(process.execPath, [CHILD, url, SECRET], { stdio: ['ignore', 'pipe', 'ignore'] })
    t.teardown(() => child.kill('SIGKILL'))
    const id = await new Promise<string>(resolve =>
      child.stdout.once('data', data => resolve(String(data).trim())),
    )
    await wait(QUICK.goneMs + 500)
    t.same(await claimNow(outbox), [], 'not while it lives')
    child.kill('SIGKILL')
    const { messages, ms } = await claimed(outbox)
    t.match(messages, [{ id, attempts: 2, ambiguous: 1 }])
    t.ok(ms > QUICK.goneMs - 2 * QUICK.everyMs - 100 && ms < 10_000 + 5000, `after ${ms} ms`)
    t.match(log, [/^take over: 1 messages/])
    const view = await outbox.queries.findMessage(id)
    t.match(view?.timeline, [{ outcome: 'lease-lost' }])
  })

  await t.test(
    'a process that ends in order leaves no trace; what it leaves is taken over at once',
    async t => {
      const url = await rig.url()
      const { outbox } = await open(t, url)
      const { outbox: tidy, end: endTidy } = await open(t, url)
      const { outbox: untidy, end: endUntidy } = await open(t, url)
      t.equal((await replicaNames(url)).length, 3)
      const [done, given] = [ownLease(tidy), ownLease(untidy)]
      const [first, second] = [
        sample(clock, { lease: done }),
        sample(clock, { lease: given, recipient: 'b@example.com' }),
      ]
      await tidy.accept([first])
      await untidy.accept([second])
      await tidy.settle(first.message.id, done, {
        to: 'queued',
        dueAt: clock.now() + 60_000,
        uncounted: true,
      })
      await endTidy()
      t.equal((await replicaNames(url)).length, 2)
      await endUntidy()
      t.equal((await replicaNames(url)).length, 2, 'it is needed to know what it left')
      const { messages, ms } = await claimed(outbox)
      t.match(messages, [{ id: second.message.id, ambiguous: 1 }])
      t.ok(ms < 5000 + QUICK.goneMs, `after ${ms} ms`)
    },
  )

  await t.test(
    'a process that is cut off begins nothing before others take over, nor when it is back',
    async t => {
      const url = await rig.url()
      const way = await openWay(t, url)
      const { outbox } = await open(t, url)
      const { outbox: cutOff, log } = await open(t, way.url)
      const lease = ownLease(cutOff)
      const given = sample(clock, { lease })
      await cutOff.accept([given])
      t.equal(cutOff.sharedLeases?.isHeld(lease), true)
      way.cut()
      let heldUntil = 0
      const watch = setInterval(() => {
        if (cutOff.sharedLeases?.isHeld(lease) === true) heldUntil = performance.now()
      }, 5)
      const { messages } = await claimed(outbox)
      const takenAt = performance.now()
      t.match(messages, [{ id: given.message.id, ambiguous: 1 }])
      t.ok(takenAt - heldUntil > 500, `it stopped ${Math.round(takenAt - heldUntil)} ms before`)
      await t.rejects(cutOff.claim('email', 1, LEASE_MS), StoreUnavailable)
      t.equal(cutOff.sharedLeases?.isHeld(ownLease(cutOff)), false, 'nor is a new one held')
      clearInterval(watch)

      way.mend()
      const other = sample(clock, { recipient: 'b@example.com' })
      await outbox.accept([other])
      const { messages: own } = await claimed(cutOff)
      t.match(own, [{ id: other.message.id, ambiguous: 0 }])
      t.equal(cutOff.sharedLeases?.isHeld(own[0]?.lease ?? lease), true, 'what it claims now is its own')
      t.equal(cutOff.sharedLeases?.isHeld(lease), false, 'what it had is not')
      t.same(await cutOff.settle(given.message.id, lease, { to: 'final', state: 'sent', answer: null }), {
        state: 'lost',
      })
      t.match(log, [/out of touch for \d+ s/])
    },
  )

  await t.test('one that is back is not robbed by another that has not noticed yet', async t => {
    const url = await rig.url()
    const way = await openWay(t, url)
    const slow = { everyMs: 1500, sureMs: 8000, goneMs: 2500 }
    const { outbox } = await open(t, url, slow)
    const { outbox: cutOff } = await open(t, way.url)
    await cutOff.accept([sample(clock, { lease: ownLease(cutOff) })])
    way.cut()
    t.match((await claimed(outbox)).messages, [{ ambiguous: 1 }], 'it is thought to be gone')
    way.mend()
    const sms = sample(clock, { channel: 'sms' })
    await outbox.accept([sms])
    let own: readonly ClaimedMessage[] = []
    // A busy machine takes its time to connect again.
    for (const end = performance.now() + 20_000; own.length === 0 && performance.now() < end; ) {
      own = await cutOff.claim('sms', 1, LEASE_MS).then(
        got => got.messages,
        () => [],
      )
      await wait(10)
    }
    t.match(own, [{ id: sms.message.id, ambiguous: 0 }])
    // Until its next report the other one takes this one for gone, and has not looked at this channel yet.
    t.same((await outbox.claim('sms', 1, LEASE_MS)).messages, [])
    t.match(await outbox.queries.findMessage(sms.message.id), { state: 'sending', ambiguous: 0 })
  })

  await t.test('the database is away for long: nobody is thought gone, everybody gives back', async t => {
    const url = await rig.url()
    const replicas = [await open(t, url), await open(t, url)]
    const held = await Promise.all(
      replicas.map(async ({ outbox }, n) => {
        const lease = ownLease(outbox)
        const given = sample(clock, { lease, recipient: `r${n}@example.com` })
        await outbox.accept([given])
        return { outbox, lease, id: given.message.id }
      }),
    )
    await rig.stop()
    await wait(QUICK.goneMs + 1000)
    await rig.start()
    const [first] = replicas
    const until = performance.now() + QUICK.goneMs - 500
    while (performance.now() < until) {
      t.same(await claimNow(first?.outbox as Outbox), [])
      await wait(100)
    }
    for (const { outbox, lease, id } of held) {
      t.equal(outbox.sharedLeases?.isHeld(lease), false)
      const settled = await outbox.settle(id, lease, { to: 'queued', dueAt: clock.now(), uncounted: true })
      t.match(settled, { state: 'queued' }, 'it is still there to be given back')
    }
    const { messages } = await claimed(first?.outbox as Outbox)
    t.match(messages, [
      { attempts: 1, ambiguous: 0 },
      { attempts: 1, ambiguous: 0 },
    ])
    for (const { log } of replicas) t.notMatch(log.join('\n'), /take over/)
  })

  await t.test('the database loses its power for a moment: claims hold on', async t => {
    const url = await rig.url()
    const { outbox } = await open(t, url, { everyMs: 150, sureMs: 20_000, goneMs: 30_000 })
    const lease = ownLease(outbox)
    const given = sample(clock, { lease })
    await outbox.accept([given])
    await rig.crash()
    t.equal(outbox.sharedLeases?.isHeld(lease), true)
    for (let tries = 0; tries < 100; tries += 1) {
      const settled = await outbox
        .settle(given.message.id, lease, { to: 'final', state: 'sent', answer: null })
        .catch(() => null)
      if (settled === null) await wait(50)
      else return t.match(settled, { state: 'sent' })
    }
    t.fail('it did not come back')
  })

  await t.test('clocks that are apart are named, and named again when they agree', async t => {
    const log: string[] = []
    let ahead = 7000
    const outbox = await createPostgresOutbox({
      url: await rig.url(),
      clock: { now: () => Date.now() + ahead },
      storeKeys: createStoreKeys(SECRET),
      maxBacklog: 1000,
      retentionDays: 30,
      heartbeats: QUICK,
      log: ({ message }) => log.push(message),
    })
    t.teardown(() => outbox.close())
    t.match(log, [/7 s apart: set both by NTP/])
    ahead = 0
    for (let tries = 0; log.length < 2 && tries < 100; tries += 1) await wait(50)
    t.match(log, [/apart/, /agree again/])
    await wait(500)
    t.equal(log.length, 2, 'and not over and over')
  })

  await t.test('a start waits for another replica that is changing the tables', async t => {
    const url = await rig.url()
    await (await open(t, url)).end()
    const migrating = new pg.Client(url)
    await migrating.connect()
    await migrating.query('BEGIN; SELECT pg_advisory_xact_lock(7310928441)')
    const starting = open(t, url)
    await wait(2500)
    await migrating.query('COMMIT')
    await migrating.end()
    t.equal(await (await starting).outbox.queries.probeCommit(), true)
  })
})
