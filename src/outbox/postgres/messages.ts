import {
  acceptMessages,
  cancelMessage,
  dueCharges,
  duplicateKey,
  isNew,
  type KnownMessages,
  keepReport,
  namesOfDuplicates,
  newcomersAmong,
  retryMessage,
  settleMessage,
} from '../decide.ts'
import { ROW_COLUMNS, type Row, rowOf } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { Acceptance, Accepted, BacklogFull, DeliveryReport, Settled, SettledByStore } from '../outbox.ts'
import { bounceNote } from '../rules.ts'
import type { UnitOfWork } from '../unit.ts'
import { createBacklogEstimate } from './backlog.ts'
import { awaitStatements, beginTransaction, type Client, runStatement, statement } from './connect.ts'
import { isSent, writeSent } from './leases.ts'
import { LIVE_GROUP } from './schema.ts'
import { readMemos } from './side-tables.ts'
import { openTransaction, type WriterOptions } from './transaction.ts'
import type { UncertainCommits } from './uncertain.ts'

export interface AcceptDeps {
  readonly maxBacklog: number
  readonly writerOptions: WriterOptions
  readonly uncertain: UncertainCommits
  /** Takes the ends that the next claim reports. */
  readonly unreported: SettledByStore[]
}

/**
 * Stores the messages of calls that came together in one transaction, each judged by itself: duplicate, quota, backlog.
 *
 * A transaction that stores a message for a recipient holds the recipient's advisory lock until its commit. So two replicas
 * that are given the same body, or two codes of a group, store them one after the other. Duplicates, groups and most counters
 * belong to one recipient, so this one lock guards all of them.
 */
export function createAccept({ maxBacklog, writerOptions, uncertain, unreported }: AcceptDeps) {
  const backlog = createBacklogEstimate(maxBacklog)
  return async (
    client: Client,
    calls: readonly Takes<'accept'>[],
    again: boolean,
  ): Promise<(readonly Accepted[] | BacklogFull)[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const all = calls.flatMap(call => call.messages)
    if (all.length === 0) return calls.map(() => [])
    const { unit, lockCounters, commit } = openTransaction(client, writerOptions, now)
    const { locked, ...found } = await lockKnown(client, all, now, backlog.refresh(client, now, all.length))
    const known = { ...found, backlog: backlog.live(), again, mayEnd: (row: Row) => locked.has(row) }
    const added = all.filter(each => isNew(known, each, now))
    await lockCounters(
      added.flatMap(each => dueCharges(found, each)),
      [...locked],
      again,
    )
    const answers = calls.map(call => acceptMessages(unit, known, call.messages, maxBacklog))
    const leases = all.flatMap(each => each.lease ?? [])
    for (const { token, until } of leases) uncertain.begin(token, until - now)
    await commit()
    const { email, sms } = unit.counts.live()
    backlog.add(email + sms)
    for (const { token } of leases) uncertain.confirm(token)
    unreported.push(...unit.ended)
    return answers
  }
}

/** Begins the transaction, and reads the messages that new ones may be duplicates of, or supersede, and who was sent to before. */
async function lockKnown(
  client: Client,
  all: readonly Acceptance[],
  now: number,
  countBacklog: Promise<void>,
): Promise<Pick<KnownMessages, 'duplicates' | 'groups' | 'reached'> & { readonly locked: ReadonlySet<Row> }> {
  const names = all.flatMap(namesOfDuplicates)
  const dedupeKeys = names.map(each => each.dedupeKey)
  const recipients = names.map(each => each.recipientHash)
  const groupKeys = new Set(all.flatMap(each => each.groupKey ?? []))
  const asked = newcomersAmong(all)
  const [, , read, sent] = await awaitStatements(
    beginTransaction(client),
    runStatement(client, LOCK_RECIPIENTS, recipients),
    runStatement(client, KNOWN, recipients, dedupeKeys, [...groupKeys], now),
    asked.length === 0 ? Promise.resolve({ rows: [] }) : runStatement(client, SENT_TO, asked),
    countBacklog,
  )
  const endable = read.rows.filter(each => each['dedupe_key'] === null).map(rowOf)
  const latest = new Map(endable.map(row => [row.seq, row]))
  // A message that ended while we waited for its lock cannot be ended again.
  const locked = endable.filter(row => row.finalAt === null)
  const groups = new Map<string, readonly Row[]>()
  for (const row of locked) {
    if (row.groupKey === null || !groupKeys.has(row.groupKey)) continue
    groups.set(row.groupKey, [...(groups.get(row.groupKey) ?? []), row])
  }
  const duplicates = new Map<string, Row>()
  for (const each of read.rows) {
    if (each['dedupe_key'] === null) continue
    const key = duplicateKey({
      recipientHash: each['recipient_hash'] as string,
      dedupeKey: each['dedupe_key'] as string,
    })
    // A locked message is one row, whoever changes it.
    duplicates.set(key, latest.get(each['seq'] as number) ?? rowOf(each))
  }
  const reached = new Set(sent.rows.map(row => row['recipient_hash'] as string))
  return { duplicates, groups, reached, locked: new Set(locked) }
}

