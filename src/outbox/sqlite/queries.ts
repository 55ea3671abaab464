import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
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
import type { ListFilter, LiveState, MessageList, Summary } from '../outbox.ts'
import {
  COUNTED_DESTINATIONS,
  LISTED_DESTINATIONS,
  LOOKED_AT,
  LOOKED_THROUGH,
  MOST_COUNTED,
  QUARTER_MS,
} from '../outbox.ts'
import { leftOutAt } from '../rules.ts'
import type { LiveMessages } from './side-tables.ts'

/** Finds and lists messages for people. Reads only. */
export function createAdminQueries(db: DatabaseSync) {
  const byId = db.prepare(
    `SELECT ${VIEW_COLUMNS} FROM messages WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1`,
  )
  const ended = db.prepare(readEndedIn('figures', '?1', '?2'))
  const oldestDue = db.prepare(
    `SELECT destination FROM messages WHERE ready = 1 AND channel = ? AND rank = ? ORDER BY seq LIMIT ${LOOKED_AT}`,
  )
  const waiting = db.prepare(
    `SELECT count(*) AS count, min(due_at) AS dueAt FROM (SELECT due_at FROM messages INDEXED BY message_destination
       WHERE channel = ? AND rank = ? AND ready = ? AND destination = ? ORDER BY due_at LIMIT ${MOST_COUNTED})`,
  )
  return {
    readWaiting({ channel, known }: Takes<'readWaiting'>): Gives<'readWaiting'> {
      const found = [0, 1].flatMap(rank => oldestDue.all(channel, rank))
      const named = new Set([...known, ...found.map(each => String(each['destination']))])
      const counted = [...named].slice(0, COUNTED_DESTINATIONS).map(destination => {
        const parts = [0, 1, 2, 3].map(n => waiting.get(channel, n % 2, n >> 1, destination) ?? {})
        const count = parts.reduce((sum, part) => sum + Number(part['count']), 0)
        const dueAt = Math.min(...parts.map(part => Number(part['dueAt'] ?? Infinity)))
        return { destination, count: Math.min(count, MOST_COUNTED), dueAt }
      })
      const waits = counted.filter(({ count }) => count > 0)
      return waits.sort((a, b) => a.dueAt - b.dueAt).slice(0, LISTED_DESTINATIONS)
    },
    findMessage({ id }: Takes<'findMessage'>) {
      const row = byId.get(id)
      return row === undefined ? null : viewOfRow(row)
    },
    listMessages: ({ filter }: Takes<'listMessages'>) =>
      joinParts(
        partsOf(filter).map(part => readPart(db, part)),
        filter.limit,
      ),
    readEnded: ({ dayBefore, today }: Takes<'readEnded'>) =>
      ended.all(dayBefore / QUARTER_MS, today / QUARTER_MS).map(endedOfRow),
  }
}

/** Reads a list by the index that answers it: without statistics the planner must be told. */
function readPart(db: DatabaseSync, part: ListFilter): MessageList {
  const by = part.state === undefined ? 'arrival' : part.state === 'undelivered' ? 'undelivered' : 'state'
  const index = part.recipientHash === undefined ? by : 'recipient'
  /** The values begin with `?3`. */
  const read = (columns: string, given: readonly ListCondition[], limit: number, offset = 0) => {
    const where = ['true', ...given.map(({ sql }, at) => sql.replaceAll('?', `?${at + 3}`))].join(' AND ')
    return db
      .prepare(
        `SELECT ${columns} FROM messages INDEXED BY message_${index} WHERE ${where}
         ORDER BY arrived_at DESC, seq DESC LIMIT ?1 OFFSET ?2`,
      )
      .all(limit, offset, ...given.map(({ value }) => value))
  }
  const given = conditionsOf(part, 'substr(recipient_hash, 1, 8) = substr(?, 1, 8) AND recipient_hash = ?')
  const inFront = given.filter(({ isSought }) => !isSought)
  const [last] = inFront.length < given.length ? read('arrived_at', inFront, 1, LOOKED_THROUGH) : []
  const lookedFrom = last === undefined ? null : Number(last['arrived_at'])
  const bound = lookedFrom === null ? [] : [{ sql: 'arrived_at >= ?', value: lookedFrom, isSought: false }]
  return { messages: read(VIEW_COLUMNS, [...given, ...bound], part.limit).map(viewOfRow), lookedFrom }
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
