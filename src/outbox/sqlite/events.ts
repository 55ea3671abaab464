import type { DatabaseSync } from 'node:sqlite'
import { DROP_STEP, eventOfRow, VIEW_COLUMNS } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { NewEvent } from '../unit.ts'

/** The operations on the queue of events, in the open transaction. */
export function createEventQueue(db: DatabaseSync) {
  const insert = db.prepare('INSERT INTO events (at, type, message, data) VALUES (?, ?, ?, ?)')
  const read = db.prepare(READ)
  const span = db.prepare(
    'SELECT (SELECT max(seq) FROM events) - (SELECT min(seq) FROM events) + 1 AS waiting',
  )
  const remove = db.prepare('DELETE FROM events WHERE seq = ?')
  const drop = db.prepare(DROP)
  return {
    addEvent: ({ at, type, message, data }: NewEvent): void =>
      void insert.run(at, type, message ?? null, data === undefined ? null : JSON.stringify(data)),
    readEvents: ({ limit }: Takes<'readEvents'>): Gives<'readEvents'> => ({
      events: read.all(limit).map(eventOfRow),
      waiting: Number(span.get()?.['waiting'] ?? 0),
    }),
    removeEvents({ seqs }: Takes<'removeEvents'>): void {
      for (const seq of seqs) remove.run(seq)
    },
    dropEvents: ({ most, before }: Takes<'dropEvents'>): number => Number(drop.run(most, before).changes),
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
