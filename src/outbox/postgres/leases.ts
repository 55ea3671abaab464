import type { Takes } from '../operations.ts'
import { type Settlement, StoreUnavailable } from '../outbox.ts'
import { TIMELINE_LINES } from '../rules.ts'
import { addToBacklogRow, addToCountRows, type CountPlaces } from './backlog.ts'
import {
  awaitStatements,
  type Client,
  type QueryResult,
  runStatement,
  runTogether,
  statement,
} from './connect.ts'
import { finishFrom, KEPT_COLUMNS } from './schema.ts'

/**
 * The two writes of which there is one a message: the mark that its attempt begins, and the end of one that was sent. Nothing of
 * the row decides about them but its lease, so each is one statement that neither reads nor locks the rows first.
 */

/**
 * Makes the SQL that finds the messages which leases are on, for an UPDATE of them by `ctid` that names `lease_token` again,
 * and whatever else it needs of the row: another transaction may change it meanwhile. In the order of locks.
 *
 * Each message is looked up by itself: with a join, statistics of a time when nothing was sent make a walk through all messages
 * look cheaper.
 *
 * @param asked what is asked about, as a row source called `asked` with the columns id and token
 */
function findLeased(asked: string): string {
  return `SELECT m.ctid, asked.* FROM ${asked}
    CROSS JOIN LATERAL (SELECT ctid, seq, lease_token FROM courier_live WHERE id = asked.id LIMIT 1) AS m
    WHERE m.lease_token = asked.token ORDER BY m.seq`
}

/**
 * Makes the SQL that says which leases' messages a statement has changed: one row, that names them only if some are missing.
 *
 * @param changed the rows that were changed, with their lease_token
 * @param asked the parameter that says how many should have been
 * @param more further columns of the row
 */
function reportChanged(changed: string, asked: string, more = ''): string {
  return `SELECT CASE WHEN count(*) < ${asked}::integer THEN coalesce(array_agg(lease_token), '{}') END AS changed${more} FROM ${changed}`
}

/** Reads that report. @param asked the tokens of all */
function whichChanged({ rows }: QueryResult, asked: ReadonlySet<string>): ReadonlySet<string> {
  const changed = rows[0]?.['changed'] as readonly string[] | null | undefined
  return changed === null ? asked : new Set(changed)
}

/** An attempt that begins, under the lease of this token. `provider`: see Outbox.beginAttempt. */
export interface BegunAttempt {
  readonly id: string
  readonly token: string
  readonly provider?: string | undefined
}

/**
 * Marks claimed messages whose attempts begin. The server must have the mark before the first byte leaves, but need not sync it:
 * a mark that a crash of the server loses is lost together with whatever the attempt wrote after it.
 * One of which another replica has stored a newer code is not marked.
 * @returns for each call an error when its claim is no longer this process's: then the attempt must not begin.
 */
export async function markBegun(
  client: Client,
  calls: readonly BegunAttempt[],
): Promise<('outdated' | undefined | StoreUnavailable)[]> {
  const tokens = new Set(calls.map(call => call.token))
  const result = await runStatement(
    client,
    MARK,
    calls.map(call => call.id),
    calls.map(call => call.token),
    calls.map(call => call.provider ?? null),
    tokens.size,
  )
  const found = whichChanged(result, tokens)
  const outdated = new Set(result.rows[0]?.['outdated'] as readonly string[] | null)
  return calls.map(({ token }) => {
    if (!found.has(token)) return new StoreUnavailable('the claim on the message is no longer ours')
    return outdated.has(token) ? 'outdated' : undefined
  })
}

