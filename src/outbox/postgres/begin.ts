import { StoreUnavailable } from '../outbox.ts'
import { type Client, runStatement, type Statement } from './connect.ts'

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
  const { rows } = await runStatement(
    client,
    MARK,
    calls.map(call => call.id),
    calls.map(call => call.token),
    calls.map(call => call.provider ?? null),
  )
  const marked = new Set(rows.map(row => row['id'] as string))
  return calls.map(({ id }) =>
    marked.has(id) ? undefined : new StoreUnavailable('the claim on the message is no longer ours'),
  )
}

/** Sets the marks in a transaction of its own, for which the statement itself switches off the wait for the disk. */
const MARK: Statement = {
  name: 'mark-begun',
  text: `WITH unsynced AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE courier_messages m SET begun = true, attempted_by = begun.provider
    FROM unsynced, unnest($1::text[], $2::text[], $3::text[]) AS begun(id, token, provider)
    WHERE m.id = begun.id AND m.lease_token = begun.token AND m.state = 'sending' RETURNING m.id`,
}
