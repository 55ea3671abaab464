import { createCountChanges } from '../counts.ts'
import { addToBacklog, type BacklogRow, takeBacklogRow } from './backlog.ts'
import { statement, type Write } from './connect.ts'

/** A writer's shard of the counts, and its row of the backlog. */
export interface CountPlaces {
  /** No other writer has it. */
  readonly shard: number
  readonly backlogRow: BacklogRow
}

export type Counts = ReturnType<typeof createCounts>

/** The changes of a transaction to the counts of messages: by minute of arrival and state, and of live ones. */
export function createCounts({ shard, backlogRow }: CountPlaces) {
  const { addChange, changes, live } = createCountChanges()
  return {
    addChange,
    /** Says by how many the live messages have grown. */
    added: () => live().email + live().sms,
    /**
     * The writes of the changes, and one that may have to follow them: the last locks of a transaction, on a shard of its own,
     * so that nobody waits for them.
     */
    write(): { readonly writes: readonly Write[]; readonly after: readonly Write[] } {
      const changed = changes()
      const { email, sms } = live()
      const counted =
        changed.length === 0 ? [] : [{ ...ADD_COUNTS, values: [JSON.stringify(changed), shard] }]
      if (email === 0 && sms === 0) return { writes: counted, after: [] }
      const place = takeBacklogRow(backlogRow)
      return { writes: [...counted, addToBacklog(place, { email, sms })], after: place.move }
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

const ADD_COUNTS = statement(
  'add-counts',
)`${addToCountRows(`SELECT minute, channel, kind, state, $2::smallint, "by"
    FROM json_to_recordset($1::json) AS r(minute bigint, channel text, kind text, state text, "by" bigint)
    ORDER BY minute, channel, kind, state`)}`
