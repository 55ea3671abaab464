import type { Channel } from '../../messages/message.ts'
import { claimMessages, endOutlived, giveBack, takeOver } from '../decide.ts'
import { DUE_COLUMNS, dueMessageOf, ROW_COLUMNS, rowOf } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import { chooseDue, type DueEntry, type DueQuestion, SEEN_LATER } from '../rules.ts'
import { takeEnded } from '../unit-of-work.ts'
import type { Client, QueryResult } from './connect.ts'
import { awaitStatements, beginTransaction, runStatement, statement } from './connect.ts'
import { type ReplicaHeartbeats, STILL_DEAD } from './heartbeats.ts'
import { isDueOf, nameQueue, QUEUE } from './schema.ts'
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
  const { payloadKeys, ended } = options
  /** The heartbeat after which each channel was last searched for the messages of dead replicas. */
  const searchedAfter = new Map<Channel, number>()
  const lookAt = createLookAt()
  const promote = createPromote()
  const lockDue = createLockDue()

  return async (client: Client, call: Takes<'claim'>): Promise<Gives<'claim'>> => {
    const { channel, now, leaseMs, codesOnly } = call
    const beat = heartbeats.heartbeats()
    const dead = searchedAfter.get(channel) === beat ? [] : heartbeats.deadReplicas()
    const givenUp = uncertain.givenUp()
    if (givenUp.length === 0 && dead.length === 0) {
      // One statement says whether a claim would find or change anything: most claims of a service that is idle would not.
      const { nextChangeAt, ...seen } = await lookAt(client, call)
      const next = codesOnly ? seen.nextCodeAt : seen.nextDueAt
      if ((next ?? Infinity) > now && nextChangeAt > now)
        return { messages: [], settled: takeEnded(ended, channel), ...seen }
    }
    const { work, writeChanges, commit } = openTransaction(client, options, now)
    const [, ofDead, lost, outlived, orphans] = await awaitStatements(
      beginTransaction(client),
      dead.length === 0 ? NOTHING : runStatement(client, CLAIMED_BY_DEAD, channel, JSON.stringify(dead)),
      runStatement(client, LOST, channel, now),
      runStatement(client, OUTLIVED, channel, now),
      givenUp.length === 0 ? NOTHING : runStatement(client, ORPHANS, channel, givenUp),
      promote(client, call),
    )
    const found = [...ofDead.rows, ...lost.rows].map(rowOf)
    const taken = new Map(found.map(row => [row.seq, row]))
    for (const row of taken.values()) takeOver(work, row)
    for (const row of outlived.rows.map(rowOf)) endOutlived(work, row)
    for (const row of orphans.rows.map(rowOf)) if (!taken.has(row.seq)) giveBack(work, row)
    await writeChanges()
    const due = (await lockDue(client, call)).map(read => dueMessageOf(read, payloadKeys))
    const token = heartbeats.newLeaseToken()
    let leases = 0
    const messages = claimMessages(work, due, () => {
      leases += 1
      return { token: `${token}.${leases}`, until: now + leaseMs }
    })
    uncertain.begin(token, leaseMs)
    try {
      await commit()
      const { nextDueAt, nextCodeAt } = await lookAt(client, call)
      uncertain.confirm(token)
      if (ofDead.rows.length < STEP) searchedAfter.set(channel, beat)
      if (ofDead.rows.length > 0) onTakeOver(ofDead.rows.length)
      return { messages, settled: takeEnded(ended, channel), nextDueAt, nextCodeAt }
    } catch (error) {
      uncertain.giveUp(token)
      throw error
    }
  }
}

/**
 * Makes the function that lists destinations of a queue but those to `skip`, each found by a step of its own, however many wait
 * there. Each time it goes on where it stopped.
 */
function createRounds() {
  const reached = new Map<string, string>()
  return async (client: Client, queue: string, skip: Iterable<string>, most: number) => {
    const { rows } = await runStatement(
      client,
      DESTINATIONS,
      queue,
      reached.get(queue) ?? '',
      [...skip],
      most,
    )
    const found = rows.map(row => row['destination'] as string)
    // None has a blank, so that one behind it makes the next text.
    reached.set(queue, found.length === 0 ? '' : `${found.at(-1)} `)
    return found
  }
}

/**
 * Makes the function that looks at what waits in a channel: when to claim it again, and when a claim has something to change, be it
 * passed over: a life is over, or a message becomes due. ms since the epoch.
 */
