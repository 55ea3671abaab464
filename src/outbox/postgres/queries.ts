import { randomBytes } from 'node:crypto'
import type { Channel } from '../../messages/message.ts'
import { conditionsOf, endedIn, VIEW_COLUMNS, viewOfRow } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import { LOOKED_AT, type MessageView, PROBE_BYTES, type Summary } from '../outbox.ts'
import { leftOutAt } from '../rules.ts'
import {
  awaitStatements,
  beginTransaction,
  type Client,
  commitTransaction,
  runStatement,
  statement,
} from './connect.ts'
import { isText, WITH_REPORTS } from './schema.ts'

export async function findMessage(client: Client, { id }: Takes<'findMessage'>): Promise<MessageView | null> {
  const { rows } = await runStatement(client, FIND, withoutNul(id))
  return rows[0] === undefined ? null : viewOfRow(rows[0])
}

export async function listMessages(
  client: Client,
  { filter }: Takes<'listMessages'>,
): Promise<readonly MessageView[]> {
  const given = conditionsOf(filter, isText(['recipient_hash', '?']))
  const where = given.map(([sql], at) => sql.replaceAll('?', `$${at + 2}`)).join(' AND ')
  const text = `SELECT ${VIEW_COLUMNS} FROM courier_messages ${where === '' ? '' : `WHERE ${where}`}
    ORDER BY arrived_at DESC, seq DESC LIMIT $1`
  const { rows } = await client.query<Record<string, unknown>>(text, [
    filter.limit,
    ...given.map(([, value]) => (typeof value === 'string' ? withoutNul(value) : value)),
  ])
  return rows.map(viewOfRow)
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

const FIND = statement`SELECT ${VIEW_COLUMNS} FROM courier_messages WHERE id = $1`
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
