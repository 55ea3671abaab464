import type { Channel } from '../../messages/message.ts'
import { claimMessages, endOutlived, giveBack, takeOver } from '../decide.ts'
import { DUE_COLUMNS, dueMessageOf, ROW_COLUMNS, rowOf } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import { type ClaimOrder, claimOrder, type DueEntry, lookedAt, shareClaim } from '../rules.ts'
import {
  awaitStatements,
  beginTransaction,
  type Client,
  type QueryResult,
  runStatement,
  statement,
} from './connect.ts'
import { type DeadReplica, LOCK_DEAD_REPLICAS, type ReplicaHeartbeats, STILL_DEAD } from './heartbeats.ts'
import { nameQueue, QUEUE } from './schema.ts'
import { openTransaction, type WriterOptions } from './transaction.ts'
import type { UncertainCommits } from './uncertain.ts'

/** The most rows that one claim moves into the queue, ends, and takes over, each; the next claim goes on. */
const STEP = 500
/** The most destinations that a claim looks through when its step was not enough, and the most that it moves of each into the queue. */
const PROMOTED_DESTINATIONS = 200
const PROMOTED_EACH = 20

/**
 * Claims due messages, and settles on the way what needs no attempt. Rows that another replica has locked are skipped.
 *
 * @param heartbeats names the leases of a claim, and knows whose leases need not be waited for.
 * @param onTakeOver is told how many messages were taken over from dead replicas.
 */
export function createClaim(
  options: WriterOptions,
  heartbeats: ReplicaHeartbeats,
  uncertain: UncertainCommits,
  onTakeOver: (count: number) => void,
) {
  const { payloadKeys, ends } = options
  /** The heartbeat after which each channel was last searched for the messages of dead replicas. */
  const searchedAfter = new Map<Channel, number>()
  const promote = createPromote()
  const findOthers = createFindOthers()

  return async (client: Client, call: Takes<'claim'>): Promise<Gives<'claim'>> => {
    const { channel, limit, now, leaseMs } = call
    const beat = heartbeats.heartbeats()
    const dead = searchedAfter.get(channel) === beat ? [] : heartbeats.deadReplicas()
    await ends.find(client)
    if (!uncertain.areGivenUp() && dead.length === 0) {
      // One statement says whether a claim would find or change anything: most claims of a service that is idle would not.
      const { nextDueAt, expiry } = await lookAt(client, call)
      if ((nextDueAt ?? Infinity) > now && (expiry ?? Infinity) > now)
        return { messages: [], settled: ends.take(channel), nextDueAt }
    }
    const { work, writeChanges, commit } = openTransaction(client, options, now)
    const [, ofDead, lost, outlived, orphans] = await awaitStatements(
      beginTransaction(client),
      lockClaimedByDead(client, channel, dead),
      runStatement(client, LOST, channel, now),
      runStatement(client, OUTLIVED, channel, now),
      lockOrphans(client, channel, uncertain),
      promote(client, call),
    )
    const found = [...ofDead.rows, ...lost.rows].map(rowOf)
    const taken = new Map(found.map(row => [row.seq, row]))
    for (const row of taken.values()) takeOver(work, row)
    for (const row of outlived.rows.map(rowOf)) endOutlived(work, row)
    for (const row of orphans.rows.map(rowOf)) if (!taken.has(row.seq)) giveBack(work, row)
    const oldest = (rank: number) =>
      runStatement(client, FIRST_DUE['oldest-first'], channel, rank, lookedAt(limit))
    const [, ...read] = await Promise.all([writeChanges(), oldest(0), oldest(1)])
    const due = (await lockDue(client, call, read, findOthers)).map(read => dueMessageOf(read, payloadKeys))
    const token = heartbeats.newLeaseToken()
    let leases = 0
    const messages = claimMessages(work, due, () => {
      leases += 1
      return { token: `${token}.${leases}`, until: now + leaseMs }
    })
    uncertain.begin(token, leaseMs)
    try {
      await commit()
      const { nextDueAt } = await lookAt(client, call)
      uncertain.confirm(token)
      if (ofDead.rows.length < STEP) searchedAfter.set(channel, beat)
      if (ofDead.rows.length > 0) onTakeOver(ofDead.rows.length)
      return { messages, settled: ends.take(channel), nextDueAt }
    } catch (error) {
      uncertain.giveUp(token)
      throw error
    }
  }
}

/** Looks at what waits in a channel; times are ms since the epoch. @returns when to claim again, and when the first life is over. */
async function lookAt(
  client: Client,
  { channel, now, passOver }: Takes<'claim'>,
): Promise<{ readonly nextDueAt: number | null; readonly expiry: number | null }> {
  const queues = [nameQueue(channel, 0, 1), nameQueue(channel, 1, 1)]
  const most = passOver.length === 0 ? 1 : lookedAt(0)
  const { rows } = await runStatement(client, LOOK, channel, ...queues, passOver, most)
  const { code, other, next, expiry } = rows[0] as Record<string, string | number | null>
  const isDue = code !== null || other !== null
  const nextDueAt = isDue ? now : next === null ? null : Math.max(now, Number(next))
  return { nextDueAt, expiry: expiry as number | null }
}

