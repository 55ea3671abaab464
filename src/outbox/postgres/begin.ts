import { StoreUnavailable } from '../outbox.ts'
import { type Client, runStatement, statement } from './connect.ts'
import { findLeased, reportChanged, whichChanged } from './leased.ts'

/** An attempt that begins, under the lease of this token. `provider`: see Outbox.beginAttempt. */
export interface BegunAttempt {
  readonly id: string
  readonly token: string
  readonly provider?: string | undefined
}

/**
 * Marks claimed messages whose attempts begin. The server must have the mark before the first byte leaves, but need not sync it:
 * a mark that a crash of the server loses is lost together with whatever the attempt wrote after it.
 * @returns for each call an error when its claim is no longer this process's: then the attempt must not begin.
 */
export async function markBegun(
  client: Client,
  calls: readonly BegunAttempt[],
): Promise<(undefined | StoreUnavailable)[]> {
  const tokens = new Set(calls.map(call => call.token))
  const result = await runStatement(
    client,
    MARK,
    calls.map(call => call.id),
    calls.map(call => call.token),
    calls.map(call => call.provider ?? null),
    tokens.size,
  )
  const marked = whichChanged(result, tokens)
  return calls.map(({ token }) =>
    marked.has(token) ? undefined : new StoreUnavailable('the claim on the message is no longer ours'),
  )
}

/** Sets the marks in a transaction of its own, for which the statement itself switches off the wait for the disk. */
const MARK = statement(
  'mark-begun',
)`WITH unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), marked AS (
    UPDATE courier_messages m SET begun = true, attempted_by = found.provider
    FROM unsynced, (${findLeased('unnest($1::text[], $2::text[], $3::text[]) AS asked(id, token, provider)')}) AS found
    WHERE m.ctid = found.ctid AND m.lease_token = found.token AND m.state = 'sending' RETURNING m.lease_token
  )
  ${reportChanged('marked', '$4')}`
