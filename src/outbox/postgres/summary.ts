import type { Takes } from '../operations.ts'
import type { Summary } from '../outbox.ts'
import { awaitStatements, type Client, runStatement, statement } from './connect.ts'

const MINUTE = 60_000

/** Adds up the counts, to the minute; reads no message but the oldest. */
export async function readSummary(client: Client, { since, stepMs }: Takes<'readSummary'>): Promise<Summary> {
  const from = Math.floor(since / MINUTE)
  const minutes = Math.max(1, Math.round(stepMs / MINUTE))
  const [backlog, oldest, counts, series, bytes] = await awaitStatements(
    runStatement(client, BACKLOG),
    runStatement(client, OLDEST),
    runStatement(client, COUNTS, from),
    runStatement(client, SERIES, from, minutes),
    runStatement(client, BYTES),
  )
  const first = (rows: readonly Record<string, unknown>[]) => rows[0] ?? {}
  return {
    backlog: { email: Number(first(backlog.rows)['email']), sms: Number(first(backlog.rows)['sms']) },
    oldest: {
      email: first(oldest.rows)['email'] as number | null,
      sms: first(oldest.rows)['sms'] as number | null,
    },
    counts: counts.rows as unknown as Summary['counts'],
    series: series.rows as unknown as Summary['series'],
    bytes: Number(first(bytes.rows)['bytes']),
  }
}

const BACKLOG = statement(
  'backlog-by-channel',
)`SELECT coalesce(sum(email), 0)::bigint AS email, coalesce(sum(sms), 0)::bigint AS sms FROM courier_backlog`
const OLDEST = statement(
  'oldest',
)`SELECT (SELECT min(arrived_at) FROM courier_messages WHERE final_at IS NULL AND channel = 'email') AS email,
    (SELECT min(arrived_at) FROM courier_messages WHERE final_at IS NULL AND channel = 'sms') AS sms`
const COUNTS = statement(
  'counts',
)`SELECT channel, kind, state, sum(count)::bigint AS count FROM courier_counts WHERE minute >= $1
    GROUP BY channel, kind, state HAVING sum(count) > 0 ORDER BY channel, kind, state`
const SERIES = statement(
  'series',
)`SELECT minute / $2::bigint * $2::bigint * ${MINUTE} AS at, state, sum(count)::bigint AS count
    FROM courier_counts WHERE minute >= $1 GROUP BY at, state HAVING sum(count) > 0 ORDER BY at, state`
const BYTES = statement('bytes')`SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
    WHERE relname LIKE 'courier\\_%' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace`
