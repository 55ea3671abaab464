import t, { type Test } from 'tap'
import type { ClaimedMessage, Lease, Outbox } from '../../src/outbox/outbox.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { askPostgres, connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { until } from '../rigs/until.ts'
import { openWay } from '../rigs/way.ts'
import { STORE, sample } from './samples.ts'

/** Far longer than any test: what is claimed sooner was taken over because its process is gone. */
const LEASE_MS = 3_600_000
const HOUR = 3_600_000
/** No timer of these ends within a test: a heartbeat is sent when one claims after two hours, by the time that stands in the test. */
const LIMITS = { everyMs: HOUR, sureMs: 2 * HOUR, goneMs: 4 * HOUR }
const ours = { now: Date.now }

/** Time by which replicas notice that another one is gone. It stands still unless a test lets it pass. */
interface Time {
  at: number
}

async function open(t: Test, url: string, time: Time, clock = ours) {
  const log: string[] = []
  const commits: object[] = []
  const outbox = await createPostgresOutbox({
    ...STORE,
    url,
    clock,
    heartbeats: LIMITS,
    // Shorter than that of a heartbeat, so that one that fails is not sent again at once: the time of its next connection stands still.
    statementTimeoutMs: 800,
    monotonic: () => time.at,
    onCommit: each => commits.push(each),
    log: ({ doing, message }) => log.push(`${doing}: ${message}`),
  })
  let ended: Promise<void> | undefined
  const end = () => (ended ??= outbox.close())
  t.teardown(end)
  return { outbox, log, commits, end }
}

/** A lease as the delivery makes them on a shared store, for a message whose attempt begins at once. */
function ownLease({ sharedLeases }: Outbox): Lease {
  return { token: sharedLeases?.newLeaseToken() ?? '', until: ours.now() + LEASE_MS, begins: true }
}

/** What a claim gives, once the store can be reached. */
async function claim(outbox: Outbox, channel: 'email' | 'sms' = 'email'): Promise<readonly ClaimedMessage[]> {
  let claimed: readonly ClaimedMessage[] | undefined
  await until(async () => {
    claimed = await outbox.claim(channel, 10, LEASE_MS).then(
      ({ messages }) => messages,
      error => {
        if (!(error instanceof StoreUnavailable)) throw error
        return undefined
      },
    )
    return claimed !== undefined
  }, 'a claim')
  return claimed ?? []
}

/** Claims every two hours until a message that somebody was sending waits again, ten times at most. @returns how often it took */
async function takeOver(outbox: Outbox, time: Time, id: string): Promise<number> {
  for (let looks = 1; ; looks += 1) {
    time.at += 2 * HOUR
    await claim(outbox)
    const view = await outbox.queries.findMessage(id)
    if (view?.state !== 'sending' || looks === 10) return looks
  }
}

/** A message that was taken over. */
const TAKEN_OVER = { state: 'queued', attempts: 1, ambiguous: 1, timeline: [{ outcome: 'lease-lost' }] }

