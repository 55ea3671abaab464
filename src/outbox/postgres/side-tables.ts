import { DROP_STEP, eventOfRow, VIEW_COLUMNS } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { Memo, NewEvent } from '../outbox.ts'
import { KNOWN_AGAIN, KNOWN_MS } from '../quota.ts'
import { BOUNCE_NOTE, bounceNote } from '../rules.ts'
import { awaitStatements, type Client, type QueryResult, runStatement, statement } from './connect.ts'
import { isText } from './schema.ts'

/** Writes memos in the place of those of their names, in the open transaction. */
export function writeMemos(client: Client, memos: readonly Memo[]): Promise<QueryResult>[] {
  // The last one of a name: a statement may change a row only once.
  const last = new Map(memos.map(memo => [memo.name, memo]))
  return last.size === 0 ? [] : [runStatement(client, WRITE, JSON.stringify([...last.values()]))]
}

/** Notes the numbers to which something was delivered, in the open transaction. @param now ms since the epoch */
export function writeKnown(client: Client, known: ReadonlySet<string>, now: number): Promise<QueryResult>[] {
  return known.size === 0 ? [] : [runStatement(client, WRITE_KNOWN, [...known], now, now + KNOWN_MS)]
}

export async function readMemos(client: Client, names: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await runStatement(client, READ_MEMOS, names)
  return new Map(rows.map(row => [row['name'] as string, row['value'] as string]))
}

/** Forgets that mails to the recipient of a message came back. @returns whether anything was known. */
export async function allowAgain(client: Client, { id }: Takes<'allowAgain'>): Promise<boolean> {
  return (await runStatement(client, FORGET_BOUNCES, id)).rowCount === 1
}

/** Removes what a recipient's messages that have ended left. */
export async function forgetRecipient(
  client: Client,
  { recipientHash }: Takes<'forgetRecipient'>,
): Promise<number> {
  const { rows } = await runStatement(client, FORGET, recipientHash, bounceNote(recipientHash))
  return Number(rows[0]?.['messages'])
}

/**
 * Takes or renews a leader lease by the database's clock, which is the same for all replicas.
 * @param ttlMs 0 gives it up.
 */
export async function takeLeaderLease(
  client: Client,
  name: string,
  owner: string,
  ttlMs: number,
): Promise<boolean> {
  const { rows } = await runStatement(client, TAKE, name, owner, ttlMs)
  return rows.length > 0 && ttlMs > 0
}

const WRITE = statement`INSERT INTO courier_memos (name, value, expires_at)
    SELECT name, value, "expiresAt" FROM json_to_recordset($1::json) AS r(name text, value text, "expiresAt" bigint) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
const WRITE_KNOWN = statement`INSERT INTO courier_known_numbers AS known (recipient_hash, since, expires_at)
    SELECT hash, $2::bigint, $3::bigint FROM unnest($1::text[]) AS hash ORDER BY hash ${KNOWN_AGAIN}`
const READ_MEMOS = statement`SELECT name, value FROM courier_memos WHERE name = ANY($1::text[])`
const FORGET_BOUNCES = statement`DELETE FROM courier_memos WHERE name IN
    (SELECT ${BOUNCE_NOTE} FROM courier_messages WHERE id = $1)`
const FORGET = statement`WITH ended AS (
      DELETE FROM courier_finished WHERE ${isText(['recipient_hash', '$1'])} RETURNING id, arrived_at
    ), undelivered AS (DELETE FROM courier_undelivered WHERE (arrived_at, id) IN (SELECT arrived_at, id FROM ended)
    ), reports AS (DELETE FROM courier_reports WHERE id IN (SELECT id FROM ended)
    ), known AS (DELETE FROM courier_known_numbers WHERE recipient_hash = $1
    ), noted AS (DELETE FROM courier_memos WHERE name = $2 OR substr(value, length(value) - 33, 32) IN (SELECT id FROM ended))
    SELECT count(*) AS messages FROM ended`
const TAKE = statement`INSERT INTO courier_leader_leases AS held (name, owner, until)
    VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
      WHERE held.owner = excluded.owner OR held.until <= clock_timestamp()
    RETURNING owner`

/** Adds events, if there are any. */
export function addEvents(client: Client, events: readonly NewEvent[]): Promise<QueryResult>[] {
  return events.length === 0 ? [] : [runStatement(client, ADD, JSON.stringify(events))]
}

export async function readEvents(
  client: Client,
  { limit }: Takes<'readEvents'>,
): Promise<Gives<'readEvents'>> {
  const [read, span] = await awaitStatements(
    runStatement(client, READ_EVENTS, limit),
    runStatement(client, SPAN),
  )
  return { events: read.rows.map(eventOfRow), waiting: Number(span.rows[0]?.['waiting']) }
}

export async function removeEvents(client: Client, { seqs }: Takes<'removeEvents'>): Promise<void> {
  await runStatement(client, REMOVE, seqs)
}

export async function dropEvents(client: Client, { most, before }: Takes<'dropEvents'>): Promise<number> {
  return (await runStatement(client, DROP, most, before)).rowCount ?? 0
}

const ADD = statement`INSERT INTO courier_events (at, type, message, data)
    SELECT at, type, message, data FROM json_to_recordset($1::json) AS r(at bigint, type text, message text, data jsonb)`
const READ_EVENTS = statement`SELECT e.seq, e.at, e.type, e.data, ${VIEW_COLUMNS} FROM courier_events e
    LEFT JOIN courier_messages m ON m.id = e.message ORDER BY e.seq LIMIT $1`
const SPAN = statement`SELECT (SELECT max(seq) FROM courier_events) - (SELECT min(seq) FROM courier_events) + 1 AS waiting`
const REMOVE = statement`DELETE FROM courier_events WHERE seq = ANY($1::bigint[])`
const DROP = statement`DELETE FROM courier_events WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM courier_events ORDER BY seq LIMIT ${DROP_STEP}) AS oldest
    WHERE seq <= (SELECT max(seq) FROM courier_events) - $1::bigint OR at < $2)`