/**
 * Writes the ends of attempts that came together, each if its lease is still the current one. A write that failed may have been
 * committed all the same; when it is asked for again, the answer is what was written under its lease.
 */
export function createSettle(options: WriterOptions) {
  type Calls = readonly Takes<'settle'>[]
  /** Tokens of leases whose settlement may have been committed. */
  const uncertain = new Set<string>()

  /** Writes those that were sent in one statement where that is possible, and reads and decides about all others. */
  async function settleAll(
    client: Client,
    calls: Calls,
    mayBeWritten: ReadonlySet<string>,
  ): Promise<Settled[]> {
    if (options.keepsEvents || !calls.every(isSent)) return settleEach(client, calls, mayBeWritten)
    const sent = await writeSent(client, options, calls)
    const rest = calls.filter(({ token }) => !sent.has(token))
    const settled = rest.length === 0 ? [] : await settleEach(client, rest, mayBeWritten)
    return calls.map(call => settled[rest.indexOf(call)] ?? { state: 'sent', answer: call.settlement.answer })
  }

  async function settleEach(
    client: Client,
    calls: Calls,
    mayBeWritten: ReadonlySet<string>,
  ): Promise<Settled[]> {
    const { unit, commit } = openTransaction(client, options, Math.max(...calls.map(call => call.now)))
    const [, read] = await awaitStatements(
      beginTransaction(client),
      runStatement(
        client,
        CLAIMED,
        calls.map(call => call.id),
        calls.map(call => call.token),
      ),
    )
    const rows = new Map(read.rows.map(rowOf).map(row => [`${row.id} ${row.leaseToken}`, row]))
    const settled = calls.map(({ id, token, settlement }) =>
      settleMessage(unit, rows.get(`${id} ${token}`), settlement, mayBeWritten.has(token)),
    )
    await commit()
    return settled
  }

  return async (client: Client, calls: Calls, again: boolean): Promise<Settled[]> => {
    const tokens = calls.map(({ token }) => token)
    const mayBeWritten = new Set(tokens.filter(token => again || uncertain.has(token)))
    for (const token of tokens) uncertain.add(token)
    const settled = await settleAll(client, calls, mayBeWritten)
    for (const token of tokens) uncertain.delete(token)
    return settled
  }
}

/** Keeps providers' delivery reports with their messages, those that came together in one commit. */
export function createWriteReceipts(options: WriterOptions, unreported: SettledByStore[]) {
  return async (
    client: Client,
    reports: readonly Takes<'writeReceipt'>[],
  ): Promise<Gives<'writeReceipt'>[]> => {
    const { unit, commit } = openTransaction(client, options, Math.max(...reports.map(({ at }) => at)))
    const rows = await lockReported(client, reports)
    const noted = rows.flatMap((row, n) =>
      row === undefined || reports[n]?.recipients === undefined ? [] : [bounceNote(row.recipientHash)],
    )
    const notes = noted.length === 0 ? new Map() : await readMemos(client, noted)
    const answers = reports.map((report, n) => keepReport(unit, rows[n], report, notes))
    await commit()
    unreported.push(...unit.ended)
    return answers
  }
}

