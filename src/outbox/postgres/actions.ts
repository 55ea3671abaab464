import type { CallArguments } from '../calls.ts'
import { storeRecord } from '../rules.ts'
import { awaitStatements, beginTransaction, type Client, runStatement, statement } from './connect.ts'
import { createMessageWriter, type MessageWriter, type WriterOptions } from './message-writer.ts'
import { ROW_COLUMNS, type Row, refundableWindows, rowOf } from './row.ts'

export function createOperatorActions(options: WriterOptions) {
  async function actOnWaiting(
    client: Client,
    { id, now }: { readonly id: string; readonly now: number },
    act: (writer: MessageWriter, row: Row) => void,
  ): Promise<boolean> {
    const writer = createMessageWriter(client, options, now)
    const [, { rows }] = await awaitStatements(
      beginTransaction(client),
      runStatement(client, WAITING, id, now),
    )
    const waiting = rows.map(rowOf)
    await writer.quotas.lock([], refundableWindows(waiting))
    for (const row of waiting) act(writer, row)
    await writer.commit()
    return waiting.length > 0
  }
  return {
    retryMessage: (client: Client, call: CallArguments<'retryMessage'>) =>
      actOnWaiting(client, call, (writer, row) =>
        writer.changeState(row, { ...row, state: 'queued', answer: null, dueAt: call.now }),
      ),
    cancelMessage: (client: Client, call: CallArguments<'cancelMessage'>) =>
      actOnWaiting(client, call, (writer, row) =>
        writer.end(row, 'superseded', [storeRecord('cancelled', call.now)]),
      ),
  }
}

const WAITING = statement('waiting')`SELECT ${ROW_COLUMNS} FROM courier_messages m
    WHERE m.id = $1 AND m.state = 'queued' AND m.expires_at > $2 FOR UPDATE`
