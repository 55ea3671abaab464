import type pg from 'pg'
import type { Client } from '../src/outbox/postgres/connect.ts'
import { makeDays } from '../src/outbox/postgres/days.ts'

const DAY_MS = 24 * 3_600_000

interface Column {
  readonly name: string
  readonly type: string
}

/**
 * Fills a shared store with messages that ended evenly over the last days: copies of one that the service itself has ended, each
 * with an id, keys and times of its own. It asks the database which table holds what ended and which columns that has.
 * @param client in the store's schema.
 * @param days ago that the oldest one ended.
 */
export async function fillFinished(client: pg.Client, rows: number, days: number): Promise<void> {
  const { table, columns } = await findFinished(client)
  const rebuild = await dropIndexes(client, table)
  await client.query('SET synchronous_commit = off')
  const end = Date.now()
  const begin = end - days * DAY_MS
  await client.query(`CREATE TEMP TABLE one AS SELECT * FROM ${table} WHERE final_at IS NOT NULL LIMIT 1`)
  const names = columns.map(({ name }) => name).join(', ')
  // Below all that are there, and below those of an earlier fill.
  const first = `SELECT least(min(seq), 0) - ${rows} AS seq FROM ${table}`
  const { rows: least } = await client.query<{ seq: string }>(first)
  const number = `(n + ${least[0]?.seq})`
  const values = columns.map(column => valueOf(column, number, rows)).join(', ')
  const step = (end - begin) / rows
  // A day at a time, from the oldest on: as they would have come.
  for (let from = 0; from < rows; ) {
    const until = Math.min(rows, from + Math.ceil(DAY_MS / step))
    const ends = [from, until - 1].map(n => begin + n * step)
    await makeDays(client as unknown as Client, days, ends)
    await client.query(
      `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${values}
       FROM one, generate_series($1::bigint, $2::bigint) AS n,
         LATERAL (SELECT $3::float8 + n * $4::float8 - one.final_at AS shift) AS moved`,
      [from, until - 1, begin, step],
    )
    from = until
  }
  await client.query('DROP TABLE one')
  await rebuild()
  await client.query('VACUUM (FREEZE, ANALYZE)')
}

/** A message's own values are derived from its number; those that say a time are moved; all others are as the service wrote them. */
function valueOf({ name, type }: Column, number: string, rows: number): string {
  const hash = (of: string) => `sha256((${of} || '${name}')::bytea)`
  const text = (of: string) =>
    `left(translate(encode(${hash(of)}, 'base64'), '+/', '-_'), length(one.${name}))`
  switch (name) {
    case 'seq':
      return number
    case 'id':
      return type === 'uuid' ? 'gen_random_uuid()' : `left(encode(${hash(number)}, 'hex'), length(one.id))`
    case 'dedupe_key':
    case 'group_key':
    case 'provider_id':
      return text(number)
    // Five messages to each.
    case 'recipient_hash':
      return text(`${number} * 7919 % ${Math.ceil(rows / 5)}`)
    case 'arrived_at':
    case 'expires_at':
    case 'due_at':
    case 'final_at':
      return `(one.${name} + shift)::bigint`
    default:
      return `one.${name}`
  }
}

async function findFinished(client: pg.Client): Promise<{ table: string; columns: readonly Column[] }> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition AND 2 = (SELECT count(*) FROM pg_attribute
         WHERE attrelid = c.oid AND attname IN ('dedupe_key', 'final_at') AND NOT attisdropped)`,
  )
  for (const { name } of rows) {
    const found = await client.query(`SELECT 1 FROM ${name} WHERE final_at IS NOT NULL LIMIT 1`)
    if (found.rows.length === 0) continue
    const columns = await client.query<Column>(
      `SELECT attname AS name, atttypid::regtype::text AS type FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      [name],
    )
    return { table: name, columns: columns.rows }
  }
  throw new Error('no table holds a message that ended')
}

/** Takes away the indexes that hold no promise; filling without them is several times faster. @returns makes them again */
async function dropIndexes(client: pg.Client, table: string): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
    [table],
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  return async () => {
    await client.query("SET maintenance_work_mem = '512MB'")
    for (const { definition } of rows) await client.query(definition.replace(' ON ONLY ', ' ON '))
  }
}
