import type { Gives, Takes } from '../calls.ts'
import type { Settled } from '../outbox.ts'
import { supersedesReceipt } from '../receipts.ts'
import { afterSettlement, givesBack } from '../states.ts'
import { ask, type Client, commit, type Statement, together } from './connect.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { createUnit } from './unit.ts'

/** Writes the ends of attempts that came together, each if its lease is still the current one. */
export function createSettle(shard: number) {
  return async (client: Client, calls: readonly Takes<'settle'>[], again: boolean): Promise<Settled[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const unit = createUnit(client, shard, now)
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
    await unit.buckets.lock(
      [],
      steps.flatMap(({ row, standing }) =>
        row?.charges == null || standing === null || !givesBack(standing.state) ? [] : [row.charges],
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
function stepOf(row: Row | undefined, { settlement }: Takes<'settle'>, again: boolean) {
  if (row === undefined) return { row, standing: null, settled: { state: 'lost' } as const }
  if (row.state === 'sending') {
    const standing = afterSettlement(row, settlement, row.outdated)
    return { row, standing, settled: { state: standing.state, answer: standing.answer } }
  }
  // This lease has settled it: an earlier try of this very call, whose commit we did not hear of.
  const settled: Settled = again ? { state: row.state, answer: row.answer } : { state: 'lost' }
  return { row, standing: null, settled }
}

/** Writes a provider's later word about a sent message, unless it is an older one that came late. */
export async function receipt(client: Client, call: Takes<'receipt'>): Promise<Gives<'receipt'>> {
  const { channel, providerId, status, errorCode, at } = call
  const [, read] = await together(client.query('BEGIN'), ask(client, SENT, providerId, channel))
  const row = read.rows[0]
  const known = (row?.['receipt'] ?? null) as { readonly status: string } | null
  const news = row !== undefined && supersedesReceipt(known?.status ?? null, status)
  await commit(
    client,
    ...(news ? [ask(client, RECEIPT, row['seq'], JSON.stringify({ status, errorCode, at }))] : []),
  )
  return row === undefined ? 'unknown' : news ? 'recorded' : 'stale'
}

const CLAIMED: Statement = {
  name: 'claimed',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m
    JOIN unnest($1::text[], $2::text[]) AS held(id, token) ON m.id = held.id AND m.lease_token = held.token
    ORDER BY m.seq FOR UPDATE OF m`,
}
const SENT: Statement = {
  name: 'sent',
  text: `SELECT seq, receipt FROM courier_messages WHERE provider_id = $1 AND channel = $2
    ORDER BY seq DESC LIMIT 1 FOR UPDATE`,
}
const RECEIPT: Statement = {
  name: 'receipt',
  text: 'UPDATE courier_messages SET receipt = $2::jsonb WHERE seq = $1',
}
