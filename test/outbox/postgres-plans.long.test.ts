import pg from 'pg'
import t from 'tap'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { makeDays } from '../../src/outbox/postgres/days.ts'
import { createPostgresOutbox } from '../../src/outbox/postgres/outbox.ts'
import { askPostgres, noPostgres, startPostgres } from '../rigs/postgres.ts'
import {
  destinationOf,
  lease,
  NOON,
  record,
  STATISTICS_WITHOUT_BACKLOG,
  STORE,
  sample,
  testClock,
} from './samples.ts'

const OLD_ROWS = 300_000
const LIVE_ROWS = { 'no statistics': 20_000, 'statistics of a time without a backlog': 300_000 }
/** A node of a plan may look at so many rows of messages in all its loops: some hundred are moved or ended at a time. */
const MOST_ROWS = 600

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

interface LoggedPlan {
  readonly text: string
  readonly plan: PlanNode
}

/** The plans that auto_explain has written into the server's log, with what each node really did. */
function readPlans(log: string): readonly LoggedPlan[] {
  return [...log.matchAll(/ plan:\n((?:\t.*\n)+)/g)].map(([, json = '']) => {
    const { 'Query Text': text, Plan: plan } = JSON.parse(json) as Record<string, unknown>
    return { text: String(text), plan: plan as PlanNode }
  })
}

/** They serve lists alone. Another statement that has one walks through all of it, and a plan does not show the entries that it passes by. */
const OF_ARRIVAL = /arrival|\d_arrived_at/
/** Of messages that ended some days ago. Nothing that is done for every message may look there. */
const OLD_DAY = /^courier_finished_2026(10|110|111[0-8])/

