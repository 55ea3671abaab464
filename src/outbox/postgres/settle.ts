import type { CallArguments } from '../calls.ts'
import type { Settled } from '../outbox.ts'
import { afterSettlement, refundsQuota } from '../rules.ts'
import { awaitStatements, beginTransaction, type Client, runStatement, statement } from './connect.ts'
import { createMessageWriter, type WriterOptions } from './message-writer.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { isSent, writeSent } from './settle-sent.ts'

/**
 * Writes the ends of attempts that came together, each if its lease is still the current one. A write that failed may have been
 * committed all the same; when it is asked for again, the answer is what was written under its lease.
 */
export function createSettle(options: WriterOptions) {
  /** Tokens of leases whose settlement may have been committed. */
  const uncertain = new Set<string>()
  return async (
    client: Client,
    calls: readonly CallArguments<'settle'>[],
    again: boolean,
  ): Promise<Settled[]> => {
    const tokens = calls.map(({ token }) => token)
    const mayBeWritten = new Set(tokens.filter(token => again || uncertain.has(token)))
    for (const token of tokens) uncertain.add(token)
    const settled = await settleAll(client, options, calls, mayBeWritten)
    for (const token of tokens) uncertain.delete(token)
    return settled
  }
}

/** Writes those that were sent in one statement where that is possible, and reads and decides about all others. */
async function settleAll(
  client: Client,
  options: WriterOptions,
  calls: readonly CallArguments<'settle'>[],
  mayBeWritten: ReadonlySet<string>,
): Promise<Settled[]> {
  if (options.keepsEvents || !calls.every(isSent)) return settleEach(client, options, calls, mayBeWritten)
  const sent = await writeSent(client, options, calls)
  const rest = calls.filter(({ token }) => !sent.has(token))
  const settled = rest.length === 0 ? [] : await settleEach(client, options, rest, mayBeWritten)
  return calls.map(call => settled[rest.indexOf(call)] ?? { state: 'sent', answer: call.settlement.answer })
}

/** Reads the messages, decides what becomes of each, and writes that. */
async function settleEach(
  client: Client,
  options: WriterOptions,
  calls: readonly CallArguments<'settle'>[],
  mayBeWritten: ReadonlySet<string>,
): Promise<Settled[]> {
  const now = Math.max(...calls.map(call => call.now))
  const writer = createMessageWriter(client, options, now)
  const [, read] = await awaitStatements(
    beginTransaction(client),
    runStatement(
      client,
      CLAIMED,
      calls.map(call => call.id),
      calls.map(call => call.token),
    ),
  )
  const rows = new Map(
    read.rows.map(each => [`${String(each['id'])} ${String(each['lease_token'])}`, rowOf(each)]),
  )
  const steps = calls.map(call =>
    decideStep(rows.get(`${call.id} ${call.token}`), call, mayBeWritten.has(call.token)),
  )
  await writer.quotas.lock(
    [],
    steps.flatMap(({ row, next }) =>
      row?.charges == null || next === null || !refundsQuota(next.state) ? [] : [row.charges],
    ),
  )
  const answers = steps.map(({ row, next, settled }, at): Settled => {
    const settlement = calls[at]?.settlement
    // An earlier call of this batch has settled it.
    if (row !== undefined && next !== null && row.leaseUntil === null) return { state: 'lost' }
    if (row === undefined || next === null || settlement === undefined) return settled
    const providerId = settlement.to === 'final' ? settlement.providerId : undefined
    writer.changeState(row, next, settlement.records ?? [], providerId)
    return settled
  })
  await writer.commit()
  return answers
}

/** Decides how a settlement changes the row that its lease is on. */
function decideStep(row: Row | undefined, { settlement }: CallArguments<'settle'>, again: boolean) {
  if (row === undefined) return { row, next: null, settled: { state: 'lost' } as const }
  if (row.state === 'sending') {
    const next = afterSettlement(row, settlement, row.outdated)
    return { row, next, settled: { state: next.state, answer: next.answer } }
  }
  // This lease has settled it: an earlier try of this very call, and the answer to its commit was lost.
  const settled: Settled = again ? { state: row.state, answer: row.answer } : { state: 'lost' }
  return { row, next: null, settled }
}

const CLAIMED = statement('claimed')`SELECT ${ROW_COLUMNS} FROM courier_messages m
    JOIN unnest($1::text[], $2::text[]) AS leased(id, token) ON m.id = leased.id AND m.lease_token = leased.token
    ORDER BY m.seq FOR UPDATE OF m`
