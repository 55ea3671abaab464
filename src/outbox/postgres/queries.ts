import { randomBytes } from 'node:crypto'
import type { Channel } from '../../messages/message.ts'
import {
  conditionsOf,
  endedIn,
  endedOfRow,
  joinParts,
  type ListCondition,
  partsOf,
  readEndedIn,
  VIEW_COLUMNS,
  viewOfRow,
} from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { ListFilter, MessageList, MessageView, State, Summary } from '../outbox.ts'
import {
  COUNTED_DESTINATIONS,
  LISTED_DESTINATIONS,
  LOOKED_AT,
  LOOKED_THROUGH,
  MOST_COUNTED,
  PROBE_BYTES,
  QUARTER_MS,
} from '../outbox.ts'
import { leftOutAt } from '../rules.ts'
import type { Client } from './connect.ts'
import { awaitStatements, beginTransaction, commitTransaction, runStatement, statement } from './connect.ts'
import { END, isDueOf, isText, nameQueue, QUEUE, WITH_REPORTS } from './schema.ts'

export async function findMessage(client: Client, { id }: Takes<'findMessage'>): Promise<MessageView | null> {
  const { rows } = await runStatement(client, FIND, withoutNul(id))
  return rows[0] === undefined ? null : viewOfRow(rows[0])
}

export async function listMessages(client: Client, { filter }: Takes<'listMessages'>): Promise<MessageList> {
  // Without statistics the planner takes a list for few rows, and would rather sort all of them. What one recipient got is few.
  const sorts = filter.recipientHash === undefined ? 'off' : 'on'
  await client.query(`BEGIN; SET LOCAL enable_sort = ${sorts}`)
  const parts = await awaitStatements(...partsOf(filter).map(part => readPart(client, part)))
  await commitTransaction(client)
  return joinParts(parts, filter.limit)
}

/** The condition on a state and channel, with `?` for their value, and the order in which an index has what is in them. */
type OfState = readonly [condition: string, order: string]

/** Where a value is one of a list, its stretch of the index is in order for the planner, too (`isDueOf`). Few are being sent, and are sorted. */
const OF_CHANNEL: Readonly<Partial<Record<State | 'undelivered', OfState>>> = {
  queued: ["part = 'live' AND state = 'queued' AND channel = ANY(ARRAY[?])", 'channel DESC, arrived_at DESC'],
  sending: ["part = 'live' AND lease_until IS NOT NULL AND channel = ?", '-arrived_at'],
  undelivered: ['channel = ?', 'arrived_at DESC'],
}
const OF_END: OfState = [`part <> 'live' AND ${END} = ANY(ARRAY[?])`, `${END} DESC, arrived_at DESC`]

/** Reads a list in the order of an index. What did not arrive is a list of ids, unless it is one person's. */
async function readPart(
  client: Client,
  { state, channel, limit, ...filter }: ListFilter,
): Promise<MessageList> {
  const isOfState = state !== undefined && filter.recipientHash === undefined
  const isListed = isOfState && state === 'undelivered'
  const ofChannel = isOfState ? OF_CHANNEL[state] : undefined
  const [condition, order] = isOfState ? (ofChannel ?? OF_END) : ['', 'arrived_at DESC']
  const ofState = ofChannel === undefined ? `${state}${channel}` : `${channel}`
  const given = [
    ...conditionsOf(isOfState ? filter : { ...filter, state, channel }, isText(['recipient_hash', '?'])),
    ...(isOfState ? [{ sql: condition, value: ofState, isSought: false }] : []),
  ]
  const table = isListed ? 'courier_undelivered' : 'courier_messages'
  /** @param page what is read of the first ones, which stand in it as `first`. */
  const read = (
    columns: string,
    conditions: readonly ListCondition[],
    most: number,
    offset: number,
    page: string,
  ) => {
    const where = ['true', ...conditions.map(({ sql }, at) => sql.replaceAll('?', `$${at + 3}`))].join(
      ' AND ',
    )
    const first = `(SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT $1 OFFSET $2) AS first`
    const values = conditions.map(({ value }) => (typeof value === 'string' ? withoutNul(value) : value))
    return client.query({ text: page.replace('first', () => first), values: [most, offset, ...values] })
  }
  const inFront = given.filter(({ isSought }) => !isSought)
  const [last] =
    inFront.length < given.length
      ? (await read('arrived_at', inFront, 1, LOOKED_THROUGH, 'SELECT * FROM first')).rows
      : []
  const lookedFrom = last === undefined ? null : Number(last['arrived_at'])
  const bound = lookedFrom === null ? [] : [{ sql: 'arrived_at >= ?', value: lookedFrom, isSought: false }]
  const page = isListed
    ? 'first CROSS JOIN LATERAL (SELECT * FROM courier_messages WHERE id = listed OFFSET 0) AS m'
    : 'first'
  const { rows } = await read(
    isListed ? 'id AS listed' : '*',
    [...given, ...bound],
    limit,
    0,
    `SELECT ${VIEW_COLUMNS} FROM ${page} ORDER BY arrived_at DESC, seq DESC`,
  )
  return { messages: rows.map(viewOfRow), lookedFrom }
}

export async function readEnded(
  client: Client,
  { dayBefore, today }: Takes<'readEnded'>,
): Promise<Gives<'readEnded'>> {
  return (await runStatement(client, OF_TWO_DAYS, dayBefore / QUARTER_MS, today / QUARTER_MS)).rows.map(
    endedOfRow,
  )
}

