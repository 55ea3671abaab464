import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallResult } from '../calls.ts'
import type { Settled } from '../outbox.ts'
import { isLaterReceipt } from '../receipt-order.ts'
import { afterSettlement } from '../rules.ts'
import { LIVE_COLUMNS, liveRow, type RowChanges } from './row-changes.ts'

/** Writes the end of an attempt, if the lease is still the current one. */
export function createSettle(
  db: DatabaseSync,
  ending: RowChanges,
): (call: CallArguments<'settle'>) => Settled {
  const claimed = db.prepare(
    `SELECT ${LIVE_COLUMNS} FROM messages WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1 AND state = 'sending' AND lease_token = ?2`,
  )
  return ({ id, token, settlement, now }) => {
    const found = claimed.get(id, token)
    if (found === undefined) return { state: 'lost' }
    const row = liveRow(found)
    const standing = afterSettlement(row, settlement, row.outdated)
    const providerId = settlement.to === 'final' ? settlement.providerId : undefined
    ending.put(row, standing, now, settlement.record, providerId)
    return { state: standing.state, answer: standing.answer }
  }
}

/** Writes a provider's later word about a sent message, unless it is an older one that came late. */
export function createReceipt(db: DatabaseSync): (call: CallArguments<'receipt'>) => CallResult<'receipt'> {
  const sent = db.prepare(
    'SELECT seq, receipt FROM messages WHERE provider_id = ? AND channel = ? ORDER BY seq DESC LIMIT 1',
  )
  const write = db.prepare('UPDATE messages SET receipt = ? WHERE seq = ?')
  return ({ channel, providerId, status, errorCode, at }) => {
    const row = sent.get(providerId, channel)
    if (row === undefined) return 'unknown'
    const known = row['receipt'] === null ? null : (JSON.parse(String(row['receipt'])) as { status: string })
    if (!isLaterReceipt(known?.status ?? null, status)) return 'stale'
    write.run(JSON.stringify({ status, errorCode, at }), row['seq'] ?? null)
    return 'recorded'
  }
}