t.test('processes on the shared store', { skip: noPostgres, jobs: 1 }, async t => {
  const rig = await startPostgres(t)
  /** How many heartbeats each replica has sent. */
  const heartbeats = async (url: string): Promise<readonly number[]> => {
    const rows = await askPostgres<{ heartbeats: string }>(url, 'SELECT heartbeats FROM courier_replicas')
    return rows.map(row => Number(row.heartbeats))
  }
  await t.test(
    'a process that ends in order leaves no trace; what it leaves is taken over at once',
    async t => {
      const url = await rig.url()
      const time = { at: 0 }
      const { outbox } = await open(t, url, time)
      const { outbox: tidy, commits, end: endTidy } = await open(t, url, time)
      const { outbox: untidy, end: endUntidy } = await open(t, url, time)
      t.equal((await heartbeats(url)).length, 3)
      const [done, given] = [ownLease(tidy), ownLease(untidy)]
      const [first, second] = [
        sample(ours, { lease: done }),
        sample(ours, { lease: given, recipient: 'b@example.com' }),
      ]
      await tidy.accept([first])
      await untidy.accept([second])
      await tidy.settle(first.message.id, done, {
        to: 'queued',
        dueAt: ours.now() + 60_000,
        uncounted: true,
      })
      const commit = { ms: 0, calls: 1 }
      t.same(commits, [commit, commit], 'that of the message, and that of its end')
      await endTidy()
      t.equal((await heartbeats(url)).length, 2)
      await endUntidy()
      t.equal((await heartbeats(url)).length, 2, 'it is needed to know what it left')
      t.equal(await takeOver(outbox, time, second.message.id), 1, 'with the next heartbeat')
      t.match(await outbox.queries.findMessage(second.message.id), TAKEN_OVER)
    },
  )

  await t.test(
    'a process that is cut off begins nothing before others take over, nor when it is back',
    async t => {
      const url = await rig.url()
      const way = await openWay(t, url)
      const time = { at: 0 }
      const { outbox } = await open(t, url, time)
      const { outbox: cutOff, log } = await open(t, way.url, time)
      const lease = ownLease(cutOff)
      const given = sample(ours, { lease })
      await cutOff.accept([given])
      t.equal(cutOff.sharedLeases?.isHeld(lease), true)
      way.cut()
      time.at += 2 * HOUR
      t.equal(cutOff.sharedLeases?.isHeld(lease), false, 'it has stopped')
      await claim(outbox)
      time.at += 2 * HOUR
      await claim(outbox)
      t.match(await outbox.queries.findMessage(given.message.id), { state: 'sending' }, 'nobody has yet')
      t.equal(await takeOver(outbox, time, given.message.id), 1)
      t.match(await outbox.queries.findMessage(given.message.id), TAKEN_OVER)
      await t.rejects(cutOff.claim('email', 1, LEASE_MS), StoreUnavailable)
      t.equal(cutOff.sharedLeases?.isHeld(ownLease(cutOff)), false, 'nor is a new one held')

      way.mend()
      const other = sample(ours, { recipient: 'b@example.com' })
      await outbox.accept([other])
      const own = (await claim(cutOff)).filter(({ id }) => id === other.message.id)
      t.match(own, [{ ambiguous: 0 }])
      t.equal(cutOff.sharedLeases?.isHeld(own[0]?.lease ?? lease), true, 'what it claims now is its own')
      t.equal(cutOff.sharedLeases?.isHeld(lease), false, 'what it had is not')
      t.same(await cutOff.settle(given.message.id, lease, { to: 'final', state: 'sent', answer: null }), {
        state: 'lost',
      })
      t.match(log.join(), /out of touch for 21600 s/)
    },
  )

  await t.test('one that is back is not robbed by another that has not noticed yet', async t => {
    const url = await rig.url()
    const way = await openWay(t, url)
    const time = { at: 0 }
    const { outbox } = await open(t, url, time)
    const { outbox: cutOff } = await open(t, way.url, time)
    const given = sample(ours, { lease: ownLease(cutOff) })
    await cutOff.accept([given])
    way.cut()
    t.equal(await takeOver(outbox, time, given.message.id), 3, 'it is thought to be gone')
    way.mend()
    const sms = sample(ours, { channel: 'sms' })
    await outbox.accept([sms])
    const own = await claim(cutOff, 'sms')
    t.match(own, [{ id: sms.message.id, ambiguous: 0 }])
    // Until its next report the other one takes this one for gone, and has not looked at this channel yet.
    t.same(await claim(outbox, 'sms'), [])
    t.match(await outbox.queries.findMessage(sms.message.id), { state: 'sending', ambiguous: 0 })
  })

  await t.test('a clock that is apart from that of the database is named', async t => {
    const { log } = await open(t, await rig.url(), { at: 0 }, { now: () => Date.now() + 7000 })
    t.match(log, [/7 s apart: set both by NTP/])
  })

  await t.test('a start waits for another replica that is changing the tables', async t => {
    const url = await rig.url()
    await (await open(t, url, { at: 0 })).end()
    const migrating = await connectTo(url)
    await migrating.query('BEGIN; SELECT pg_advisory_xact_lock(7310928441)')
    const starting = open(t, url, { at: 0 })
    // For longer than any other statement may.
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND clock_timestamp() > query_start + interval '2 s'"
    await until(async () => (await askPostgres(url, waiting)).length === 1, 'it waits')
    await migrating.query('COMMIT')
    await migrating.end()
    t.equal(await (await starting).outbox.queries.probeCommit(), true)
  })
})
