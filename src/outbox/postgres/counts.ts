import { type CountChanges, createCountChanges } from '../counts.ts'
import { addToBacklog, type BacklogRow } from './backlog.ts'
import { type Client, type QueryResult, runStatement, type Statement } from './connect.ts'

/** The changes of a transaction to the counts of messages: by minute of arrival and state, and of live ones. */
export interface Counts extends Pick<CountChanges, 'addChange'> {
  /** Says by how many the live messages have grown. */
  added(): number
  /** Writes the changes. Its locks are the transaction's last, on a shard of its own, so nobody waits for them. */
  write(): Promise<QueryResult>[]
}

/** A writer's shard of the counts, and its row of the backlog. */
export interface CountPlaces {
  /** No other writer has it. */
  readonly shard: number
  readonly backlogRow: BacklogRow
}

export function createCounts(client: Client, { shard, backlogRow }: CountPlaces): Counts {
  const { addChange, changes, live } = createCountChanges()
  return {
    addChange,
    added: () => live().email + live().sms,
    write() {
      const asked: Promise<QueryResult>[] = []
      const changed = changes()
      const { email, sms } = live()
      if (changed.length > 0) asked.push(runStatement(client, ADD_COUNTS, JSON.stringify(changed), shard))
      if (email === 0 && sms === 0) return asked
      return [...asked, ...addToBacklog(client, backlogRow, { email, sms })]
    },
  }
}

/**
 * Makes the SQL that adds to counts.
 * @param changes a query of minute, channel, kind, state, shard, count, in the order of the first four: that of the locks
 */
export function addToCountRows(changes: string): string {
  return `INSERT INTO courier_counts AS c (minute, channel, kind, state, shard, count) ${changes}
    ON CONFLICT (minute, channel, kind, state, shard) DO UPDATE SET count = c.count + excluded.count`
}

const ADD_COUNTS: Statement = {
  name: 'add-counts',
  text: addToCountRows(`SELECT minute, channel, kind, state, $2::smallint, "by"
    FROM json_to_recordset($1::json) AS r(minute bigint, channel text, kind text, state text, "by" bigint)
    ORDER BY minute, channel, kind, state`),
}
