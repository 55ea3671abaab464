import {
  acceptMessages,
  cancelMessage,
  dueCharges,
  duplicateKey,
  isNew,
  type KnownMessages,
  keepReport,
  recipientsToLookUp,
  retryMessage,
  settleMessage,
} from '../decide.ts'
import { ROW_COLUMNS, type Row, rowOf } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { Acceptance, Accepted, BacklogFull, DeliveryReport, Settled } from '../outbox.ts'
import { DEDUPE_WINDOW_MS } from '../outbox.ts'
import { startOfWindow } from '../quota.ts'
import { bounceNote } from '../rules.ts'
import type { UnitOfWork } from '../unit-of-work.ts'
import { createBacklogEstimate } from './backlog.ts'
import type { Client } from './connect.ts'
import { awaitStatements, beginTransaction, commitTransaction, runStatement, statement } from './connect.ts'
import { DAY_MS } from './days.ts'
import { isText } from './schema.ts'
import { readMemos } from './side-tables.ts'
import { openTransaction, type WriterOptions } from './transaction.ts'
import type { UncertainCommits } from './uncertain.ts'

/**
 * Stores the messages of calls that came together in one transaction, each judged by itself: duplicate, quota, backlog.
 *
 * A transaction that stores a message for a recipient holds the recipient's advisory lock until its commit. So two replicas
 * that are given the same body, or two codes of a group, store them one after the other. Duplicates, groups and most counters
 * belong to one recipient, so this one lock guards all of them.
 */
export function createAccept(options: WriterOptions, maxBacklog: number, uncertain: UncertainCommits) {
  const backlog = createBacklogEstimate(maxBacklog)
  return async (
    client: Client,
    calls: readonly Takes<'accept'>[],
    again: boolean,
  ): Promise<(readonly Accepted[] | BacklogFull)[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const all = calls.flatMap(call => call.messages)
    if (all.length === 0) return calls.map(() => [])
    const { work, lockCounters, commit } = openTransaction(client, options, now)
    const { locked, ...found } = await lockKnown(client, all, now, backlog.refresh(client, now, all.length))
    const known = { ...found, backlog: backlog.live(), again, mayEnd: (row: Row) => locked.has(row) }
    const added = all.filter(each => isNew(known, each, now))
    const charges = added.flatMap(each => dueCharges(found.reached, each))
    await lockCounters(charges, [...locked], again)
    const answers = calls.map(call => acceptMessages(work, known, call.messages, maxBacklog))
    const leases = all.flatMap(each => each.lease ?? [])
    for (const { token, until } of leases) uncertain.begin(token, until - now)
    await commit()
    const { email, sms } = work.counts.live()
    backlog.add(email + sms)
    for (const { token } of leases) uncertain.confirm(token)
    return answers
  }
}

interface LockedMessages extends Pick<KnownMessages, 'duplicates' | 'groups' | 'reached'> {
  readonly locked: ReadonlySet<Row>
}

/** Begins the transaction, and reads the messages that new ones may be duplicates of, or supersede, and who was sent to before. */
async function lockKnown(
  client: Client,
  all: readonly Acceptance[],
  now: number,
  countBacklog: Promise<void>,
): Promise<LockedMessages> {
  const dedupeKeys = all.map(each => each.dedupeKey)
  const recipients = all.map(each => each.recipientHash)
  const groupKeys = new Set(all.flatMap(each => each.groupKey ?? []))
  const asked = [recipientsToLookUp(all, 'email'), recipientsToLookUp(all, 'sms')] as const
  const readKnown = () =>
    runStatement(client, KNOWN, recipients, dedupeKeys, [...groupKeys], now, now - answersFor(all))
  const [, , first, sent] = await awaitStatements(
    beginTransaction(client),
    runStatement(client, LOCK_RECIPIENTS, recipients),
    readKnown(),
    asked.flat().length === 0
      ? Promise.resolve({ rows: [] })
      : runStatement(client, REACHED, ...asked, startOfWindow(now, DAY_MS), now),
    countBacklog,
  )
  // One whose life is over may have ended while we waited for its lock, and have left the live messages: it is looked for again.
  const isOutlived = (each: Record<string, unknown>) =>
    each['state'] === 'queued' && (each['expiresAt'] as number) <= now
  const read = first.rows.some(isOutlived) ? await readKnown() : first
  // A message that ended while we waited for its lock is not among them.
  const locked = read.rows.filter(each => each['dedupe_key'] === null).map(rowOf)
  const bySeq = new Map(locked.map(row => [row.seq, row]))
  const duplicates = new Map<string, Row>()
  for (const each of read.rows) {
    if (each['dedupe_key'] === null) continue
    const key = duplicateKey(each['recipientHash'] as string, each['dedupe_key'] as string)
    // A locked message is one row, whoever changes it.
    duplicates.set(key, bySeq.get(each['seq'] as number) ?? rowOf(each))
  }
  const reached = new Set(sent.rows.map(row => row['recipient_hash'] as string))
  return { duplicates, groups: Map.groupBy(locked, row => row.groupKey), reached, locked: new Set(locked) }
}