type FindOthers = ReturnType<typeof createFindOthers>

/** Makes the function that finds messages of destinations that are not `served`; each time it goes on where it stopped. */
function createFindOthers() {
  const reached = new Map<string, string>()
  return async (
    client: Client,
    queue: string,
    order: ClaimOrder,
    served: ReadonlySet<string>,
    room: number,
  ): Promise<readonly DueEntry[]> => {
    const from = reached.get(queue) ?? ''
    const { rows } = await runStatement(client, OTHERS[order], queue, from, [...served], room)
    const found = rows as unknown as readonly DueEntry[]
    reached.set(queue, `${found.at(-1)?.destination ?? ''} `)
    return found.slice(0, room)
  }
}

/** Locks the due messages that are to be claimed, in order. @param read the oldest of each rank, codes first. */
async function lockDue(
  client: Client,
  { channel, limit, now, passOver }: Takes<'claim'>,
  read: readonly QueryResult[],
  findOthers: FindOthers,
): Promise<QueryResult['rows']> {
  const passed = new Set(passOver)
  const most = lookedAt(limit)
  const freeOf = ({ rows }: QueryResult) =>
    (rows as unknown as readonly DueEntry[]).filter(({ destination }) => !passed.has(destination))
  const seqs: number[] = []
  for (const [rank, first] of read.entries()) {
    const left = limit - seqs.length
    if (left === 0 || first.rows.length === 0) continue
    const isAll = first.rows.length < most
    let due = freeOf(first)
    const order = claimOrder(due[0]?.dueAt ?? 0, now)
    if (order === 'newest-first')
      due = isAll
        ? due.toReversed()
        : freeOf(await runStatement(client, FIRST_DUE[order], channel, rank, most))
    const { room, served, fill } = shareClaim(due, order, left)
    const queue = nameQueue(channel, rank, 1)
    const others =
      isAll || room === 0 ? [] : await findOthers(client, queue, order, served.union(passed), room)
    seqs.push(...fill(others).map(({ seq }) => seq))
  }
  if (seqs.length === 0) return []
  const { rows } = await runStatement(client, DUE, seqs)
  return rows.sort((a, b) => seqs.indexOf(a['seq'] as number) - seqs.indexOf(b['seq'] as number))
}

/** Makes the function that moves what is due into the queue. Where its step was not enough, each destination gets some. */
function createPromote() {
  const reached = new Map<string, string>()
  return async (client: Client, { channel, now, passOver }: Takes<'claim'>): Promise<void> => {
    const promoted = [0, 1].map(rank => runStatement(client, PROMOTE, channel, rank, now))
    for (const [rank, { rowCount }] of (await awaitStatements(...promoted)).entries()) {
      if (rowCount !== STEP) continue
      const queue = nameQueue(channel, rank, 0)
      const from = reached.get(queue) ?? ''
      const { rows } = await runStatement(client, PROMOTE_OTHERS, queue, from, passOver, now)
      reached.set(queue, rows[0]?.['next'] as string)
    }
  }
}

interface Found {
  readonly rows: QueryResult['rows']
}
const NOTHING: Promise<Found> = Promise.resolve({ rows: [] })

/** Locks the messages that are stored under leases whose commits were given up. */
async function lockOrphans(
  client: Client,
  channel: Channel,
  { areGivenUp, findGivenUp }: UncertainCommits,
): Promise<Found> {
  if (!areGivenUp()) return NOTHING
  const { rows } = await runStatement(client, HELD, channel)
  const orphans = new Set(findGivenUp(rows.map(row => row['lease_token'] as string)))
  if (orphans.size === 0) return NOTHING
  const seqs = rows.filter(row => orphans.has(row['lease_token'] as string)).map(row => row['seq'])
  return runStatement(client, UNCOMMITTED, seqs, [...orphans])
}

async function lockClaimedByDead(
  client: Client,
  channel: Channel,
  dead: readonly DeadReplica[],
): Promise<Found> {
  if (dead.length === 0) return NOTHING
  const names = dead.map(each => each.name)
  const heartbeats = dead.map(each => each.heartbeats)
  const [, claimed] = await awaitStatements(
    runStatement(client, LOCK_DEAD_REPLICAS, names),
    runStatement(client, CLAIMED_BY_DEAD, channel, names, heartbeats),
  )
  return claimed
}

const LOST = statement`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until <= $2
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const CLAIMED_BY_DEAD = statement`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND split_part(m.lease_token, '.', 1) IN (${STILL_DEAD})
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE OF m SKIP LOCKED`
const OUTLIVED = statement`SELECT ${ROW_COLUMNS} FROM courier_live m
    WHERE m.ready IS NOT NULL AND m.channel = $1 AND m.expires_at <= $2
    ORDER BY m.expires_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const UNCOMMITTED = statement`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.seq = ANY($1::bigint[])
    AND m.lease_token = ANY($2::text[]) AND m.lease_until IS NOT NULL ORDER BY m.seq FOR UPDATE SKIP LOCKED`
