import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallResult } from '../calls.ts'
import { DROP_STEP, eventOfRow } from '../event-row.ts'
import { VIEW_COLUMNS } from '../message-view.ts'
import type { QueuedEventType } from '../outbox.ts'

/** Adds an event about a message in the open transaction. */
export type AddMessageEvent = (type: QueuedEventType, at: number, message: string, data?: object) => void

export function createEventQueue(db: DatabaseSync): {
  readonly addMessageEvent: AddMessageEvent
  readonly handlers: {
    readonly [N in 'addEvent' | 'readEvents' | 'removeEvents' | 'dropEvents']: (
      call: CallArguments<N>,
    ) => CallResult<N>
  }
} {
  const insert = db.prepare('INSERT INTO events (at, type, message, data) VALUES (?, ?, ?, ?)')
  const read = db.prepare(READ)
  const span = db.prepare(
    'SELECT (SELECT max(seq) FROM events) - (SELECT min(seq) FROM events) + 1 AS waiting',
  )
  const remove = db.prepare('DELETE FROM events WHERE seq = ?')
  const drop = db.prepare(DROP)
  return {
    addMessageEvent: (type, at, message, data) =>
      void insert.run(at, type, message, data === undefined ? null : JSON.stringify(data)),
    handlers: {
      addEvent({ at, type, data }) {
        insert.run(at, type, null, JSON.stringify(data))
        return null
      },
      readEvents: ({ limit }) => ({
        events: read.all(limit).map(eventOfRow),
        waiting: Number(span.get()?.['waiting'] ?? 0),
      }),
      removeEvents({ seqs }) {
        for (const seq of seqs) remove.run(seq)
        return null
      },
      dropEvents: ({ most, before }) => Number(drop.run(most, before).changes),
    },
  }
}

const READ = `
  SELECT e.seq, e.at, e.type, e.data, ${VIEW_COLUMNS} FROM events e
  LEFT JOIN messages m ON substr(m.id, 1, 16) = substr(e.message, 1, 16) AND m.id = e.message
  ORDER BY e.seq LIMIT ?`
const DROP = `
  DELETE FROM events WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM events ORDER BY seq LIMIT ${DROP_STEP})
    WHERE seq <= (SELECT max(seq) FROM events) - ? OR at < ?)`
