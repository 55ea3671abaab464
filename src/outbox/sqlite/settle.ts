import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments } from '../calls.ts'
import type { Settled } from '../outbox.ts'
import { afterSettlement } from '../rules.ts'
import type { MessageWriter } from './message-writer.ts'
import { ROW_COLUMNS, rowOf } from './row.ts'

/** Writes the end of an attempt, if the lease is still the current one. */
export function createSettle(
  db: DatabaseSync,
  writer: MessageWriter,
): (call: CallArguments<'settle'>) => Settled {
  const claimed = db.prepare(
    `SELECT ${ROW_COLUMNS} FROM messages
       WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1 AND state = 'sending' AND lease_token = ?2`,
  )
  return ({ id, token, settlement, now }) => {
    const found = claimed.get(id, token)
    if (found === undefined) return { state: 'lost' }
    const row = rowOf(found)
    const next = afterSettlement(row, settlement, row.outdated)
    const providerId = settlement.to === 'final' ? settlement.providerId : undefined
    writer.changeState(row, next, now, settlement.records ?? [], providerId)
    return { state: next.state, answer: next.answer }
  }
}