/** A replica's clock may be behind by so much, as with a wrong time zone, and its ends are found all the same, ms. */
const SKEW_MS = 3600_000

/** Says for how long after its end a message can answer for any of these, ms: a superseded one does for its whole life. */
function answersFor(messages: readonly Acceptance[]): number {
  const lives = messages.map(({ message }) => message.expiresAt - message.arrivedAt)
  const windows = messages.map(({ dedupeWindowMs = DEDUPE_WINDOW_MS }) => dedupeWindowMs)
  return Math.max(...lives, ...windows) + SKEW_MS
}

function idsAndTokens(calls: readonly Takes<'beginAttempt'>[]): readonly (readonly string[])[] {
  return [calls.map(({ id }) => id), calls.map(({ token }) => token)]
}

/**
 * Notes the attempts that begin. The server must have the note before the first byte leaves, but need not sync it: one that a crash
 * of the server loses is lost together with whatever the attempt wrote after it. There may be one for each message, so no more of
 * the rows is read and written than that takes.
 */
export async function beginAttempts(client: Client, calls: readonly Takes<'beginAttempt'>[]) {
  const providers = calls.map(({ provider }) => provider ?? null)
  const begun = beginTransaction(client, false)
  const noted = runStatement(client, BEGIN_ATTEMPTS, ...idsAndTokens(calls), providers)
  await commitTransaction(client, begun, noted)
  const tokens = new Set((await noted).rows.map(row => row['lease_token']))
  return calls.map(({ token }) => (tokens.has(token) ? undefined : ('outdated' as const)))
}

/**
 * Writes the ends of attempts that came together, each if its lease is still the current one. A write that failed may have been
 * committed all the same; when it is asked for again, the answer is what was written under its lease.
 */
export function createSettle(options: WriterOptions) {
  /** Tokens of leases whose settlement may have been committed. */
  const uncertain = new Set<string>()

  return async (client: Client, calls: readonly Takes<'settle'>[], again: boolean): Promise<Settled[]> => {
    const tokens = calls.map(({ token }) => token)
    const repeated = new Set(tokens.filter(token => again || uncertain.has(token)))
    for (const token of tokens) uncertain.add(token)
    const { work, commit } = openTransaction(client, options, Math.max(...calls.map(call => call.now)))
    const [, held] = await awaitStatements(
      beginTransaction(client),
      runStatement(client, LEASED, ...idsAndTokens(calls)),
    )
    const rows = held.rows.map(rowOf)
    // An end that is written already lies among the finished ones.
    const found = new Set(rows.map(row => row.leaseToken))
    const written = calls.filter(({ token }) => repeated.has(token) && !found.has(token))
    if (written.length > 0)
      rows.push(...(await runStatement(client, ENDED_UNDER, ...idsAndTokens(written))).rows.map(rowOf))
    const byLease = new Map(rows.map(row => [`${row.id} ${row.leaseToken}`, row]))
    const settled = calls.map(({ id, token, settlement }) =>
      settleMessage(work, byLease.get(`${id} ${token}`), settlement, repeated.has(token)),
    )
    await commit()
    for (const token of tokens) uncertain.delete(token)
    return settled
  }
}