function createLookAt() {
  const goRound = createRounds()
  return async (client: Client, { channel, now, passOver }: Takes<'claim'>) => {
    const most = passOver.length === 0 ? 1 : SEEN_LATER
    const { rows } = await runStatement(client, LOOK, channel, passOver, most)
    const { lease, change, ...found } = rows[0] as Record<string, number | null>
    const isDue = await awaitStatements(
      ...[found['code'], found['other']].map(async (due, rank) => {
        if (due === null || passOver.length === 0) return due !== null
        return (await goRound(client, nameQueue(channel, rank, 1), passOver, 1)).length > 0
      }),
    )
    const momentOf = (...times: readonly (number | null | undefined)[]): number | null => {
      const first = Math.min(...times.map(at => at ?? Infinity))
      return first === Infinity ? null : Math.max(now, first)
    }
    const codeAt = isDue[0] ? now : found['nextCode']
    const otherAt = isDue[1] ? now : found['nextOther']
    return {
      nextDueAt: momentOf(lease, codeAt, otherAt),
      nextCodeAt: momentOf(lease, codeAt),
      nextChangeAt: change ?? Infinity,
    }
  }
}

/** Makes the function that locks the due messages that are to be claimed, in order. */
function createLockDue() {
  const goRound = createRounds()

  async function answer(client: Client, channel: Channel, rank: number, { order, most, whose }: DueQuestion) {
    if (whose === undefined) return runStatement(client, FIRST_DUE[order], channel, rank, most)
    const queue = nameQueue(channel, rank, 1)
    const found = 'of' in whose ? whose.of : await goRound(client, queue, whose.butOf, most)
    const each = Math.ceil(most / Math.max(found.length, 1))
    return runStatement(client, DUE_OF_DESTINATIONS[order], queue, found, each)
  }

  return async (
    client: Client,
    { channel, limit, now, passOver, codesOnly, only }: Takes<'claim'>,
  ): Promise<QueryResult['rows']> => {
    const seqs: number[] = []
    for (const rank of codesOnly ? [0] : [0, 1]) {
      if (seqs.length === limit) break
      const choice = chooseDue(limit - seqs.length, now, new Set(passOver), only)
      let step = choice.next()
      while (step.done !== true) {
        const { rows } = await answer(client, channel, rank, step.value)
        step = choice.next(rows as unknown as readonly DueEntry[])
      }
      seqs.push(...step.value.map(({ seq }) => seq))
    }
    if (seqs.length === 0) return []
    const { rows } = await runStatement(client, DUE, seqs)
    return rows.sort((a, b) => seqs.indexOf(a['seq'] as number) - seqs.indexOf(b['seq'] as number))
  }
}

/** Makes the function that moves what is due into the queue. Where its step was not enough, each destination gets some. */
function createPromote() {
  const goRound = createRounds()
  return async (client: Client, { channel, now, passOver }: Takes<'claim'>): Promise<void> => {
    const promoted = [0, 1].map(rank => runStatement(client, PROMOTE, channel, rank, now))
    for (const [rank, { rowCount }] of (await awaitStatements(...promoted)).entries()) {
      if (rowCount !== STEP) continue
      const queue = nameQueue(channel, rank, 0)
      const found = await goRound(client, queue, passOver, PROMOTED_DESTINATIONS)
      await runStatement(client, PROMOTE_OF_DESTINATIONS, queue, found, now)
    }
  }
}

const NOTHING: Promise<Pick<QueryResult, 'rows'>> = Promise.resolve({ rows: [] })

const LOST = statement`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until <= $2
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const CLAIMED_BY_DEAD = statement`WITH dead AS MATERIALIZED (${STILL_DEAD})
    SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND split_part(m.lease_token, '.', 1) IN (SELECT name FROM dead)
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE OF m SKIP LOCKED`
const OUTLIVED = statement`SELECT ${ROW_COLUMNS} FROM courier_live m
    WHERE m.ready IS NOT NULL AND m.channel = $1 AND m.expires_at <= $2
    ORDER BY m.expires_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
/** Those that are stored under leases whose commits were given up, each by its token or by how it begins. */
const ORPHANS = statement`SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND (m.lease_token = ANY($2::text[]) OR regexp_replace(m.lease_token, '[.][^.]+$', '') = ANY($2::text[]))
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE SKIP LOCKED`
const PROMOTE = statement`UPDATE courier_live SET ready = 1 WHERE seq IN
    (SELECT seq FROM courier_live WHERE ready = 0 AND channel = $1 AND rank = $2::smallint AND due_at <= $3
     ORDER BY due_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`
