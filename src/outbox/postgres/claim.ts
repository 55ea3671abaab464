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
  /** The channels of which the last claim found nothing. */
  const quiet = new Set<Channel>()
  /** The heartbeat after which each channel was last searched for the messages of dead replicas. */
  const searchedAfter = new Map<Channel, number>()
  const isSearchDue = createOrphanSearch(uncertain)

  /**
   * Takes over lost leases and the messages of dead replicas, ends outlived messages, moves due ones into the queue, and
   * puts back what is stored under leases whose commit was given up.
   */
  async function tidyUp(client: Client, { channel, now }: Takes<'claim'>, sent: number) {
    const findOrphans = isSearchDue(channel, sent) ? uncertain.findGivenUp : null
    const dead = searchedAfter.get(channel) === sent ? [] : heartbeats.deadReplicas()
    await ends.find(client)
    if (quiet.has(channel) && findOrphans === null && dead.length === 0) {
      // One statement says whether a claim would find or change anything: most claims of a service that is idle would not.
      const [seen] = (await runStatement(client, LOOK, channel, now)).rows
      if (seen?.['is_due'] === false) return { isIdle: true, nextDueAt: seen['at'] as number | null } as const
    }
    const { unit, lockRefunds, commit } = openTransaction(client, options, now)
    const [, ofDead, lost, outlived, orphans] = await awaitStatements(
      beginTransaction(client),
      lockClaimedByDead(client, channel, dead),
      runStatement(client, LOST, channel, now),
      runStatement(client, OUTLIVED, channel, now),
      findOrphans === null ? NOTHING : lockOrphans(client, channel, findOrphans),
      runStatement(client, PROMOTE, channel, 0, now),
      runStatement(client, PROMOTE, channel, 1, now),
    )
    const found = [...ofDead.rows, ...lost.rows].map(rowOf)
    const taken = [...new Map(found.map(row => [row.seq, row])).values()]
    const seen = new Set(taken.map(row => row.seq))
    for (const row of taken) takeOver(unit, row)
    for (const row of outlived.rows.map(rowOf)) endOutlived(unit, row)
    for (const row of orphans.rows.map(rowOf)) if (!seen.has(row.seq)) giveBack(unit, row)
    await lockRefunds()
    const [, [first]] = await Promise.all([
      commit(),
      awaitStatements(runStatement(client, OLDEST_DUE, channel)),
    ])
    const oldest = [first.rows[0]?.['codes'], first.rows[0]?.['others']] as OldestDue
    return { isIdle: false, oldest, takenOver: ofDead.rows.length } as const
  }

  /** Claims the first messages of the queue, under tokens that begin with `token`; those that nobody can send end. */
  async function claimDue(client: Client, call: Takes<'claim'>, token: string, oldest: OldestDue) {
    const { now, channel, leaseMs } = call
    const { unit, lockRefunds, commit } = openTransaction(client, options, now)
    const due = (await lockDue(client, call, oldest)).map(read => dueMessageOf(read, payloadKeys))
    let leases = 0
    const messages = claimMessages(unit, due, () => {
      leases += 1
      return { token: `${token}.${leases}`, until: now + leaseMs }
    })
    await lockRefunds()
    uncertain.begin(token, leaseMs)
    const [, [anyDue, next]] = await Promise.all([
      commit(),
      awaitStatements(runStatement(client, ANY_DUE, channel), runStatement(client, NEXT, channel)),
    ])
    const at = next.rows[0]?.['at'] as number | null
    const later = at === null ? null : Math.max(now, at)
    return { messages, nextDueAt: anyDue.rows.length > 0 ? now : later }
  }

  return async (client: Client, call: Takes<'claim'>): Promise<Gives<'claim'>> => {
    const { channel } = call
    const sent = heartbeats.heartbeats()
    const tidied = await tidyUp(client, call, sent)
    if (tidied.isIdle) return { messages: [], settled: ends.take(channel), nextDueAt: tidied.nextDueAt }
    const { takenOver, oldest } = tidied
    if (takenOver < STEP) searchedAfter.set(channel, sent)
    if (takenOver > 0) onTakeOver(takenOver)
    const token = heartbeats.newLeaseToken()
    const claimed = await claimDue(client, call, token, oldest).catch((error: unknown) => {
      uncertain.giveUp(token)
      throw error
    })
    uncertain.confirm(token)
    if (claimed.messages.length === 0) quiet.add(channel)
    else quiet.delete(channel)
    return { ...claimed, settled: ends.take(channel) }
  }
}

/**
 * Makes the function that says whether a channel is to be searched for messages under leases whose commits were given up: at
 * once after a commit was given up, and then with every heartbeat, because a commit that hangs may still happen.
 */
function createOrphanSearch(uncertain: UncertainCommits) {
  const searched = new Map<Channel, string>()
  return (channel: Channel, heartbeats: number): boolean => {
    const version = uncertain.version()
    const state = `${version} ${heartbeats}`
    if (version === null || searched.get(channel) === state) return false
    searched.set(channel, state)
    return true
  }
}

/** When the first code (0) and the first other message (1) became due, ms since the epoch; null: none is due. */
type OldestDue = readonly [number | null, number | null]

