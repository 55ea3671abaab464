import type { CountChanges } from '../unit.ts'
import { type Client, runStatement, statement, type Write } from './connect.ts'

/** The writers of a process that may count at the same time. */
export const WRITERS = 3
const WRITES_PER_BACKLOG_ROW = 100
/** There are many rows, so that none is used again soon; a smallint numbers them. */
const BACKLOG_ROWS = 10_000 * WRITERS

/** A count of the backlog is used for so long, ms: by then other replicas may have stored much. */
const COUNT_AGE_MS = 5000

/**
 * Says which row of the backlog a writer adds to this time, and what moves it to another one afterwards, if it is time. A row
 * is found through all of its versions, and while a snapshot is held (a backup does that) none of them goes away. So the
 * writer moves what its row says to another row after some writes.
 */
export type BacklogRow = () => { readonly number: number; readonly move: readonly Write[] }

/** @param first the number of the writer's first row; no other writer begins with it. */
export function createBacklogRow(first: number): BacklogRow {
  let row = first
  let writes = 0
  return () => {
    const number = row
    writes += 1
    if (writes % WRITES_PER_BACKLOG_ROW !== 0) return { number, move: [] }
    row = (row + WRITERS) % BACKLOG_ROWS
    return { number, move: [{ ...MOVE_BACKLOG, values: [number, row] }] }
  }
}

/** A writer's shard of the counts, and its row of the backlog. */
export interface CountPlaces {
  /** No other writer has it. */
  readonly shard: number
  readonly backlogRow: BacklogRow
}

/**
 * The writes of what a transaction changes in the counts, and one that may have to follow them: its last locks, on a shard of its
 * own, so that nobody waits for them.
 */
export function writeCounts(
  { shard, backlogRow }: CountPlaces,
  counts: Pick<CountChanges, 'changes' | 'live'>,
): { readonly writes: readonly Write[]; readonly after: readonly Write[] } {
  const changed = counts.changes()
  const { email, sms } = counts.live()
  const writes = changed.length === 0 ? [] : [{ ...ADD_COUNTS, values: [JSON.stringify(changed), shard] }]
  if (email === 0 && sms === 0) return { writes, after: [] }
  const { number, move } = backlogRow()
  return { writes: [...writes, { ...ADD_BACKLOG, values: [email, sms, number] }], after: move }
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
      live = Number(rows[0]?.['live'] ?? 0)
      countedAt = now
    },
    add(more: number): void {
      live += more
    },
    live: () => live,
  }
}

/**
 * Makes the SQL that adds to rows of the backlog. A row may be there already, since another writer may have moved to it.
 * @param changes a query or VALUES of shard, email, sms
 */
export function addToBacklogRow(changes: string): string {
  return `INSERT INTO courier_backlog AS b (shard, email, sms) ${changes}
    ON CONFLICT (shard) DO UPDATE SET email = b.email + excluded.email, sms = b.sms + excluded.sms`
}

const ADD_BACKLOG = statement('add-backlog')`${addToBacklogRow('VALUES ($3, $1, $2)')}`
const MOVE_BACKLOG = statement(
  'move-backlog',
)`WITH gone AS (DELETE FROM courier_backlog WHERE shard = $1 RETURNING email, sms)
    ${addToBacklogRow('SELECT $2::smallint, email, sms FROM gone')}`
const COUNT_BACKLOG = statement('count-backlog')`SELECT sum(email + sms)::bigint AS live FROM courier_backlog`

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
