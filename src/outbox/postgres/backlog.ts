import type { CountChanges } from '../unit-of-work.ts'
import { type Client, type QueryResult, runStatement, statement } from './connect.ts'

/** So many that none is used again soon, and so few that their sum is read in half a millisecond. */
const BACKLOG_ROWS = 4000

/** A count of the backlog is used for so long, ms: by then other replicas may have stored much. */
const COUNT_AGE_MS = 5000

/**
 * Writes what a transaction changes in the counts: its last locks, and nobody waits for them. A session has a shard of the counts to
 * itself. The backlog is added to row after row, by the number of the transaction: a row is found through all of its versions, and
 * while a snapshot is held (a backup does that) none of them goes away.
 */
export function writeCounts(client: Client, counts: CountChanges): Promise<QueryResult>[] {
  const [changed, ends] = [counts.changes(), counts.ends()]
  const { email, sms } = counts.live()
  return [
    ...(ends.length === 0 ? [] : [runStatement(client, ADD_ENDS, JSON.stringify(ends))]),
    ...(changed.length === 0 ? [] : [runStatement(client, ADD, JSON.stringify(changed), email, sms)]),
  ]
}

/**
 * Makes an upper bound of the live messages: the last count, and those that this process has stored since. A count
 * would read all versions of the rows that a held snapshot keeps, which is too much for every transaction.
 */
export function createBacklogEstimate(maxBacklog: number) {
  let live = 0
  let countedAt = Number.NEGATIVE_INFINITY
  return {
    /** Counts before `added` messages are stored at `now`, if the last count is old or MAX_BACKLOG may be near. */
    async refresh(client: Client, now: number, added: number): Promise<void> {
      if (Math.abs(now - countedAt) <= COUNT_AGE_MS && live + added <= maxBacklog / 2) return
      const { rows } = await runStatement(client, COUNT_BACKLOG)
      live = Number(rows[0]?.['live'])
      countedAt = now
    },
    add(more: number): void {
      live += more
    },
    live: () => live,
  }
}

const COUNT_BACKLOG = statement`SELECT sum(email + sms)::bigint AS live FROM courier_backlog`
const ADD_ENDS = statement`INSERT INTO courier_figures AS f (quarter, channel, name, shard, count)
    SELECT quarter, channel, name, pg_backend_pid() % 32768, "by"
    FROM json_to_recordset($1::json) AS r(quarter bigint, channel text, name text, "by" bigint) ORDER BY quarter, channel, name
    ON CONFLICT (quarter, channel, name, shard) DO UPDATE SET count = f.count + excluded.count`
/** In the order of locks. */
const ADD = statement`WITH counted AS (
    INSERT INTO courier_counts AS c (minute, channel, kind, state, shard, count)
      SELECT minute, channel, kind, state, pg_backend_pid() % 32768, "by"
      FROM json_to_recordset($1::json) AS r(minute bigint, channel text, kind text, state text, "by" bigint)
      ORDER BY minute, channel, kind, state
      ON CONFLICT (minute, channel, kind, state, shard) DO UPDATE SET count = c.count + excluded.count
  )
  INSERT INTO courier_backlog AS b (shard, email, sms) VALUES (txid_current() % ${BACKLOG_ROWS}, $2, $3)
    ON CONFLICT (shard) DO UPDATE SET email = b.email + excluded.email, sms = b.sms + excluded.sms`
