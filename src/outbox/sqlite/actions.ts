import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments } from '../calls.ts'
import { storeRecord } from '../rules.ts'
import type { MessageWriter } from './message-writer.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'

export function createOperatorActions(db: DatabaseSync, writer: MessageWriter) {
  const waiting = db.prepare(
    `SELECT ${ROW_COLUMNS} FROM messages
       WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1 AND state = 'queued' AND expires_at > ?2`,
  )
  function actOnWaiting(id: string, now: number, act: (row: Row) => void): boolean {
    const found = waiting.get(id, now)
    if (found !== undefined) act(rowOf(found))
    return found !== undefined
  }
  return {
    retryMessage: ({ id, now }: CallArguments<'retryMessage'>) =>
      actOnWaiting(id, now, row =>
        writer.changeState(row, { ...row, state: 'queued', answer: null, dueAt: now }, now),
      ),
    cancelMessage: ({ id, now }: CallArguments<'cancelMessage'>) =>
      actOnWaiting(id, now, row => writer.end(row, 'superseded', now, [storeRecord('cancelled', now)])),
  }
}
