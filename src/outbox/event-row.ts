import { viewOfRow } from './message-view.ts'
import type { QueuedEvent, QueuedEventType } from './outbox.ts'

/** Events that one step drops. */
export const DROP_STEP = 500

/** @param row with the columns of an event, and VIEW_COLUMNS of its message; JSON as text (SQLite) or read already (Postgres). */
export function eventOfRow(row: Readonly<Record<string, unknown>>): QueuedEvent {
  const { data } = row
  return {
    seq: row['seq'] as number,
    type: row['type'] as QueuedEventType,
    at: row['at'] as number,
    message: row['id'] === null ? null : viewOfRow(row),
    data: (typeof data === 'string' ? JSON.parse(data) : data) as QueuedEvent['data'],
  }
}
