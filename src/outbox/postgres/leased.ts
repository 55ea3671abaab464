import type { QueryResult } from './connect.ts'

/**
 * Makes the SQL that finds the messages which leases are on, for an UPDATE of them by `ctid` that names `lease_token` again,
 * and whatever else it needs of the row: another transaction may change it meanwhile. In the order of locks.
 *
 * Each message is looked up by itself: with a join, statistics of a time when nothing was sent make a walk through all messages
 * look cheaper.
 *
 * @param asked what is asked about, as a row source called `asked` with the columns id and token
 */
export function findLeased(asked: string): string {
  return `SELECT m.ctid, asked.* FROM ${asked}
    CROSS JOIN LATERAL (SELECT ctid, seq, lease_token FROM courier_messages WHERE id = asked.id LIMIT 1) AS m
    WHERE m.lease_token = asked.token ORDER BY m.seq`
}

/**
 * Makes the SQL that says which leases' messages a statement has changed: one row, that names them only if some are missing.
 *
 * @param changed the rows that were changed, with their lease_token
 * @param asked the parameter that says how many should have been
 */
export function reportChanged(changed: string, asked: string): string {
  return `SELECT CASE WHEN count(*) < ${asked}::integer THEN coalesce(array_agg(lease_token), '{}') END AS changed FROM ${changed}`
}

/** Reads that report. @param asked the tokens of all */
export function whichChanged({ rows }: QueryResult, asked: ReadonlySet<string>): ReadonlySet<string> {
  const changed = rows[0]?.['changed'] as readonly string[] | null | undefined
  return changed === null ? asked : new Set(changed)
}
