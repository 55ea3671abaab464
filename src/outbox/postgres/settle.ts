import type { CallArguments } from '../calls.ts'
import type { Settled } from '../outbox.ts'
import { afterSettlement, refundsQuota } from '../rules.ts'
import { ask, type Client, type Statement, together } from './connect.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { createRowChanges } from './row-changes.ts'

/** Writes the ends of attempts that came together, each if its lease is still the current one. */
export function createSettle(shard: number) {
  return async (
    client: Client,
    calls: readonly CallArguments<'settle'>[],
    again: boolean,
  ): Promise<Settled[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const unit = createRowChanges(client, shard, now)
    const [, read] = await together(
      client.query('BEGIN'),
      ask(
        client,
        CLAIMED,
        calls.map(call => call.id),
        calls.map(call => call.token),
      ),
    )
    const rows = new Map(
      read.rows.map(each => [`${String(each['id'])} ${String(each['lease_token'])}`, rowOf(each)]),
    )
    const steps = calls.map(call => stepOf(rows.get(`${call.id} ${call.token}`), call, again))
    await unit.quotas.lock(
      [],
      steps.flatMap(({ row, standing }) =>
        row?.charges == null || standing === null || !refundsQuota(standing.state) ? [] : [row.charges],
      ),
    )
    const answers = steps.map(({ row, standing, settled }, at): Settled => {
      const settlement = calls[at]?.settlement
      // Settled by an earlier call of this batch.
      if (row !== undefined && standing !== null && row.leaseUntil === null) return { state: 'lost' }
      if (row === undefined || standing === null || settlement === undefined) return settled
      const providerId = settlement.to === 'final' ? settlement.providerId : undefined
      unit.put(row, standing, settlement.record, providerId)
      return settled
    })
    await unit.commit()
    return answers
  }
}

/** What a settlement does to the row that its lease still holds. */
function stepOf(row: Row | undefined, { settlement }: CallArguments<'settle'>, again: boolean) {
  if (row === undefined) return { row, standing: null, settled: { state: 'lost' } as const }
  if (row.state === 'sending') {
    const standing = afterSettlement(row, settlement, row.outdated)
    return { row, standing, settled: { state: standing.state, answer: standing.answer } }
  }
  // This lease has settled it: an earlier try of this very call, whose commit we did not hear of.
  const settled: Settled = again ? { state: row.state, answer: row.answer } : { state: 'lost' }
  return { row, standing: null, settled }
}

const CLAIMED: Statement = {
  name: 'claimed',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m
    JOIN unnest($1::text[], $2::text[]) AS held(id, token) ON m.id = held.id AND m.lease_token = held.token
    ORDER BY m.seq FOR UPDATE OF m`,
}