/** Begins the transaction. @returns the message of each report: by the provider's id, or else by ours. */
async function lockReported(
  client: Client,
  reports: readonly DeliveryReport[],
): Promise<readonly (Row | undefined)[]> {
  const [, read] = await awaitStatements(
    beginTransaction(client),
    runStatement(
      client,
      REPORTED,
      reports.map(({ providerId }) => providerId ?? null),
      reports.map(({ channel }) => channel),
      reports.map(({ id }) => id ?? ''),
    ),
  )
  const rows = read.rows.map(rowOf)
  return reports.map(
    ({ channel, providerId, id }) =>
      rows.findLast(row => row.channel === channel && row.providerId === (providerId ?? '')) ??
      rows.find(row => row.channel === channel && row.id === id),
  )
}

/** Makes the actions of people on a message that waits. */
export function createOperatorActions(options: WriterOptions) {
  const actOnWaiting =
    (act: (unit: UnitOfWork, row: Row | undefined) => boolean) =>
    async (client: Client, { id, now }: { readonly id: string; readonly now: number }): Promise<boolean> => {
      const { unit, commit } = openTransaction(client, options, now)
      const [, { rows }] = await awaitStatements(
        beginTransaction(client),
        runStatement(client, WAITING, id, now),
      )
      const acted = act(unit, rows.map(rowOf)[0])
      await commit()
      return acted
    }
  return { retryMessage: actOnWaiting(retryMessage), cancelMessage: actOnWaiting(cancelMessage) }
}

/** Counted, so that there is one row to read, not one a recipient. */
const LOCK_RECIPIENTS = statement('lock-recipients')`SELECT count(pg_advisory_xact_lock(k)) FROM
    (SELECT DISTINCT hashtextextended(r, 8443) AS k FROM unnest($1::text[]) AS r ORDER BY k) AS sorted`
/**
 * The newest duplicates; and without a dedupe key the live codes of the groups and the duplicates whose life is over, all
 * of which are locked, in order.
 */
const KNOWN = statement('known')`WITH newest AS MATERIALIZED (
      SELECT m.* FROM unnest($1::text[], $2::text[]) AS asked(recipient_hash, dedupe_key)
      CROSS JOIN LATERAL (SELECT ${ROW_COLUMNS}, m.dedupe_key FROM courier_messages m
        WHERE m.recipient_hash = asked.recipient_hash AND m.dedupe_key = asked.dedupe_key
        ORDER BY -m.seq LIMIT 1) AS m
    ), endable AS MATERIALIZED (
      SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.seq = ANY(ARRAY(
        SELECT g.seq FROM unnest($3::text[]) AS asked(key)
        CROSS JOIN LATERAL (SELECT seq FROM courier_messages WHERE ${LIVE_GROUP} = asked.key) AS g
        UNION ALL SELECT seq FROM newest WHERE state = 'queued' AND expires_at <= $4::bigint))
      ORDER BY m.seq FOR UPDATE
    )
    SELECT *, NULL AS dedupe_key FROM endable UNION ALL SELECT * FROM newest`
const SENT_TO = statement(
  'sent-to',
)`SELECT asked.recipient_hash FROM unnest($1::text[]) AS asked(recipient_hash)
    CROSS JOIN LATERAL (SELECT 1 FROM courier_messages m
      WHERE m.recipient_hash = asked.recipient_hash AND m.state = 'sent' LIMIT 1) AS any_sent`
const CLAIMED = statement('claimed')`SELECT ${ROW_COLUMNS} FROM courier_messages m
    JOIN unnest($1::text[], $2::text[]) AS leased(id, token) ON m.id = leased.id AND m.lease_token = leased.token
    ORDER BY m.seq FOR UPDATE OF m`
const REPORTED = statement('reported')`SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.seq IN (
    SELECT coalesce(
      (SELECT p.seq FROM courier_messages p WHERE p.provider_id = asked.provider_id AND p.channel = asked.channel
        ORDER BY p.seq DESC LIMIT 1),
      (SELECT o.seq FROM courier_messages o WHERE o.id = asked.id AND o.channel = asked.channel))
    FROM unnest($1::text[], $2::text[], $3::text[]) AS asked(provider_id, channel, id))
    ORDER BY m.seq FOR UPDATE`
const WAITING = statement('waiting')`SELECT ${ROW_COLUMNS} FROM courier_messages m
    WHERE m.id = $1 AND m.state = 'queued' AND m.expires_at > $2 FOR UPDATE`