const HELD = statement`SELECT seq, lease_token FROM courier_live WHERE channel = $1 AND lease_until IS NOT NULL`
const PROMOTE = statement`UPDATE courier_live SET ready = 1 WHERE seq IN
    (SELECT seq FROM courier_live WHERE ready = 0 AND channel = $1 AND rank = $2::smallint AND due_at <= $3
     ORDER BY due_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`
const firstOrderedBy = (order: string) =>
  statement`SELECT seq, destination, due_at AS "dueAt" FROM courier_live
    WHERE ready = 1 AND channel = $1 AND rank = $2::smallint ORDER BY ${order} LIMIT $3`
const FIRST_DUE = {
  'oldest-first': firstOrderedBy('channel DESC, rank DESC, seq'),
  'newest-first': firstOrderedBy('channel, rank, seq DESC'),
}
const DUE = statement`SELECT ${DUE_COLUMNS} FROM courier_live m
    WHERE m.seq = ANY($1::bigint[]) AND m.ready = 1 FOR UPDATE SKIP LOCKED`
/** The destinations of a queue from one on, each found by a step of its own: no more are looked for than are read. */
const destinationsFrom = (name: string, queue: string, from: string, until = '') => {
  const next = (after: string) =>
    `SELECT destination FROM courier_live WHERE ${QUEUE} = ${queue} AND destination ${after} ${until}
      ORDER BY ${QUEUE}, destination LIMIT 1`
  return `${name}(destination) AS ((${next(`>= ${from}`)})
    UNION ALL SELECT (${next(`> ${name}.destination`)}) FROM ${name} WHERE ${name}.destination IS NOT NULL)`
}
const destinationsBut = (name: string, passOver: string) =>
  `SELECT destination FROM ${name} WHERE destination IS NOT NULL AND destination <> ALL(${passOver}::text[])`
const othersOrderedBy = (order: string) =>
  statement`WITH RECURSIVE ${destinationsFrom('after', '$1::text', '$2::text')},
    ${destinationsFrom('before', '$1::text', "''", 'AND destination < $2::text')},
    found AS MATERIALIZED (${destinationsBut('after', '$3')} UNION ALL ${destinationsBut('before', '$3')} LIMIT $4::int)
    SELECT m.seq, m.destination, m.due_at AS "dueAt" FROM found CROSS JOIN LATERAL (
      SELECT seq, destination, due_at FROM courier_live WHERE ${QUEUE} = $1::text AND destination = found.destination
      ORDER BY ${order} LIMIT (SELECT ($4::int + count(*) - 1) / greatest(count(*), 1) FROM found)) AS m`
const OTHERS = {
  'oldest-first': othersOrderedBy(`${QUEUE}, destination, due_at`),
  'newest-first': othersOrderedBy(`${QUEUE} DESC, destination DESC, due_at DESC`),
}
const PROMOTE_OTHERS = statement`WITH RECURSIVE ${destinationsFrom('listed', '$1::text', '$2::text')},
    found AS MATERIALIZED (${destinationsBut('listed', '$3')} LIMIT ${PROMOTED_DESTINATIONS}),
    promoted AS (UPDATE courier_live SET ready = 1 WHERE seq IN (SELECT seq FROM courier_live WHERE ready = 0 AND seq = ANY(ARRAY(
      SELECT m.seq FROM found CROSS JOIN LATERAL (
        SELECT seq FROM courier_live WHERE ${QUEUE} = $1::text AND destination = found.destination AND due_at <= $4
        ORDER BY ${QUEUE}, destination, due_at LIMIT ${PROMOTED_EACH}) AS m)) FOR UPDATE SKIP LOCKED))
    SELECT coalesce(max(destination) || ' ', '') AS next FROM found`
const firstTime = (column: string, where: string) =>
  `(SELECT ${column} FROM courier_live WHERE channel = $1 AND ${where} ORDER BY ${column} LIMIT 1)`
/** Where all that is looked at is passed over, the last of it: what is behind it is not due before. */
const nextOf = (rank: number) => `(SELECT coalesce(min(due_at) FILTER (WHERE destination <> ALL($4::text[])),
      CASE count(*) WHEN $5::int THEN max(due_at) END) FROM (SELECT due_at, destination FROM courier_live
    WHERE channel = $1 AND ready = 0 AND rank = ${rank} ORDER BY due_at LIMIT $5::int) AS first)`
const LOOK = statement`WITH RECURSIVE ${destinationsFrom('codes', '$2::text', "''")}, ${destinationsFrom('others', '$3::text', "''")}
    SELECT (${destinationsBut('codes', '$4')} LIMIT 1) AS code, (${destinationsBut('others', '$4')} LIMIT 1) AS other,
      least(${nextOf(0)}, ${nextOf(1)}, ${firstTime('lease_until', 'lease_until IS NOT NULL')}) AS next,
      ${firstTime('expires_at', 'ready IS NOT NULL')} AS expiry`
