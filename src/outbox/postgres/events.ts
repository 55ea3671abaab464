import { DROP_STEP, eventOfRow, VIEW_COLUMNS } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { NewEvent } from '../unit.ts'
import { awaitStatements, type Client, runStatement, statement, type Write } from './connect.ts'

/** The write that adds events, if there are any. */
export function addEvents(events: readonly NewEvent[]): readonly Write[] {
  return events.length === 0 ? [] : [{ ...ADD, values: [JSON.stringify(events)] }]
}

export async function readEvents(
  client: Client,
  { limit }: Takes<'readEvents'>,
): Promise<Gives<'readEvents'>> {
  const [read, span] = await awaitStatements(runStatement(client, READ, limit), runStatement(client, SPAN))
  return { events: read.rows.map(eventOfRow), waiting: Number(span.rows[0]?.['waiting'] ?? 0) }
}

export async function removeEvents(client: Client, { seqs }: Takes<'removeEvents'>): Promise<void> {
  await runStatement(client, REMOVE, seqs)
}

export async function dropEvents(client: Client, { most, before }: Takes<'dropEvents'>): Promise<number> {
  return (await runStatement(client, DROP, most, before)).rowCount ?? 0
}

const ADD = statement('add-events')`INSERT INTO courier_events (at, type, message, data)
    SELECT at, type, message, data FROM json_to_recordset($1::json) AS r(at bigint, type text, message text, data jsonb)`
const READ = statement(
  'read-events',
)`SELECT e.seq, e.at, e.type, e.data, ${VIEW_COLUMNS.replace(/\w+/g, 'm.$&')} FROM courier_events e
    LEFT JOIN courier_messages m ON m.id = e.message ORDER BY e.seq LIMIT $1`
const SPAN = statement(
  'span-of-events',
)`SELECT (SELECT max(seq) FROM courier_events) - (SELECT min(seq) FROM courier_events) + 1 AS waiting`
const REMOVE = statement('remove-events')`DELETE FROM courier_events WHERE seq = ANY($1::bigint[])`
const DROP = statement('drop-events')`DELETE FROM courier_events WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM courier_events ORDER BY seq LIMIT ${DROP_STEP}) AS oldest
    WHERE seq <= (SELECT max(seq) FROM courier_events) - $1::bigint OR at < $2)`