/** Keeps providers' delivery reports with their messages, those that came together in one commit. */
export function createWriteReceipts(options: WriterOptions) {
  return async (
    client: Client,
    reports: readonly Takes<'writeReceipt'>[],
    again: boolean,
  ): Promise<Gives<'writeReceipt'>[]> => {
    const { work, commit } = openTransaction(client, options, Math.max(...reports.map(({ at }) => at)))
    const messageOf = await lockReported(client, reports)
    const noted = reports.flatMap(report => {
      const row = report.recipients === undefined ? undefined : messageOf(report)
      return row === undefined ? [] : [bounceNote(row.recipientHash)]
    })
    const notes = noted.length === 0 ? new Map() : await readMemos(client, noted)
    const answers = reports.map(report => keepReport(work, messageOf(report), report, notes, again))
    await commit()
    return answers
  }
}

/** Reports come within minutes as a rule: the days from before this are asked only about the others, ms. */
const RECENT_MS = 24 * 3600_000

/**
 * Begins the transaction.
 * @returns a function that finds the message of each report: by the provider's id, which an earlier one of them may have brought, or
 *   else by ours.
 */
async function lockReported(
  client: Client,
  reports: readonly DeliveryReport[],
): Promise<(report: DeliveryReport) => Row | undefined> {
  const rows: Row[] = []
  const messageOf = ({ channel, providerId, id }: DeliveryReport) =>
    rows.findLast(row => row.channel === channel && row.providerId === (providerId ?? '')) ??
    rows.find(row => row.channel === channel && row.id === id)
  const begun = beginTransaction(client)
  const recent = Math.min(...reports.map(({ at }) => at)) - RECENT_MS
  for (const since of [recent, 0]) {
    const asked = reports.filter(each => messageOf(each) === undefined)
    if (asked.length === 0) break
    const providerIds = asked.map(({ providerId }) => providerId ?? null)
    const channels = asked.map(({ channel }) => channel)
    const ids = asked.map(({ id }) => id ?? '')
    const find = () => runStatement(client, REPORTED, providerIds, channels, ids, since)
    // The first time it may have waited for locks. The second time it sees what was done meanwhile.
    const [, , { rows: found }] = await awaitStatements(begun, find(), find())
    rows.push(...found.map(rowOf))
  }
  return messageOf
}

/** Makes the actions of people on a message that waits. */
export function createOperatorActions(options: WriterOptions) {
  const actOnWaiting =
    (act: (work: UnitOfWork, row: Row | undefined) => boolean) =>
    async (client: Client, { id, now }: { readonly id: string; readonly now: number }): Promise<boolean> => {
      const { work, commit } = openTransaction(client, options, now)
      const [, { rows }] = await awaitStatements(
        beginTransaction(client),
        runStatement(client, WAITING, id, now),
      )
      const acted = act(work, rows.map(rowOf)[0])
      await commit()
      return acted
    }
  return { retryMessage: actOnWaiting(retryMessage), cancelMessage: actOnWaiting(cancelMessage) }
}

/** Counted, so that there is one row to read, not one a recipient. */
const LOCK_RECIPIENTS = statement`SELECT count(pg_advisory_xact_lock(k)) FROM
    (SELECT DISTINCT hashtextextended(r, 8443) AS k FROM unnest($1::text[]) AS r ORDER BY k) AS sorted`
/** The texts that find a message by its recipient. */
const OF_RECIPIENT = ['m.recipient_hash', 'asked.recipient_hash'] as const
/**
 * The newest duplicates; and without a dedupe key the live codes of the groups and the duplicates whose life is over, all
 * of which are locked, in order. Only the days from `$5` on are looked at.
 */
const KNOWN = statement`WITH newest AS MATERIALIZED (
      SELECT m.* FROM unnest($1::text[], $2::text[]) AS asked(recipient_hash, dedupe_key)
      CROSS JOIN LATERAL (SELECT ${ROW_COLUMNS}, m.dedupe_key FROM courier_rows m
        WHERE ${isText(OF_RECIPIENT, ['m.dedupe_key', 'asked.dedupe_key'])} AND (m.final_at IS NULL OR m.final_at >= $5::bigint)
        ORDER BY -m.seq LIMIT 1) AS m
    ), endable AS MATERIALIZED (
      SELECT ${ROW_COLUMNS} FROM courier_live m WHERE m.seq = ANY(ARRAY(
        SELECT g.seq FROM unnest($3::text[]) AS asked(key)
        CROSS JOIN LATERAL (SELECT seq FROM courier_live WHERE group_key = asked.key OFFSET 0) AS g
        UNION ALL SELECT seq FROM newest WHERE state = 'queued' AND "expiresAt" <= $4::bigint))
      ORDER BY m.seq FOR UPDATE
    )
    SELECT *, NULL AS dedupe_key FROM endable UNION ALL SELECT * FROM newest`
