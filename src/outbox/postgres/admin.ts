import type { Channel, Purpose } from '../../messages/message.ts'
import type { CallArguments, CallResult } from '../calls.ts'
import type { AttemptRecord, FinalAnswer, ListFilter, MessageView, State } from '../outbox.ts'
import { ask, type Client, commit, type Statement, together } from './connect.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { createRowChanges, type RowChanges } from './row-changes.ts'

const MINUTE = 60_000

/** Finds and lists messages for people. Reads only. */
export async function findMessage(
  client: Client,
  { id }: CallArguments<'find'>,
): Promise<CallResult<'find'>> {
  const { rows } = await ask(client, FIND, id)
  return rows[0] === undefined ? null : viewOf(rows[0])
}

export async function listMessages(
  client: Client,
  { filter }: CallArguments<'list'>,
): Promise<CallResult<'list'>> {
  const asked: (readonly [string, keyof ListFilter])[] = [
    ['recipient =', 'recipientHash'],
    ['state =', 'state'],
    ['channel =', 'channel'],
    ['kind =', 'kind'],
    ['arrived_at <', 'before'],
  ]
  const given = asked.filter(([, key]) => filter[key] !== undefined)
  const where = given.map(([sql], at) => `${sql} $${at + 2}`).join(' AND ')
  const text = `SELECT ${VIEW_COLUMNS} FROM courier_messages ${where === '' ? '' : `WHERE ${where}`}
    ORDER BY arrived_at DESC, seq DESC LIMIT $1`
  const { rows } = await client.query<Record<string, unknown>>(text, [
    filter.limit,
    ...given.map(([, key]) => filter[key]),
  ])
  return rows.map(viewOf)
}

function viewOf(read: Readonly<Record<string, unknown>>): MessageView {
  return {
    id: read['id'] as string,
    channel: read['channel'] as Channel,
    kind: read['kind'] as string,
    purpose: read['purpose'] as Purpose,
    maskedRecipient: read['masked'] as string,
    state: read['state'] as State,
    answer: read['answer'] as FinalAnswer,
    attempts: read['attempts'] as number,
    ambiguous: read['ambiguous'] as number,
    arrivedAt: read['arrived_at'] as number,
    expiresAt: read['expires_at'] as number,
    dueAt: read['due_at'] as number | null,
    finalAt: read['final_at'] as number | null,
    providerId: read['provider_id'] as string | null,
    receipt: read['receipt'] as MessageView['receipt'],
    timeline: (read['timeline'] as readonly AttemptRecord[] | null) ?? [],
  }
}

/** Adds up the tallies, to the minute. */
export async function readSummary(
  client: Client,
  { since, stepMs }: CallArguments<'summary'>,
): Promise<CallResult<'summary'>> {
  const from = Math.floor(since / MINUTE)
  const minutes = Math.max(1, Math.round(stepMs / MINUTE))
  const [backlog, oldest, counts, series, bytes] = await together(
    ask(client, BACKLOG),
    ask(client, OLDEST),
    ask(client, COUNTS, from),
    ask(client, SERIES, from, minutes),
    ask(client, BYTES),
  )
  const first = (rows: readonly Record<string, unknown>[]) => rows[0] ?? {}
  return {
    backlog: { email: Number(first(backlog.rows)['email']), sms: Number(first(backlog.rows)['sms']) },
    oldest: {
      email: first(oldest.rows)['email'] as number | null,
      sms: first(oldest.rows)['sms'] as number | null,
    },
    counts: counts.rows as unknown as CallResult<'summary'>['counts'],
    series: series.rows as unknown as CallResult<'summary'>['series'],
    bytes: Number(first(bytes.rows)['bytes']),
  }
}

/** Makes a message due now, or ends it, if it waits. */
export function createOperatorActions(shard: number) {
  async function onWaiting(
    client: Client,
    id: string,
    now: number,
    act: (unit: RowChanges, row: Row) => void,
  ): Promise<boolean> {
    const unit = createRowChanges(client, shard, now)
    const [, { rows }] = await together(client.query('BEGIN'), ask(client, WAITING, id, now))
    const row = rows[0] === undefined ? undefined : rowOf(rows[0])
    if (row !== undefined) {
      await unit.quotas.lock([], row.charges === null ? [] : [row.charges])
      act(unit, row)
    }
    await unit.commit()
    return row !== undefined
  }
  return {
    retry: (client: Client, { id, now }: CallArguments<'retry'>) =>
      onWaiting(client, id, now, (unit, row) => {
        const { attempts, ambiguous } = row
        unit.put(row, { state: 'queued', answer: null, attempts, ambiguous, dueAt: now })
      }),
    cancel: (client: Client, { id, now }: CallArguments<'cancel'>) =>
      onWaiting(client, id, now, (unit, row) =>
        unit.end(row, 'superseded', {
          at: now,
          tookMs: 0,
          provider: '',
          outcome: 'cancelled',
          code: 'CANCELLED',
          reply: '',
        }),
      ),
  }
}

/** Whether a commit works right now. */
export async function probeCommit(client: Client, { now }: CallArguments<'probe'>): Promise<boolean> {
  await commit(client, client.query('BEGIN'), ask(client, PROBE, String(now)))
  return true
}

const VIEW_COLUMNS = `id, channel, kind, purpose, masked, state, answer, attempts, ambiguous, arrived_at, expires_at,
  due_at, final_at, provider_id, receipt, timeline`

const FIND: Statement = { name: 'find', text: `SELECT ${VIEW_COLUMNS} FROM courier_messages WHERE id = $1` }
const WAITING: Statement = {
  name: 'waiting',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m
    WHERE m.id = $1 AND m.state = 'queued' AND m.expires_at > $2 FOR UPDATE`,
}
const BACKLOG: Statement = {
  name: 'backlogs',
  text: 'SELECT coalesce(sum(email), 0)::bigint AS email, coalesce(sum(sms), 0)::bigint AS sms FROM courier_backlog',
}
const OLDEST: Statement = {
  name: 'oldest',
  text: `SELECT (SELECT min(arrived_at) FROM courier_messages WHERE final_at IS NULL AND channel = 'email') AS email,
    (SELECT min(arrived_at) FROM courier_messages WHERE final_at IS NULL AND channel = 'sms') AS sms`,
}
const COUNTS: Statement = {
  name: 'counts',
  text: `SELECT channel, kind, state, sum(count)::bigint AS count FROM courier_tallies WHERE minute >= $1
    GROUP BY channel, kind, state HAVING sum(count) > 0 ORDER BY channel, kind, state`,
}
const SERIES: Statement = {
  name: 'series',
  text: `SELECT minute / $2::bigint * $2::bigint * ${MINUTE} AS at, state, sum(count)::bigint AS count
    FROM courier_tallies WHERE minute >= $1 GROUP BY at, state HAVING sum(count) > 0 ORDER BY at, state`,
}
const BYTES: Statement = {
  name: 'bytes',
  text: `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
    WHERE relname LIKE 'courier\\_%' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
}
const PROBE: Statement = {
  name: 'probe',
  text: `INSERT INTO courier_meta VALUES ('probe', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
}
