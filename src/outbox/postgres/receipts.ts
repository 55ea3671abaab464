import type { CallArguments, CallResult } from '../calls.ts'
import { isLaterReceipt } from '../receipt-order.ts'
import { ask, type Client, commit, type Statement, together } from './connect.ts'

interface Sent {
  readonly seq: number
  receipt: { readonly status: string; readonly errorCode: string | null; readonly at: number } | null
}

/**
 * Writes providers' later words about sent messages, those that came together in one commit. An older word that came
 * late changes nothing.
 */
export async function writeReceipts(
  client: Client,
  calls: readonly CallArguments<'writeReceipt'>[],
): Promise<CallResult<'writeReceipt'>[]> {
  const [, { rows }] = await together(
    client.query('BEGIN'),
    ask(
      client,
      SENT,
      calls.map(call => call.providerId),
      calls.map(call => call.channel),
    ),
  )
  const sent = new Map<string, Sent>()
  for (const row of rows) {
    const found = { seq: row['seq'] as number, receipt: row['receipt'] as Sent['receipt'] }
    sent.set(keyOf(row['channel'], row['provider_id']), found)
  }
  const changed = new Set<Sent>()
  const answers = calls.map(({ channel, providerId, status, errorCode, at }) => {
    const message = sent.get(keyOf(channel, providerId))
    if (message === undefined) return 'unknown'
    if (!isLaterReceipt(message.receipt?.status ?? null, status)) return 'stale'
    message.receipt = { status, errorCode, at }
    changed.add(message)
    return 'recorded'
  })
  await commit(client, ...(changed.size === 0 ? [] : [ask(client, WRITE, JSON.stringify([...changed]))]))
  return answers
}

function keyOf(channel: unknown, providerId: unknown): string {
  return `${String(channel)} ${String(providerId)}`
}

const SENT: Statement = {
  name: 'sent',
  text: `SELECT seq, channel, provider_id, receipt FROM courier_messages WHERE seq IN (
    SELECT (SELECT m.seq FROM courier_messages m WHERE m.provider_id = asked.id AND m.channel = asked.channel
      ORDER BY m.seq DESC LIMIT 1) FROM unnest($1::text[], $2::text[]) AS asked(id, channel))
    ORDER BY seq FOR UPDATE`,
}
const WRITE: Statement = {
  name: 'write-receipts',
  text: `UPDATE courier_messages m SET receipt = r.receipt
    FROM json_to_recordset($1::json) AS r(seq bigint, receipt jsonb) WHERE m.seq = r.seq`,
}
