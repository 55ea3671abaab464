import type { CallArguments, CallResult, SettledByStore } from '../calls.ts'
import type { DeliveryReport } from '../outbox.ts'
import { isLaterReceipt } from '../receipt-order.ts'
import { afterReport, storeRecord } from '../rules.ts'
import type { UnreportedEnds } from '../unreported-ends.ts'
import { awaitStatements, beginTransaction, type Client, runStatement, statement } from './connect.ts'
import { createMessageWriter, type WriterOptions } from './message-writer.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'

/** The change of a message's receipt; the provider's id is written where the row has none. */
interface Written {
  readonly seq: number | undefined
  readonly provider_id: string
  readonly receipt: Pick<DeliveryReport, 'status' | 'errorCode' | 'at'>
}

/**
 * Keeps providers' delivery reports with their messages, those that came together in one commit. An older one that came
 * late changes nothing.
 */
export function createWriteReceipts(options: WriterOptions, unreported: Pick<UnreportedEnds, 'add'>) {
  return async (
    client: Client,
    reports: readonly CallArguments<'writeReceipt'>[],
  ): Promise<CallResult<'writeReceipt'>[]> => {
    const writer = createMessageWriter(client, options, Math.max(...reports.map(({ at }) => at)))
    const messages = await lockMessages(client, reports)
    const written = new Map<Row, Written>()
    const ended: SettledByStore[] = []
    const answers = reports.map(({ providerId, status, errorCode, at }, n) => {
      const row = messages[n]
      if (row === undefined) return 'unknown'
      const known = written.get(row)?.receipt.status ?? row.receiptStatus
      if (!isLaterReceipt(known, status)) return 'stale'
      const receipt = { status, errorCode, at }
      written.set(row, { seq: row.seq, provider_id: providerId, receipt })
      writer.addReport(row, receipt)
      const next = afterReport(row.state, row)
      if (next !== null) {
        writer.changeState(row, next, [storeRecord('reported', at)], providerId)
        ended.push({ id: row.id, state: 'sent', channel: row.channel, kind: row.kind })
      }
      return 'recorded'
    })
    const changes = [...written.values()]
    await awaitStatements(
      ...(changes.length === 0 ? [] : [runStatement(client, WRITE, JSON.stringify(changes))]),
      writer.commit(),
    )
    for (const each of ended) unreported.add(each)
    return answers
  }
}

/** Begins the transaction. @returns the message of each report: by the provider's id, or else by ours. */
async function lockMessages(
  client: Client,
  reports: readonly DeliveryReport[],
): Promise<readonly (Row | undefined)[]> {
  const [, read] = await awaitStatements(
    beginTransaction(client),
    runStatement(
      client,
      REPORTED,
      reports.map(({ providerId }) => providerId),
      reports.map(({ channel }) => channel),
      reports.map(({ id }) => id ?? ''),
    ),
  )
  const rows = read.rows.map(rowOf)
  return reports.map(
    ({ channel, providerId, id }) =>
      rows.findLast(row => row.channel === channel && row.providerId === providerId) ??
      rows.find(row => row.channel === channel && row.id === id),
  )
}

const REPORTED = statement('reported')`SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.seq IN (
    SELECT coalesce(
      (SELECT p.seq FROM courier_messages p WHERE p.provider_id = asked.provider_id AND p.channel = asked.channel
        ORDER BY p.seq DESC LIMIT 1),
      (SELECT o.seq FROM courier_messages o WHERE o.id = asked.id AND o.channel = asked.channel))
    FROM unnest($1::text[], $2::text[], $3::text[]) AS asked(provider_id, channel, id))
    ORDER BY m.seq FOR UPDATE`
const WRITE = statement(
  'write-receipts',
)`UPDATE courier_messages m SET receipt = r.receipt, provider_id = coalesce(m.provider_id, r.provider_id)
    FROM json_to_recordset($1::json) AS r(seq bigint, provider_id text, receipt jsonb) WHERE m.seq = r.seq`
