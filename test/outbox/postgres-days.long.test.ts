import t from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { connectTo, noPostgres, startPostgres } from '../rigs/postgres.ts'
import { lease, NOON, STORE, sample, testClock } from './samples.ts'

const DAY = 86_400_000
const SENT = { to: 'final', state: 'sent', answer: null } as const

t.test('what ended lies in partitions by the day', { skip: noPostgres }, async t => {
  const rig = await startPostgres(t)

  /** A store with some replicas on it, which share a clock. */
  async function openStore(replicas: number, retentionDays = 30) {
    const url = await rig.url()
    const clock = testClock()
    const log = ({ doing = '', message = '' }) => doing === 'prune' && t.fail(message)
    const open = () => createPostgresOutbox({ ...STORE, retentionDays, url, clock, log })
    const outboxes = [await open()]
    for (let n = 1; n < replicas; n += 1) outboxes.push(await open())
    t.teardown(() => Promise.all(outboxes.map(each => each.close())))
    const client = await connectTo(url)
    t.teardown(() => client.end())
    const ask = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows
    let sent = 0
    /** Takes a message, and gives the function that ends it. */
    const take = async (outbox: Outbox | undefined) => {
      sent += 1
      const held = lease(clock, 400 * DAY)
      const given = sample(clock, { recipient: `${sent}@example.com`, lifeMs: 400 * DAY, lease: held })
      await outbox?.accept([given])
      return { given, end: () => outbox?.settle(given.message.id, held, SENT) }
    }
    /** Sends a message that is being sent for so long. */
    const send = async (outbox: Outbox | undefined, ms = 0) => {
      const { given, end } = await take(outbox)
      clock.advance(ms)
      await end()
      return given
    }
    const days = async () =>
      (
        await ask(
          "SELECT inhrelid::regclass::text AS day FROM pg_inherits WHERE inhparent = 'courier_finished'::regclass ORDER BY 1",
        )
      ).map(({ day }) => String(day).replace(/.*finished_/, ''))
    return {
      url,
      client,
      clock,
      outboxes,
      ask,
      take,
      send,
      days,
      open,
      prune: () => outboxes[0]?.claim('sms', 1, 1000),
    }
  }

  await t.test('an end on a day that nobody foresaw makes its partition, for whoever is first', async t => {
    const { clock, outboxes, take, send, days } = await openStore(2)
    const [one, other] = outboxes
    t.same(await days(), ['20261120'])
    const taken = [await take(one), await take(other)]
    clock.advance(40 * DAY)
    await Promise.all(taken.map(async ({ end }) => end()))
    for (const { given } of taken)
      t.match(await other?.queries.findMessage(given.message.id), { state: 'sent', finalAt: clock.now() })
    clock.set(NOON - 400 * DAY)
    t.match(await one?.queries.findMessage((await send(one)).message.id), { finalAt: NOON - 400 * DAY })
    t.same(await days(), ['20251016', '20261120', '20261230'])
  })

  await t.test('today and tomorrow are made ahead, and what is too old is dropped', async t => {
    const { clock, outboxes, ask, send, days, prune } = await openStore(1, 3)
    const [outbox] = outboxes
    const fault = { verdict: 'recipient', scope: 'recipient', reason: null } as const
    const said = { channel: 'email', status: 'undelivered', errorCode: null, fault } as const
    const report = (id: string) => outbox?.writeReceipt({ ...said, id, at: clock.now() })
    const reports = () => ask('SELECT id AS of FROM courier_reports UNION SELECT id FROM courier_undelivered')
    const { message, ...old } = await send(outbox, 0)
    await report(message.id)
    await prune()
    t.same(await days(), ['20261120', '20261121'])
    const young = await send(outbox, DAY)
    clock.set(NOON + 4 * DAY - 60_000)
    await prune()
    t.same(await days(), ['20261120', '20261121', '20261123', '20261124'], 'all of a day goes at once')
    clock.set(NOON + 4 * DAY)
    await prune()
    t.same(await days(), ['20261121', '20261123', '20261124', '20261125'])
    t.same(await reports(), [])
    t.equal(await outbox?.queries.findMessage(message.id), null)
    t.match(await outbox?.queries.findMessage(young.message.id), { state: 'sent' })
    t.match(await outbox?.accept([{ message, ...old }]), [{ is: 'stored' }])
    await report(young.message.id)
    t.equal(await outbox?.actions.forgetRecipient(young.recipientHash), 1)
    t.same(await reports(), [], 'what was reported on a message is forgotten with it')
  })

  await t.test('nobody waits for a day that is being read, and it is dropped later', async t => {
    const { clock, outboxes, ask, send, days, prune } = await openStore(1, 3)
    await send(outboxes[0])
    await ask('BEGIN')
    await ask('SELECT count(*) FROM courier_finished')
    clock.advance(5 * DAY)
    // Both end while it is being read.
    await Promise.all([prune(), send(outboxes[0])])
    t.ok((await days()).includes('20261120'))
    await ask('COMMIT')
    clock.advance(61_000)
    // On both connections of before: neither was left in what had failed.
    await Promise.all([prune(), send(outboxes[0])])
    t.notOk((await days()).includes('20261120'))
  })

  await t.test('a code is known that a replica has ended whose clock is behind', async t => {
    const { url, clock, outboxes } = await openStore(1)
    const behind = { now: () => clock.now() - 1_800_000 }
    const other = await createPostgresOutbox({ ...STORE, url, clock: behind })
    t.teardown(() => other.close())
    const older = sample(clock, { code: '111111' })
    await outboxes[0]?.accept([older])
    const newer = sample(clock, { code: '222222' })
    t.match(await other.accept([newer]), [{ is: 'stored', superseded: [older.message.id] }])
    const repeated = sample(clock, { code: '111111' })
    t.match(await outboxes[0]?.accept([repeated]), [
      { is: 'finished', id: older.message.id, state: 'superseded' },
    ])
  })

  await t.test('what counts no more is deleted, and nothing else', async t => {
    const { clock, ask, prune } = await openStore(1, 3)
    const [minute, quarter] = [NOON / 60_000 - 3 * 1440, NOON / 900_000 - 50 * 4]
    await ask(`INSERT INTO courier_quota_counters VALUES ('past', 0, 1, 1, ${NOON}), ('counts', 0, 40000, 40000, ${NOON + 1});
      INSERT INTO courier_memos VALUES ('past', '1', ${NOON}), ('counts', '1', ${NOON + 1});
      INSERT INTO courier_known_numbers VALUES ('past', 0, ${NOON}), ('counts', 0, ${NOON + 1});
      INSERT INTO courier_undelivered VALUES (${NOON - 3 * DAY - 1}, 'past', 'sms', 'k'), (${NOON - 3 * DAY}, 'counts', 'sms', 'k');
      INSERT INTO courier_figures VALUES (${quarter - 1}, 'sms', 'counts', 0, 1), (${quarter}, 'sms', 'counts', 0, 1);
      INSERT INTO courier_counts VALUES (${minute - 1}, 'email', 'counts', 'sent', 0, 1), (${minute}, 'email', 'counts', 'sent', 0, 1);
      INSERT INTO courier_replicas VALUES ('past', 1, clock_timestamp() - interval '61 minutes'),
        ('counts', 1, clock_timestamp() - interval '59 minutes')`)
    t.equal(clock.now(), NOON)
    await prune()
    for (const left of [
      'name FROM courier_quota_counters',
      'name FROM courier_memos',
      'name FROM courier_figures',
      'recipient_hash AS name FROM courier_known_numbers',
      'id AS name FROM courier_undelivered',
      'kind AS name FROM courier_counts',
      "name FROM courier_replicas WHERE name IN ('past', 'counts')",
    ])
      t.same(await ask(`SELECT ${left}`), [{ name: 'counts' }], left)
    await ask(`INSERT INTO courier_memos SELECT n::text, '1', 0 FROM generate_series(1, 1000) AS n`)
    clock.advance(60_000)
    // Another replica deletes these.
    await ask('BEGIN; SELECT FROM courier_known_numbers FOR UPDATE')
    const left = []
    for (let n = 0; n < 4; n += 1) {
      await prune()
      left.push((await ask('SELECT count(*)::int AS memos FROM courier_memos'))[0]?.['memos'])
    }
    t.same(left, [501, 1, 0, 0], 'a step at each call, as long as there is more')
  })

  await t.test('what 1.1.0 had left of the time before it has a day of its own after a start', async t => {
    const { ask, open } = await openStore(1, 3)
    await ask(`INSERT INTO courier_earlier (seq, id, channel, kind, purpose, rank, state, attempts, ambiguous, arrived_at,
        expires_at, final_at, dedupe_key, recipient_hash, begun, outdated, masked_recipient)
      SELECT n, 'e' || n, 'email', 'k', 'code', 0, 'sent', 1, 0, 0, 0, ${NOON} - n * ${DAY}, 'd', 'r', true, false, 'm' FROM generate_series(1, 2) AS n`)
    t.teardown((await open()).close)
    t.same(await ask("SELECT part, id FROM courier_rows WHERE id LIKE 'e%' ORDER BY id"), [
      { part: 'finished', id: 'e1' },
      { part: 'finished', id: 'e2' },
    ])
  })
})