/** Written so that no index with the state looks as if it could serve it. */
const REACHED = statement`SELECT asked.recipient_hash FROM unnest($1::text[]) AS asked(recipient_hash)
    CROSS JOIN LATERAL (SELECT 1 FROM courier_rows m
      WHERE ${isText(OF_RECIPIENT)} AND m.state || '' = 'sent' AND m.part <> 'live' LIMIT 1) AS any_sent
    UNION ALL SELECT recipient_hash FROM courier_known_numbers WHERE recipient_hash = ANY($2::text[]) AND since < $3 AND expires_at > $4`
const leased = (columns: string, calls = 'unnest($1::text[], $2::text[]) AS leased(id, token)') =>
  `SELECT ${columns} FROM courier_live m JOIN ${calls} ON m.id = leased.id AND m.lease_token = leased.token
    ORDER BY -m.seq DESC FOR UPDATE OF m`
const LEASED = statement`${leased(ROW_COLUMNS)}`
const BEGUN = 'unnest($1::text[], $2::text[], $3::text[]) AS leased(id, token, provider)'
const BEGIN_ATTEMPTS = statement`WITH held AS MATERIALIZED (${leased('m.seq, m.state, m.outdated, leased.provider', BEGUN)})
    UPDATE courier_live m SET begun = true, attempted_by = held.provider FROM held
      WHERE m.seq = held.seq AND held.state = 'sending' AND NOT held.outdated RETURNING m.lease_token`
const ENDED_UNDER = statement`SELECT m.* FROM unnest($1::text[], $2::text[]) AS leased(id, token)
    CROSS JOIN LATERAL (SELECT ${ROW_COLUMNS} FROM courier_finished m
      WHERE m.id = leased.id AND m.lease_token = leased.token OFFSET 0) AS m`
const SINCE = '(m.final_at IS NULL OR m.final_at >= $4::bigint)'
/** Written so that no index by channel looks as if it could serve it. */
const REPORTED_ON = `m.channel || '' = asked.channel AND ${SINCE}`
/** Reports on a message wait for each other by an advisory lock: to lock a row of an old day would write its page. */
const REPORTED = statement`WITH found AS MATERIALIZED (
      SELECT DISTINCT coalesce(p.id, o.id) AS id
      FROM unnest($1::text[], $2::text[], $3::text[]) AS asked(provider_id, channel, id)
      LEFT JOIN LATERAL (
        SELECT m.id, m.final_at FROM courier_rows m
        WHERE ${isText(['m.provider_id', 'asked.provider_id'])} AND ${REPORTED_ON}
        UNION ALL SELECT r.id, r.final_at FROM courier_reports r
        WHERE ${isText(['r.provider_id', 'asked.provider_id'])} AND r.channel = asked.channel AND r.final_at >= $4::bigint
        ORDER BY 2 DESC NULLS FIRST LIMIT 1) AS p ON true
      LEFT JOIN LATERAL (
        SELECT m.id FROM courier_rows m WHERE p.id IS NULL AND m.id = asked.id AND ${REPORTED_ON} OFFSET 0) AS o ON true
    ), ours AS MATERIALIZED (
      SELECT pg_advisory_xact_lock(key) FROM (SELECT hashtextextended(id, 8444) AS key FROM found ORDER BY 1) AS sorted
    ), live AS MATERIALIZED (
      SELECT FROM courier_live WHERE id = ANY(ARRAY(SELECT id FROM found)) ORDER BY -seq DESC FOR UPDATE
    )
    SELECT ${ROW_COLUMNS} FROM found CROSS JOIN LATERAL (
      SELECT * FROM courier_messages m WHERE m.id = found.id AND ${SINCE} OFFSET 0) AS m
    WHERE (SELECT count(*) FROM ours) + (SELECT count(*) FROM live) >= 0`
const WAITING = statement`SELECT ${ROW_COLUMNS} FROM courier_live m
    WHERE m.id = $1 AND m.state = 'queued' AND m.expires_at > $2 FOR UPDATE`