/** Begins the transaction, and locks the due messages that are to be claimed. */
async function lockDue(
  client: Client,
  { channel, limit, now }: Pick<Takes<'claim'>, 'channel' | 'limit' | 'now'>,
  oldest: OldestDue,
): Promise<QueryResult['rows']> {
  const found: QueryResult['rows'] = []
  const begun = beginTransaction(client)
  for (const [rank, dueAt] of oldest.entries()) {
    if (dueAt === null || found.length >= limit) continue
    const order = claimOrder(dueAt, now)
    const [, { rows }] = await awaitStatements(
      begun,
      runStatement(client, DUE[order], channel, rank, limit - found.length),
    )
    found.push(...rows)
  }
  await begun
  return found
}

const NOTHING: Promise<Pick<QueryResult, 'rows'>> = Promise.resolve({ rows: [] })

/** Locks the messages that are stored under leases whose commits were given up. */
async function lockOrphans(
  client: Client,
  channel: Channel,
  findOrphans: UncertainCommits['findGivenUp'],
): Promise<Pick<QueryResult, 'rows'>> {
  const { rows } = await runStatement(client, LEASED, channel)
  const orphans = new Set(findOrphans(rows.map(row => row['lease_token'] as string)))
  if (orphans.size === 0) return NOTHING
  const seqs = rows.filter(row => orphans.has(row['lease_token'] as string)).map(row => row['seq'])
  return runStatement(client, UNCOMMITTED, seqs, [...orphans])
}

async function lockClaimedByDead(
  client: Client,
  channel: Channel,
  dead: readonly DeadReplica[],
): Promise<Pick<QueryResult, 'rows'>> {
  if (dead.length === 0) return NOTHING
  const names = dead.map(each => each.name)
  const heartbeats = dead.map(each => each.heartbeats)
  const [, claimed] = await awaitStatements(
    runStatement(client, LOCK_DEAD_REPLICAS, names),
    runStatement(client, CLAIMED_BY_DEAD, channel, names, heartbeats),
  )
  return claimed
}

const LOST = statement(
  'lost-leases',
)`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until <= $2
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const CLAIMED_BY_DEAD = statement(
  'claimed-by-dead-replicas',
)`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND split_part(m.lease_token, '.', 1) IN (${STILL_DEAD})
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE OF m SKIP LOCKED`
const OUTLIVED = statement('outlived')`SELECT ${ROW_COLUMNS} FROM courier_live m
    WHERE m.ready IS NOT NULL AND m.channel = $1 AND m.expires_at <= $2
    ORDER BY m.expires_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const UNCOMMITTED = statement(
  'uncommitted-leases',
)`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.seq = ANY($1::bigint[])
    AND m.lease_token = ANY($2::text[]) AND m.lease_until IS NOT NULL ORDER BY m.seq FOR UPDATE SKIP LOCKED`
const LEASED = statement(
  'leased',
)`SELECT seq, lease_token FROM courier_live WHERE channel = $1 AND lease_until IS NOT NULL`
const PROMOTE = statement('promote')`UPDATE courier_live SET ready = 1 WHERE seq IN
    (SELECT seq FROM courier_live WHERE ready = 0 AND channel = $1 AND rank = $2::smallint AND due_at <= $3
     ORDER BY due_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`
const dueOrderedBy = (name: string, order: string) =>
  statement(name)`SELECT ${ROW_COLUMNS}, m.payload FROM courier_live m
    WHERE m.ready = 1 AND m.channel = $1 AND m.rank = $2::smallint
    ORDER BY ${order} LIMIT $3 FOR UPDATE SKIP LOCKED`
const DUE = {
  'oldest-first': dueOrderedBy('due-oldest-first', 'm.channel DESC, m.rank DESC, m.seq'),
  'newest-first': dueOrderedBy('due-newest-first', 'm.channel, m.rank, m.seq DESC'),
}
const OLDEST_DUE = statement('oldest-due')`SELECT
    (SELECT due_at FROM courier_live WHERE ready = 1 AND channel = $1 AND rank = 0 ORDER BY seq LIMIT 1) AS codes,
    (SELECT due_at FROM courier_live WHERE ready = 1 AND channel = $1 AND rank = 1 ORDER BY seq LIMIT 1) AS others`
const ANY_DUE = statement('any-due')`SELECT 1 FROM courier_live WHERE ready = 1 AND channel = $1 LIMIT 1`
const NEXT_AT = `least(
    (SELECT due_at FROM courier_live WHERE ready = 0 AND channel = $1 AND rank = 0 ORDER BY due_at LIMIT 1),
    (SELECT due_at FROM courier_live WHERE ready = 0 AND channel = $1 AND rank = 1 ORDER BY due_at LIMIT 1),
    (SELECT lease_until FROM courier_live WHERE lease_until IS NOT NULL AND channel = $1
      ORDER BY lease_until LIMIT 1))`
const NEXT = statement('next-due')`SELECT ${NEXT_AT} AS at`
const LOOK = statement('look')`SELECT at, at <= $2 IS TRUE
    OR EXISTS (SELECT FROM courier_live WHERE ready = 1 AND channel = $1)
    OR EXISTS (SELECT FROM courier_live WHERE ready IS NOT NULL AND channel = $1 AND expires_at <= $2) AS is_due
  FROM (SELECT ${NEXT_AT} AS at) AS next`
