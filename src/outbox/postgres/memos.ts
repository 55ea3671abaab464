import type { Memo } from '../outbox.ts'
import { type Client, type QueryResult, runStatement, statement } from './connect.ts'

/** Writes memos in the place of those of their names, in the open transaction. */
export function writeMemos(client: Client, memos: readonly Memo[]): Promise<QueryResult>[] {
  // The last one of a name: a statement may change a row only once.
  const last = new Map(memos.map(memo => [memo.name, memo]))
  return last.size === 0 ? [] : [runStatement(client, WRITE, JSON.stringify([...last.values()]))]
}

export async function readMemos(
  client: Client,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await runStatement(client, READ, names)
  return new Map(rows.map(row => [row['name'] as string, row['value'] as string]))
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
  if (ttlMs <= 0) {
    await runStatement(client, GIVE_UP, name, owner)
    return false
  }
  const { rows } = await runStatement(client, TAKE, name, owner, ttlMs)
  return rows.length > 0
}

const WRITE = statement('write-memos')`INSERT INTO courier_memos (name, value, expires_at)
    SELECT name, value, "expiresAt" FROM json_to_recordset($1::json) AS r(name text, value text, "expiresAt" bigint) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
const READ = statement('read-memos')`SELECT name, value FROM courier_memos WHERE name = ANY($1::text[])`
const TAKE = statement('take-leader-lease')`INSERT INTO courier_leader_leases AS held (name, owner, until)
    VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
      WHERE held.owner = excluded.owner OR held.until <= clock_timestamp()
    RETURNING owner`
const GIVE_UP = statement(
  'give-up-leader-lease',
)`DELETE FROM courier_leader_leases WHERE name = $1 AND owner = $2`
