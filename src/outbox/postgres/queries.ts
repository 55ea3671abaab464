import { randomBytes } from 'node:crypto'
import { VIEW_COLUMNS, viewOfRow } from '../message-row.ts'
import type { Takes } from '../operations.ts'
import { type ListFilter, type MessageView, PROBE_BYTES } from '../outbox.ts'
import { beginTransaction, type Client, commitTransaction, runStatement, statement } from './connect.ts'

export async function findMessage(client: Client, { id }: Takes<'findMessage'>): Promise<MessageView | null> {
  const { rows } = await runStatement(client, FIND, withoutNul(id))
  return rows[0] === undefined ? null : viewOfRow(rows[0])
}

export async function listMessages(
  client: Client,
  { filter }: Takes<'listMessages'>,
): Promise<readonly MessageView[]> {
  const conditions: (readonly [string, keyof ListFilter])[] = [
    ['recipient_hash =', 'recipientHash'],
    ['state =', 'state'],
    ['channel =', 'channel'],
    ['kind =', 'kind'],
    ['arrived_at <', 'before'],
  ]
  const given = conditions.filter(([, key]) => filter[key] !== undefined)
  const where = given.map(([sql], at) => `${sql} $${at + 2}`).join(' AND ')
  const text = `SELECT ${VIEW_COLUMNS} FROM courier_messages ${where === '' ? '' : `WHERE ${where}`}
    ORDER BY arrived_at DESC, seq DESC LIMIT $1`
  const { rows } = await client.query<Record<string, unknown>>(text, [
    filter.limit,
    ...given.map(([, key]) => {
      const value = filter[key]
      return typeof value === 'string' ? withoutNul(value) : value
    }),
  ])
  return rows.map(viewOfRow)
}

/** Replaces NUL in a search: Postgres cannot have it in a text, and reports a search for it as an error. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}

/** Tries whether a commit works right now, with as much to write as a callback needs: random bytes cannot be compressed. */
export async function probeCommit(client: Client): Promise<boolean> {
  const bytes = randomBytes(PROBE_BYTES).toString('base64')
  await commitTransaction(client, beginTransaction(client), runStatement(client, PROBE, bytes))
  return true
}

const FIND = statement('find')`SELECT ${VIEW_COLUMNS} FROM courier_messages WHERE id = $1`
const PROBE = statement(
  'probe',
)`INSERT INTO courier_meta (key, value) VALUES ('probe', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`
