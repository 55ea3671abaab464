import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallResult } from '../calls.ts'
import { DROP_STEP, eventOfRow, VIEW_COLUMNS } from '../message-row.ts'
import type { NewEvent } from '../unit.ts'

export function createEventQueue(db: DatabaseSync): {
  /** Adds an event in the open transaction. */
  readonly addEvent: (event: NewEvent) => void
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
  const addEvent = ({ at, type, message, data }: NewEvent): void =>
    void insert.run(at, type, message ?? null, data === undefined ? null : JSON.stringify(data))
  return {
    addEvent,
    handlers: {
      addEvent(event) {
        addEvent(event)
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
