import type { CallArguments } from '../calls.ts'
import type { Settlement } from '../outbox.ts'
import { TIMELINE_LINES } from '../rules.ts'
import { addToBacklogRow, takeBacklogRow } from './backlog.ts'
import { awaitStatements, type Client, runStatement, runTogether, statement } from './connect.ts'
import { addToCountRows, type CountPlaces } from './counts.ts'
import { findLeased, reportChanged, whichChanged } from './leased.ts'

/** A call whose message was sent. */
export interface SentCall extends CallArguments<'settle'> {
  readonly settlement: Settlement & { readonly to: 'final'; readonly state: 'sent' }
}

export function isSent(call: CallArguments<'settle'>): call is SentCall {
  return call.settlement.to === 'final' && call.settlement.state === 'sent'
}

/**
 * Writes the end of messages that were sent, in one statement that is its own transaction: nothing of their rows decides
 * about it, so they are neither read nor locked first. Most settlements are of this kind.
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
  const place = takeBacklogRow(backlogRow)
  const [result] = await awaitStatements(
    runStatement(client, SENT, JSON.stringify(ends), now, shard, place.number, calls.length),
    ...runTogether(client, place.move),
  )
  return whichChanged(result, tokens)
}

/** The counts change in the order of locks that counts.ts has: the counts by minute and state first, then the backlog. */
const SENT = statement('settle-sent')`WITH sent AS (
    UPDATE courier_messages m SET state = 'sent', ready = NULL, due_at = NULL, lease_until = NULL, final_at = $2::bigint,
      answer = found.answer, provider_id = coalesce(found.provider_id, m.provider_id), charges = NULL, payload = NULL,
      timeline = CASE found.records WHEN '[]' THEN m.timeline ELSE coalesce(m.timeline, '[]') || found.records END
    FROM (${findLeased(`json_to_recordset($1::json)
      AS asked(id text, token text, answer text, provider_id text, records jsonb)`)}) AS found
    WHERE m.ctid = found.ctid AND m.lease_token = found.token AND m.state = 'sending'
      AND coalesce(jsonb_array_length(m.timeline), 0) + jsonb_array_length(found.records) <= ${TIMELINE_LINES}
    RETURNING m.lease_token, m.channel, m.kind, m.arrived_at / 60000 AS minute
  ), counted AS (
    ${addToCountRows(`SELECT minute, channel, kind, change.state, $3::smallint, sum(change.by)
    FROM sent CROSS JOIN (VALUES ('sending', -1), ('sent', 1)) AS change(state, by)
    GROUP BY minute, channel, kind, change.state ORDER BY minute, channel, kind, change.state`)}
    RETURNING 1
  ), live AS (
    ${addToBacklogRow(`SELECT $4::smallint,
      -count(*) FILTER (WHERE channel = 'email'), -count(*) FILTER (WHERE channel = 'sms')
    FROM sent CROSS JOIN (SELECT count(*) FROM counted) AS before HAVING count(*) > 0`)}
  )
  ${reportChanged('sent', '$5')}`
