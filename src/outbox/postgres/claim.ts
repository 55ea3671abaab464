import type { Channel } from '../../messages/message.ts'
import { claimMessages, endOutlived, giveBack, takeOver } from '../decide.ts'
import { dueMessageOf, ROW_COLUMNS, rowOf } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import { claimOrder } from '../rules.ts'
import {
  awaitStatements,
  beginTransaction,
  type Client,
  type QueryResult,
  runStatement,
  statement,
} from './connect.ts'
import { type DeadReplica, LOCK_DEAD_REPLICAS, type ReplicaHeartbeats, STILL_DEAD } from './heartbeats.ts'
import { openTransaction, type WriterOptions } from './transaction.ts'
import type { UncertainCommits } from './uncertain.ts'

/** The most rows that one claim moves into the queue, ends, and takes over, each; the next claim goes on. */
const STEP = 500

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

  return async (client: Client, call: Takes<'claim'>): Promise<Gives<'claim'>> => {
    const { channel, now, leaseMs } = call
    const beat = heartbeats.heartbeats()
    const dead = searchedAfter.get(channel) === beat ? [] : heartbeats.deadReplicas()
    await ends.find(client)
    if (!uncertain.areGivenUp() && dead.length === 0) {
      // One statement says whether a claim would find or change anything: most claims of a service that is idle would not.
      const { first, nextDueAt } = await lookAt(client, channel, now)
      // What waits is due before its life ends.
      if (first.every(at => at === null) && (nextDueAt ?? Infinity) > now)
        return { messages: [], settled: ends.take(channel), nextDueAt }
    }
    const { work, writeChanges, commit } = openTransaction(client, options, now)
    const [, ofDead, lost, outlived, orphans] = await awaitStatements(
      beginTransaction(client),
      lockClaimedByDead(client, channel, dead),
      runStatement(client, LOST, channel, now),
      runStatement(client, OUTLIVED, channel, now),
      lockOrphans(client, channel, uncertain),
      runStatement(client, PROMOTE, channel, 0, now),
      runStatement(client, PROMOTE, channel, 1, now),
    )
    const found = [...ofDead.rows, ...lost.rows].map(rowOf)
    const taken = new Map(found.map(row => [row.seq, row]))
    for (const row of taken.values()) takeOver(work, row)
    for (const row of outlived.rows.map(rowOf)) endOutlived(work, row)
    for (const row of orphans.rows.map(rowOf)) if (!taken.has(row.seq)) giveBack(work, row)
    const [, { first }] = await Promise.all([writeChanges(), lookAt(client, channel, now)])
    const due = (await lockDue(client, call, first)).map(read => dueMessageOf(read, payloadKeys))
    const token = heartbeats.newLeaseToken()
    let leases = 0
    const messages = claimMessages(work, due, () => {
      leases += 1
      return { token: `${token}.${leases}`, until: now + leaseMs }
    })
    uncertain.begin(token, leaseMs)
    try {
      await commit()
      const { nextDueAt } = await lookAt(client, channel, now)
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

/** What waits in a channel; its times are ms since the epoch. */
interface Waiting {
  /** When the first code (0) and the first other message (1) of the queue became due; null: none is due. */
  readonly first: readonly (number | null)[]
  /** When it is to be claimed again at the latest; null: nothing waits. */
  readonly nextDueAt: number | null
}

async function lookAt(client: Client, channel: Channel, now: number): Promise<Waiting> {
  const [read] = (await runStatement(client, LOOK, channel)).rows as Record<string, number | null>[]
  const { codes = null, others = null, next = null } = read ?? {}
  const isDue = codes !== null || others !== null
  return { first: [codes, others], nextDueAt: isDue ? now : next === null ? null : Math.max(now, next) }
}

/** Locks the due messages that are to be claimed. @param first when those of each rank became due that came first. */
async function lockDue(
  client: Client,
  { channel, limit, now }: Takes<'claim'>,
  first: Waiting['first'],
): Promise<QueryResult['rows']> {
  const found: QueryResult['rows'] = []
  for (const [rank, dueAt] of first.entries()) {
    if (dueAt === null || found.length >= limit) continue
    const order = claimOrder(dueAt, now)
    found.push(...(await runStatement(client, DUE[order], channel, rank, limit - found.length)).rows)
  }
  return found
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
const dueOrderedBy = (order: string) =>
  statement`SELECT ${ROW_COLUMNS}, m.payload FROM courier_live m
    WHERE m.ready = 1 AND m.channel = $1 AND m.rank = $2::smallint
    ORDER BY ${order} LIMIT $3 FOR UPDATE SKIP LOCKED`
const DUE = {
  'oldest-first': dueOrderedBy('m.channel DESC, m.rank DESC, m.seq'),
  'newest-first': dueOrderedBy('m.channel, m.rank, m.seq DESC'),
}
const firstOf = (column: string, where: string, order = column) =>
  `(SELECT ${column} FROM courier_live WHERE channel = $1 AND ${where} ORDER BY ${order} LIMIT 1)`
const LOOK = statement`SELECT ${firstOf('due_at', 'ready = 1 AND rank = 0', 'seq')} AS codes,
    ${firstOf('due_at', 'ready = 1 AND rank = 1', 'seq')} AS others,
    least(${firstOf('due_at', 'ready = 0 AND rank = 0')}, ${firstOf('due_at', 'ready = 0 AND rank = 1')},
      ${firstOf('lease_until', 'lease_until IS NOT NULL')}) AS next`