const firstOrderedBy = (order: string) =>
  statement`SELECT seq, destination, due_at AS "dueAt" FROM courier_live
    WHERE ${isDueOf('$1::text', '$2::smallint')} ORDER BY ${order} LIMIT $3`
const FIRST_DUE = {
  'oldest-first': firstOrderedBy('channel DESC, rank DESC, seq'),
  'newest-first': firstOrderedBy('channel, rank, seq DESC'),
}
/** By its key: no index of what is due, or becomes so, may look as if it could serve this. */
const isStill = (ready: 0 | 1, seqs: string) =>
  `seq = ANY(${seqs}) AND coalesce(ready, -1) = ${ready} FOR UPDATE SKIP LOCKED`
const DUE = statement`SELECT ${DUE_COLUMNS} FROM courier_live m WHERE ${isStill(1, '$1::bigint[]')}`
const QUEUED = `SELECT destination FROM courier_live WHERE ${QUEUE} = $1::text AND destination`
/** Lists destinations from one on, each by a step of its own: no more are looked for than are read. */
const listed = (name: string, from: string, until = '') => {
  const first = (after: string) => `${QUEUED} ${after} ${until} ORDER BY ${QUEUE}, destination LIMIT 1`
  return `${name}(destination) AS ((${first(`>= ${from}`)})
    UNION ALL SELECT (${first(`> ${name}.destination`)}) FROM ${name} WHERE ${name}.destination IS NOT NULL)`
}
/** The end of a list is null, which is in no array: an empty one would keep it. */
const kept = (name: string) =>
  `SELECT destination FROM ${name} WHERE destination IS NOT NULL AND destination <> ALL($3::text[])`
const DESTINATIONS = statement`WITH RECURSIVE ${listed('after', '$2::text')}, ${listed('before', "''", 'AND destination < $2::text')}
    ${kept('after')} UNION ALL ${kept('before')} LIMIT $4::int`
/** @param where further conditions, and the order. */
const ofDestinations = (where: string, most: string | number) =>
  `unnest($2::text[]) AS found(name) CROSS JOIN LATERAL (SELECT seq, destination, due_at FROM courier_live
      WHERE ${QUEUE} = $1::text AND destination = found.name ${where} LIMIT ${most}) AS m`
const dueOfDestinations = (order: string) =>
  statement`SELECT m.seq, m.destination, m.due_at AS "dueAt" FROM ${ofDestinations(`ORDER BY ${order}`, '$3::int')}`
const DUE_OF_DESTINATIONS = {
  'oldest-first': dueOfDestinations(`${QUEUE}, destination, due_at`),
  'newest-first': dueOfDestinations(`${QUEUE} DESC, destination DESC, due_at DESC`),
}
const DUE_BY_NOW = `AND due_at <= $3::bigint ORDER BY ${QUEUE}, destination, due_at`
const PROMOTE_OF_DESTINATIONS = statement`UPDATE courier_live SET ready = 1 WHERE seq IN
    (SELECT seq FROM courier_live
     WHERE ${isStill(0, `ARRAY(SELECT m.seq FROM ${ofDestinations(DUE_BY_NOW, PROMOTED_EACH)})`)})`
const firstOf = (column: string, where: string) =>
  `(SELECT ${column} FROM courier_live WHERE channel = $1 AND ${where} ORDER BY ${column} LIMIT 1)`
/** Where all that is looked at is passed over, the last of it: what is behind it is later. */
const nextOf = (rank: number) => `(SELECT coalesce(min(due_at) FILTER (WHERE destination <> ALL($2::text[])),
      CASE count(*) WHEN $3::int THEN max(due_at) END) FROM (SELECT due_at, destination FROM courier_live
    WHERE channel = $1 AND ready = 0 AND rank = ${rank} ORDER BY due_at LIMIT $3::int) AS first)`
const LOOK = statement`SELECT (SELECT 1 FROM courier_live WHERE ${QUEUE} = $1 || '1' LIMIT 1) AS code,
    (SELECT 1 FROM courier_live WHERE ${QUEUE} = $1 || '3' LIMIT 1) AS other,
    ${nextOf(0)} AS "nextCode", ${nextOf(1)} AS "nextOther", ${firstOf('lease_until', 'lease_until IS NOT NULL')} AS lease,
    least(${[0, 1].map(rank => firstOf('due_at', `ready = 0 AND rank = ${rank}`)).join()},
      ${firstOf('expires_at', 'ready IS NOT NULL')}) AS change`