export async function readWaiting(
  client: Client,
  { channel, known }: Takes<'readWaiting'>,
): Promise<Gives<'readWaiting'>> {
  const queues = [0, 1].flatMap(rank => [nameQueue(channel, rank, 0), nameQueue(channel, rank, 1)])
  const { rows } = await runStatement(client, WAITING_DESTINATIONS, channel, known, queues)
  return rows as unknown as Gives<'readWaiting'>
}

/** Replaces NUL in a search: Postgres cannot have it in a text, and reports a search for it as an error. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}

/** Tries whether a commit works right now, with as much to write as a callback needs: random bytes cannot be compressed. */
export async function probeCommit(client: Client): Promise<boolean> {
  const bytes = randomBytes(PROBE_BYTES).toString('base64')
  await commitTransaction(client, beginTransaction(client), runStatement(client, PROBE, bytes))
  return true
}

const oldestDue = (rank: number) => `SELECT destination, 1 FROM (SELECT destination FROM courier_live
    WHERE ${isDueOf('$1::text', `${rank}`)} ORDER BY channel DESC, rank DESC, seq LIMIT ${LOOKED_AT}) AS due${rank}`
const WAITING_DESTINATIONS = statement`WITH named AS MATERIALIZED (SELECT destination FROM (SELECT unnest($2::text[]) AS destination, 0 AS place
      UNION ALL ${oldestDue(0)} UNION ALL ${oldestDue(1)}) AS each GROUP BY 1 ORDER BY min(place) LIMIT ${COUNTED_DESTINATIONS})
    SELECT named.destination, least(count(*), ${MOST_COUNTED})::int AS count, min(m.due_at) AS "dueAt"
    FROM named CROSS JOIN unnest($3::text[]) AS queue(name) CROSS JOIN LATERAL (SELECT due_at FROM courier_live
      WHERE ${QUEUE} = queue.name AND destination = named.destination
      ORDER BY ${QUEUE}, destination, due_at LIMIT ${MOST_COUNTED}) AS m
    GROUP BY named.destination ORDER BY min(m.due_at) LIMIT ${LISTED_DESTINATIONS}`
const FIND = statement`SELECT ${VIEW_COLUMNS} FROM courier_messages WHERE id = $1`
const OF_TWO_DAYS = statement`${readEndedIn('courier_figures', '$1::bigint', '$2::bigint')}`
const PROBE = statement`INSERT INTO courier_meta (key, value) VALUES ('probe', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`

const MINUTE = 60_000

/** Adds up the counts, to the minute; reads no message but the oldest. */
export async function readSummary(
  client: Client,
  { now, since }: Takes<'readSummary'>,
): Promise<Gives<'readSummary'>> {
  const from = Math.floor(since / MINUTE)
  const [backlog, waiting, counts, ended, leftOut, bytes] = await awaitStatements(
    runStatement(client, BACKLOG),
    runStatement(client, WAITING),
    runStatement(client, COUNTS, from),
    runStatement(client, ENDED),
    runStatement(client, LEFT_OUT, now),
    runStatement(client, BYTES),
  )
  const [email, sms] = ['email', 'sms'].map(channel => waiting.rows.find(row => row['channel'] === channel))
  return {
    backlog: backlog.rows[0] as unknown as Summary['backlog'],
    oldest: { email: email?.['oldest'] as number | null, sms: sms?.['oldest'] as number | null },
    waitingRecipients: { email: Number(email?.['recipients']), sms: Number(sms?.['recipients']) },
    counts: counts.rows as unknown as Summary['counts'],
    ended: ended.rows.map(viewOfRow) as Gives<'readSummary'>['ended'][number][],
    leftOut: Number(leftOut.rows[0]?.['count']),
    bytes: Number(bytes.rows[0]?.['bytes']),
  }
}

function waitingOf(channel: Channel): string {
  return `SELECT '${channel}' AS channel, min(arrived_at) AS oldest, count(DISTINCT recipient_hash) AS recipients FROM
    (SELECT arrived_at, recipient_hash FROM courier_live WHERE channel = '${channel}'
      ORDER BY arrived_at LIMIT ${LOOKED_AT}) AS ${channel}`
}

function endedOf(channel: Channel): string {
  return `SELECT ${VIEW_COLUMNS}, recipient_hash AS recipient FROM
    (SELECT ${WITH_REPORTS} ${endedIn('courier_finished AS m', `'${channel}'`)}) AS ${channel}`
}

const BACKLOG = statement`SELECT coalesce(sum(email), 0)::bigint AS email, coalesce(sum(sms), 0)::bigint AS sms FROM courier_backlog`
const WAITING = statement`${waitingOf('email')} UNION ALL ${waitingOf('sms')}`
const COUNTS = statement`SELECT channel, kind, state, sum(count)::bigint AS count FROM courier_counts WHERE minute >= $1
    GROUP BY channel, kind, state HAVING sum(count) > 0 ORDER BY channel, kind, state`
const ENDED = statement`${endedOf('email')} UNION ALL ${endedOf('sms')}`
const LEFT_OUT = statement`SELECT count(*) FROM courier_memos WHERE ${leftOutAt('$1::bigint')}`
const BYTES = statement`SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
    WHERE relname LIKE 'courier\\_%' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace`
