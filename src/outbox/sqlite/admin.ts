import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Channel, Purpose } from '../../messages/message.ts'
import type { CallArguments, CallResult } from '../calls.ts'
import type { AttemptRecord, FinalAnswer, ListFilter, MessageView, State } from '../outbox.ts'
import { LIVE_COLUMNS, liveRow, type RowChanges } from './row-changes.ts'

const VIEW_COLUMNS = `id, channel, kind, purpose, masked, state, answer, attempts, ambiguous, arrived_at, expires_at,
  due_at, final_at, provider_id, receipt, timeline`

/** Finds and lists messages for people. Reads only. */
export function createAdminQueries(db: DatabaseSync): {
  readonly find: (call: CallArguments<'find'>) => CallResult<'find'>
  readonly list: (call: CallArguments<'list'>) => CallResult<'list'>
} {
  const byId = db.prepare(
    `SELECT ${VIEW_COLUMNS} FROM messages WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1`,
  )
  return {
    find({ id }) {
      const row = byId.get(id)
      return row === undefined ? null : viewOf(row)
    },
    list({ filter }) {
      const channels: readonly (Channel | undefined)[] =
        filter.state !== undefined && filter.channel === undefined ? ['email', 'sms'] : [filter.channel]
      // The index by state is also by channel: one list each, put together here, instead of sorting all there is.
      return channels
        .flatMap(channel => page(db, filter, channel))
        .sort((a, b) => b.arrivedAt - a.arrivedAt)
        .slice(0, filter.limit)
    },
  }
}

function page(db: DatabaseSync, filter: ListFilter, channel: Channel | undefined): MessageView[] {
  const asked: (readonly [string, string | number | undefined])[] = [
    ['substr(recipient, 1, 8) = substr(?, 1, 8)', filter.recipientHash],
    ['recipient = ?', filter.recipientHash],
    ['state = ?', filter.state],
    ['channel = ?', channel],
    ['kind = ?', filter.kind],
    ['arrived_at < ?', filter.before],
  ]
  const given = asked.filter((each): each is readonly [string, string | number] => each[1] !== undefined)
  const where = given.length === 0 ? '' : `WHERE ${given.map(([sql]) => sql).join(' AND ')}`
  // Without statistics the planner must be told which index answers the question.
  const index =
    filter.recipientHash !== undefined
      ? 'message_recipient'
      : filter.state !== undefined
        ? 'message_state'
        : 'message_arrival'
  const sql = `SELECT ${VIEW_COLUMNS} FROM messages INDEXED BY ${index} ${where} ORDER BY arrived_at DESC, seq DESC LIMIT ?`
  return db
    .prepare(sql)
    .all(...given.map(([, value]) => value), filter.limit)
    .map(viewOf)
}

function viewOf(row: Record<string, SQLOutputValue>): MessageView {
  const receipt = row['receipt'] as string | null
  const timeline = row['timeline'] as string | null
  return {
    id: String(row['id']),
    channel: row['channel'] as Channel,
    kind: String(row['kind']),
    purpose: row['purpose'] as Purpose,
    maskedRecipient: String(row['masked']),
    state: row['state'] as State,
    answer: row['answer'] as FinalAnswer,
    attempts: Number(row['attempts']),
    ambiguous: Number(row['ambiguous']),
    arrivedAt: Number(row['arrived_at']),
    expiresAt: Number(row['expires_at']),
    dueAt: row['due_at'] as number | null,
    finalAt: row['final_at'] as number | null,
    providerId: row['provider_id'] as string | null,
    receipt: receipt === null ? null : (JSON.parse(receipt) as MessageView['receipt']),
    timeline: timeline === null ? [] : (JSON.parse(timeline) as AttemptRecord[]),
  }
}

/** What an operator may do to a message that waits. */
export function createOperatorActions(
  db: DatabaseSync,
  ending: RowChanges,
): {
  readonly retry: (call: CallArguments<'retry'>) => boolean
  readonly cancel: (call: CallArguments<'cancel'>) => boolean
} {
  const waiting = db.prepare(
    `SELECT ${LIVE_COLUMNS} FROM messages
       WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1 AND state = 'queued' AND expires_at > ?2`,
  )
  const hurry = db.prepare('UPDATE messages SET ready = 1, due_at = ? WHERE seq = ?')
  return {
    retry({ id, now }) {
      const row = waiting.get(id, now)
      if (row === undefined) return false
      hurry.run(now, Number(row['seq']))
      return true
    },
    cancel({ id, now }) {
      const row = waiting.get(id, now)
      if (row === undefined) return false
      const record = { at: now, tookMs: 0, provider: '', outcome: 'cancelled', code: 'CANCELLED', reply: '' }
      ending.end(liveRow(row), 'superseded', now, record)
      return true
    },
  }
}