/** Sets the marks in a transaction of its own, for which the statement itself switches off the wait for the disk. */
const MARK = statement(
  'mark-begun',
)`WITH unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), marked AS (
    UPDATE courier_live m SET begun = m.begun OR NOT m.outdated, 
      attempted_by = CASE WHEN m.outdated THEN m.attempted_by ELSE found.provider END
    FROM unsynced, (${findLeased('unnest($1::text[], $2::text[], $3::text[]) AS asked(id, token, provider)')}) AS found
    WHERE m.ctid = found.ctid AND m.lease_token = found.token AND m.state = 'sending' RETURNING m.lease_token, m.outdated
  )
  ${reportChanged('marked', '$4', ', array_agg(lease_token) FILTER (WHERE outdated) AS outdated')}`

/** A call whose message was sent. */
export interface SentCall extends Takes<'settle'> {
  readonly settlement: Settlement & { readonly to: 'final'; readonly state: 'sent' }
}

export function isSent(call: Takes<'settle'>): call is SentCall {
  return call.settlement.to === 'final' && call.settlement.state === 'sent'
}

/**
 * Writes the end of messages that were sent, in one statement that is its own transaction: nothing of their rows decides
 * about it, so they are neither read nor locked first. Most settlements are of this kind. The statement itself sets that its commit is
 * on disk, as a transaction does (connect.ts).
 *
 * A batch that holds a lease twice is left to `createSettle`; so is a message that is not under its lease any more, or
 * whose timeline would grow too long.
 *
 * @returns the tokens of the leases that were ended.
 */
export async function writeSent(
  client: Client,
  { shard, backlogRow }: CountPlaces,
  calls: readonly SentCall[],
): Promise<ReadonlySet<string>> {
  const ends = calls.map(({ id, token, settlement: { answer, providerId, records = [] } }) => ({
    id,
    token,
    answer,
    provider_id: providerId,
    records,
  }))
  const tokens = new Set(ends.map(({ token }) => token))
  if (tokens.size < calls.length) return new Set()
  const now = Math.max(...calls.map(call => call.now))
  const place = backlogRow()
  const [result] = await awaitStatements(
    runStatement(client, SENT, JSON.stringify(ends), now, shard, place.number, calls.length),
    ...runTogether(client, place.move),
  )
  return whichChanged(result, tokens)
}

/** The counts change in the order of locks that backlog.ts has: the counts by minute and state first, then the backlog. */
const SENT = statement(
  'settle-sent',
)`WITH synced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)), sent AS (
    DELETE FROM courier_live m
    USING synced, (${findLeased(`json_to_recordset($1::json)
      AS asked(id text, token text, answer text, provider_id text, records jsonb)`)}) AS found
    WHERE m.ctid = found.ctid AND m.lease_token = found.token AND m.state = 'sending'
      AND coalesce(jsonb_array_length(m.timeline), 0) + jsonb_array_length(found.records) <= ${TIMELINE_LINES}
    RETURNING ${KEPT_COLUMNS}, m.attempts, m.ambiguous, m.outdated, m.begun, m.attempted_by, m.lease_token,
      $2::bigint AS final_at, found.answer, coalesce(found.provider_id, m.provider_id) AS provider_id,
      CASE found.records WHEN '[]' THEN m.timeline ELSE coalesce(m.timeline, '[]') || found.records END AS timeline,
      'sent' AS state
  ), finished AS (
    ${finishFrom('sent')}
  ), counted AS (
    ${addToCountRows(`SELECT arrived_at / 60000 AS minute, channel, kind, change.state, $3::smallint, sum(change.by)
    FROM sent CROSS JOIN (VALUES ('sending', -1), ('sent', 1)) AS change(state, by)
    GROUP BY 1, channel, kind, change.state ORDER BY minute, channel, kind, change.state`)}
    RETURNING 1
  ), live AS (
    ${addToBacklogRow(`SELECT $4::smallint,
      -count(*) FILTER (WHERE channel = 'email'), -count(*) FILTER (WHERE channel = 'sms')
    FROM sent CROSS JOIN (SELECT count(*) FROM counted) AS before HAVING count(*) > 0`)}
  )
  ${reportChanged('sent', '$5')}`
