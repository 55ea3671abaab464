import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import { conditionsOf, endedIn, VIEW_COLUMNS, viewOfRow } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import { type ListFilter, type LiveState, LOOKED_AT, type MessageView, type Summary } from '../outbox.ts'
import { leftOutAt } from '../rules.ts'
import type { LiveMessages } from './side-tables.ts'

/** Finds and lists messages for people. Reads only. */
export function createAdminQueries(db: DatabaseSync) {
  const byId = db.prepare(
    `SELECT ${VIEW_COLUMNS} FROM messages WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1`,
  )
  return {
    findMessage({ id }: Takes<'findMessage'>) {
      const row = byId.get(id)
      return row === undefined ? null : viewOfRow(row)
    },
    listMessages({ filter }: Takes<'listMessages'>) {
      const channels: readonly (Channel | undefined)[] =
        filter.state !== undefined && filter.channel === undefined ? ['email', 'sms'] : [filter.channel]
      // The index by state is also by channel: one list each, put together here, instead of sorting all there is.
      return channels
        .flatMap(channel => readPage(db, filter, channel))
        .sort((a, b) => b.arrivedAt - a.arrivedAt)
        .slice(0, filter.limit)
    },
  }
}

function readPage(db: DatabaseSync, filter: ListFilter, channel: Channel | undefined): MessageView[] {
  const isRecipient = 'substr(recipient_hash, 1, 8) = substr(?, 1, 8) AND recipient_hash = ?'
  const given = conditionsOf({ ...filter, channel }, isRecipient)
  const conditions = given.map(([sql], at) => sql.replaceAll('?', `?${at + 2}`)).join(' AND ')
  const where = given.length === 0 ? '' : `WHERE ${conditions}`
  // Without statistics the planner must be told which index answers the question.
  const index =
    filter.recipientHash !== undefined
      ? 'message_recipient'
      : filter.state !== undefined
        ? 'message_state'
        : 'message_arrival'
  const sql = `SELECT ${VIEW_COLUMNS} FROM messages INDEXED BY ${index} ${where} ORDER BY arrived_at DESC, seq DESC LIMIT ?1`
  return db
    .prepare(sql)
    .all(filter.limit, ...given.map(([, value]) => value))
    .map(viewOfRow)
}

const MINUTE = 60_000

/** Makes the function that adds up the counts by the minute. It reads no message but the oldest. */
export function createReadSummary(
  db: DatabaseSync,
  live: Readonly<LiveMessages>,
  path: string,
): (call: Takes<'readSummary'>) => Gives<'readSummary'> {
  const waiting = db.prepare(
    `SELECT min(arrived_at) AS oldest, count(DISTINCT recipient_hash) AS recipients
       FROM (SELECT * FROM (${oldestIn('queued')}) UNION ALL SELECT * FROM (${oldestIn('sending')}))`,
  )
  const counts = db.prepare(
    `SELECT channel, kind, state, sum(count) AS count FROM counts WHERE minute >= ?
       GROUP BY channel, kind, state HAVING sum(count) > 0 ORDER BY channel, kind, state`,
  )
  const ended = db.prepare(
    `SELECT ${VIEW_COLUMNS}, recipient_hash AS recipient ${endedIn('messages INDEXED BY message_arrival', '?1')}`,
  )
  const leftOut = db.prepare(`SELECT count(*) AS count FROM memos WHERE ${leftOutAt('?1')}`)

  return ({ now, since }) => {
    const from = Math.floor(since / MINUTE)
    const [email, sms] = [waiting.get('email'), waiting.get('sms')]
    return {
      backlog: { ...live },
      oldest: { email: email?.['oldest'] as number | null, sms: sms?.['oldest'] as number | null },
      waitingRecipients: { email: Number(email?.['recipients']), sms: Number(sms?.['recipients']) },
      counts: counts.all(from) as unknown as Summary['counts'],
      ended: [...ended.all('email'), ...ended.all('sms')].map(
        viewOfRow,
      ) as Gives<'readSummary'>['ended'][number][],
      leftOut: Number(leftOut.get(now)?.['count']),
      bytes: fileSize(path) + fileSize(`${path}-wal`),
    }
  }
}

function oldestIn(state: LiveState): string {
  return `SELECT arrived_at, recipient_hash FROM messages WHERE state = '${state}' AND channel = ?1 ORDER BY arrived_at LIMIT ${LOOKED_AT}`
}

function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
