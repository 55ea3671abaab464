import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments, CallResult } from '../calls.ts'
import { isLaterReceipt } from '../receipt-order.ts'
import { afterReport, storeRecord } from '../rules.ts'
import type { UnreportedEnds } from '../unreported-ends.ts'
import type { AddMessageEvent } from './events.ts'
import type { MessageWriter } from './message-writer.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'

/** Keeps a provider's delivery report with its message, unless it is an older one that came late. */
export function createWriteReceipt(
  db: DatabaseSync,
  writer: MessageWriter,
  unreported: Pick<UnreportedEnds, 'add'>,
  addMessageEvent: AddMessageEvent | null,
): (call: CallArguments<'writeReceipt'>) => CallResult<'writeReceipt'> {
  const byProviderId = db.prepare(
    `SELECT ${ROW_COLUMNS} FROM messages WHERE provider_id = ? AND channel = ? ORDER BY seq DESC LIMIT 1`,
  )
  const byId = db.prepare(
    `SELECT ${ROW_COLUMNS} FROM messages
       WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1 AND channel = ?2`,
  )
  const write = db.prepare(
    'UPDATE messages SET receipt = ?, provider_id = coalesce(provider_id, ?) WHERE seq = ?',
  )

  function findMessage({ channel, providerId, id }: CallArguments<'writeReceipt'>): Row | null {
    const found =
      byProviderId.get(providerId, channel) ?? (id === undefined ? undefined : byId.get(id, channel))
    return found === undefined ? null : rowOf(found)
  }

  return report => {
    const { providerId, status, errorCode, at } = report
    const row = findMessage(report)
    if (row === null) return 'unknown'
    if (!isLaterReceipt(row.receiptStatus, status)) return 'stale'
    const next = afterReport(row.state, row)
    if (next !== null) {
      writer.changeState(row, next, at, [storeRecord('reported', at)], providerId)
      unreported.add({ id: row.id, state: 'sent', channel: row.channel, kind: row.kind })
    }
    const receipt = { status, errorCode, at }
    write.run(JSON.stringify(receipt), providerId, row.seq)
    addMessageEvent?.('message.reported', at, row.id, receipt)
    return 'recorded'
  }
}
