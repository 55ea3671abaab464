import { type Client, runStatement, statement } from './connect.ts'
import { COLUMNS } from './schema.ts'

/**
 * The partitions of what has ended: each has the messages of a day, or of some days, by UTC, in one table, and what was reported on
 * them in another.
 */

export const DAY_MS = 24 * 3600_000
const TABLES = ['courier_finished', 'courier_reports'] as const
/** Statements that find a message anywhere open all partitions: with a long retention each has several days. */
const MOST_PARTITIONS = 60
/** Dropping a partition stops all writers while it waits for those before it: so long at most, ms. */
const LOCK_WAIT_MS = 50
/** Held while partitions are made, so that replicas do it one after the other. */
const MAKING_LOCK = 7_310_928_442

/** A partition: the end of its tables' names, and its first moment and the first one after it, ms since the epoch. */
interface Days {
  readonly name: string
  readonly from: number
  readonly to: number
}

async function listDays(client: Client): Promise<readonly Days[]> {
  const { rows } = await runStatement(client, LIST_DAYS)
  return rows.map(row => {
    const [from = 0, to = 0] = (String(row['bounds']).match(/-?\d+/g) ?? []).map(Number)
    return { name: String(row['name']), from, to }
  })
}

/** Makes the partitions that messages need which end at these moments, ms since the epoch. Nobody waits for it. */
export async function makeDays(
  client: Client,
  retentionDays: number,
  ends: readonly number[],
): Promise<void> {
  const missing = (days: readonly Days[]) =>
    ends.filter(at => !days.some(({ from, to }) => from <= at && at < to))
  if (missing(await listDays(client)).length === 0) return
  const width = Math.ceil(retentionDays / MOST_PARTITIONS) * DAY_MS
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${MAKING_LOCK})`)
  for (;;) {
    const days = await listDays(client)
    const [at] = missing(days)
    if (at === undefined) break
    const first = Math.floor(at / width) * width
    // Those that were made for another retention may be narrower or wider.
    const from = Math.max(first, ...days.filter(({ to }) => to <= at).map(({ to }) => to))
    const to = Math.min(first + width, ...days.filter(each => each.from > at).map(each => each.from))
    const name = new Date(from).toISOString().slice(0, 10).replaceAll('-', '')
    for (const table of TABLES)
      await client.query(`CREATE TABLE ${table}_${name} (LIKE ${table} INCLUDING ALL);
        ALTER TABLE ${table} ATTACH PARTITION ${table}_${name} FOR VALUES FROM (${from}) TO (${to})`)
  }
  await client.query('COMMIT')
}

/** Moves to their days the messages that had ended before 1.1.0 parted them so: it left them in a table of their own. */
export async function moveEarlier(client: Client, retentionDays: number): Promise<void> {
  const { rows } = await client.query<{ at: number }>(
    `SELECT DISTINCT final_at / ${DAY_MS} * ${DAY_MS} AS at FROM courier_earlier`,
  )
  if (rows.length === 0) return
  await makeDays(
    client,
    retentionDays,
    rows.map(({ at }) => at),
  )
  await client.query(`BEGIN; LOCK TABLE courier_earlier;
    INSERT INTO courier_finished (${COLUMNS}) SELECT ${COLUMNS} FROM courier_earlier; TRUNCATE courier_earlier; COMMIT`)
}

/** Reads from a failure when the message ended for which there was no partition; null: it is another failure. */
export function missingDay(error: unknown): number | null {
  const { code, table, detail } = (error ?? {}) as { code?: unknown; table?: unknown; detail?: unknown }
  if (code !== '23514' || !(TABLES as readonly unknown[]).includes(table)) return null
  return Number(/\((-?\d+)\)/.exec(String(detail))?.[1])
}

/** Drops the partitions that were over before `before`, ms since the epoch. When one is in use, all stay until the next time. */
export async function dropDays(client: Client, before: number): Promise<void> {
  const over = (await listDays(client)).filter(({ to }) => to <= before)
  const drops = over.map(
    ({ name }) => `DROP TABLE IF EXISTS courier_finished_${name}, courier_reports_${name};`,
  )
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_WAIT_MS}; ${drops.join('')} COMMIT`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55P03') throw error
    await client.query('ROLLBACK')
  }
}

const LIST_DAYS = statement`SELECT substring(c.relname FROM '\\d+$') AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'courier_finished'::regclass ORDER BY 1`