/** Whether anything was sent to somebody, as far back as the store knows; and lists. They take a step for each day. */
const OF_ALL_DAYS =
  /^SELECT asked.recipient_hash|ORDER BY arrived_at DESC|^SELECT \* FROM \(SELECT arrived_at/

/** Statements that are rare, and look everywhere, or count: what people ask. */
const OF_PEOPLE = /SELECT .* FROM courier_messages WHERE id|^WITH named/s

/** Lists of states, of which there is much, little or nothing. */
const LISTS = [
  { state: 'refused', channel: 'sms' },
  { state: 'queued', channel: 'email' },
  { state: 'sending', channel: 'email' },
  { state: 'unknown' },
  { state: 'held' },
  { state: 'sent', channel: 'email' },
  { state: 'undelivered', channel: 'sms' },
] as const

/** The nodes that walked through messages. */
function findScans(node: PlanNode, isOfAllDays: boolean, most = MOST_ROWS): readonly string[] {
  const inner = (node.Plans ?? []).flatMap(each => findScans(each, isOfAllDays, most))
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  const rows = (node['Actual Rows'] + removed) * node['Actual Loops']
  const relation = node['Relation Name'] ?? ''
  const ofMessages = /^courier_(live|finished)/.test(relation)
  if ((ofMessages && node['Node Type'] === 'Seq Scan') || rows > most)
    return [
      ...inner,
      `${node['Node Type']} of ${rows} rows, ${removed} removed, by ${node['Index Name'] ?? ''}`,
    ]
  if (OF_ARRIVAL.test(node['Index Name'] ?? '')) return [...inner, `${node['Node Type']} by arrival`]
  return !isOfAllDays && node['Actual Loops'] > 0 && OLD_DAY.test(relation)
    ? [...inner, `${node['Node Type']} of an old day`]
    : inner
}

/** What the planner knows of the messages before there are many: it must not matter. */
const STATISTICS = {
  'no statistics': '',
  'statistics of a time without a backlog': STATISTICS_WITHOUT_BACKLOG,
} as const

t.test('no statement walks through the live messages', { skip: noPostgres }, async t => {
  const rig = await startPostgres(t)

  for (const [name, statistics] of Object.entries(STATISTICS)) {
    await t.test(name, async t => {
      const url = new URL(await rig.url())
      const options = url.searchParams.get('options') ?? ''
      const explain = ['log_min_duration=0', 'log_analyze=on', 'log_timing=off', 'log_format=json']
        .map(each => `-c auto_explain.${each}`)
        .join(' ')
      url.searchParams.set('options', `${options} -c session_preload_libraries=auto_explain ${explain}`)
      const clock = testClock()
      const outbox = await createPostgresOutbox({ ...STORE, clock, url: url.href })
      t.teardown(() => outbox.close())
      url.searchParams.set('options', options)
      await askPostgres(url.href, 'ALTER TABLE courier_live SET (autovacuum_enabled = off); ANALYZE')
      await makeMonth(url.href)
      // A session plans while there is little yet, and may keep the plan.
      await useEveryStatement(outbox, clock, 'early')
      await fill(url.href, statistics, LIVE_ROWS[name as keyof typeof LIVE_ROWS])
      const before = (await rig.log()).length
      await useEveryStatement(outbox, clock, 'late')
      const plans = readPlans((await rig.log()).slice(before)).filter(
        ({ text }) => /courier_(live|finished|earlier|rows|messages)/.test(text) && !OF_PEOPLE.test(text),
      )
      const scansOf = (plans: readonly LoggedPlan[], most?: number) =>
        plans.flatMap(({ text, plan }) =>
          findScans(plan, OF_ALL_DAYS.test(text), most).map(scan => `${scan}: ${text.slice(0, 120)}`),
        )
      t.same([...new Set(scansOf(plans))], [])
      const listed = (await rig.log()).length
      for (const filter of LISTS) await outbox.queries.listMessages({ limit: 500, ...filter })
      const lists = readPlans((await rig.log()).slice(listed)).filter(({ text }) =>
        text.includes('courier_messages'),
      )
      t.equal(lists.length, 9, 'one for each channel')
      t.same([...new Set(scansOf(lists))], [], 'no more is looked at than is listed')
      const sought = (await rig.log()).length
      for (const filter of [
        { kind: 'login-code' },
        { kind: 'login-code', state: 'sent', channel: 'email' },
      ] as const) {
        const { messages, lookedFrom } = await outbox.queries.listMessages({ limit: 50, ...filter })
        t.same(messages, [])
        t.type(lookedFrom, 'number', 'the rest was not looked through')
      }
      const seeking = readPlans((await rig.log()).slice(sought)).filter(({ text }) =>
        text.includes('courier_messages'),
      )
      t.equal(seeking.length, 4)
      t.same(
        [...new Set(scansOf(seeking, 12_000))].filter(scan => !scan.includes('by arrival')),
        [],
      )
      const { messages } = await outbox.claim('email', 5, 60_000, ['full'])
      t.ok(messages.length > 0, 'they hide no other')
      const texts = new Set(plans.map(({ text }) => text))
      t.ok(texts.size >= 12, `${texts.size} statements were seen`)
    })
  }
})

/**
 * Makes statistics, then 20,000 messages that ended, and those that wait, in groups and of recipients of their own: half of them for
 * later, to a domain each, and of the others, all to one, half are due and half become due.
 */
async function fill(url: string, statistics: string, rows: number): Promise<void> {
  if (statistics !== '') await askPostgres(url, statistics)
  await askPostgres(
    url,
    `INSERT INTO courier_finished (seq, id, channel, kind, purpose, rank, state, attempts, ambiguous, arrived_at, expires_at,
        final_at, dedupe_key, recipient_hash, begun, outdated, masked_recipient)
      SELECT -10000 - n, 'o' || n, 'email', 'activation-code', 'code', 0, 'sent', 1, 0, at, at, at, 'o' || n, 'o' || n, true, false, 'm'
      FROM (SELECT n, ${NOON} - (n % 29)::bigint * 86400000 AS at FROM generate_series(1, ${OLD_ROWS}) AS n) AS old;
    INSERT INTO courier_live (id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at,
        expires_at, due_at, dedupe_key, recipient_hash, group_key, begun, masked_recipient, destination)
      SELECT 'w' || n, 'email', 'activation-code', 'code', n % 2, 'queued', CASE part WHEN 3 THEN 1 ELSE 0 END, 1, 0,
        ${NOON} - n % 50000, ${NOON} + 36000000, ${NOON} + CASE WHEN part < 2 THEN 6000000 + n ELSE part END, 'd' || n, 'r' || n,
        'g' || n, false, 'm', CASE WHEN part < 2 THEN 'd' || n ELSE 'full' END
      FROM (SELECT n, n * 4 / (${rows} + 1) AS part FROM generate_series(1, ${rows}) AS n) AS r`,
  )
}

/** Makes the partitions of 30 days. */
async function makeMonth(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  const client = await pool.connect()
  await makeDays(
    client,
    30,
    Array.from({ length: 31 }, (_, n) => NOON - (n - 1) * 86_400_000),
  )
  client.release()
  await pool.end()
}

/** Calls whatever the service's work calls, each some times. */
async function useEveryStatement(
  outbox: Outbox,
  clock: ReturnType<typeof testClock>,
  when: string,
): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const of = (name: string, more: object = {}) =>
      sample(clock, { recipient: `${when}-${name}${n}@example.com`, ...more })
    const held = { ...lease(clock), begins: true }
    const handed = of('handed', { lease: held })
    const charges = [{ quota: 'q', bucket: 'b', windowMs: 1000, limit: 99, newcomersOnly: true } as const]
    const short = of('short', { lifeMs: 1000, lease: undefined, charges })
    await outbox.accept([handed, short, ...Array.from({ length: 20 }, (_, k) => of(`many${k}-`))])
    await outbox.accept([of('handed', { code: '2' }), of('many1-', { code: '2' })])
    await outbox.accept([handed])
    clock.advance(1500)
    await outbox.accept([of('short')])
    await outbox.queries.readWaiting('email', ['full'])
    const { messages } = await outbox.claim('email', 5, 60_000, ['full'])
    await outbox.claim('email', 5, 60_000, ['full', destinationOf('email', 'any@example.com')])
    await Promise.all(messages.map(async each => outbox.beginAttempt(each.id, each.lease)))
    await Promise.all(
      messages.map((each, k) =>
        outbox.settle(
          each.id,
          each.lease,
          k % 2 === 0
            ? {
                to: 'final',
                state: 'sent',
                answer: null,
                providerId: each.id,
                records: [record(clock, 'sent')],
              }
            : { to: 'queued', dueAt: clock.now() + 1000, ambiguous: 1 },
        ),
      ),
    )
    const report = { channel: 'email', status: 'delivered', errorCode: null, at: clock.now() } as const
    await Promise.all(messages.map(({ id }) => outbox.writeReceipt({ ...report, providerId: id, id })))
    await outbox.actions.retryMessage(messages[1]?.id ?? '')
    await outbox.actions.cancelMessage(messages[1]?.id ?? '')
    const sent = { to: 'final', state: 'sent', answer: null, records: [record(clock, 'sent')] } as const
    await outbox.settle(handed.message.id, held, sent)
    await outbox.queries.findMessage(handed.message.id)
    clock.advance(61_000)
    await outbox.claim('email', 5, 60_000)
  }
}
