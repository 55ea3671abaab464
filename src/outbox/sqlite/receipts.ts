import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallResult } from '../calls.ts'
import { isLaterReceipt } from '../receipt-order.ts'

/** Writes a provider's later word about a sent message, unless it is an older one that came late. */
export function createWriteReceipt(
  db: DatabaseSync,
): (call: CallArguments<'writeReceipt'>) => CallResult<'writeReceipt'> {
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
