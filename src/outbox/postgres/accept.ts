import type { CallArguments, SettledByStore } from '../calls.ts'
import type { PayloadKeys } from '../encryption.ts'
import type { Acceptance, Accepted, BacklogFull } from '../outbox.ts'
import { afterNewerCode, answerForDuplicate, checkBacklog, judgeDuplicate, stateAtExpiry } from '../rules.ts'
import type { UnreportedEnds } from '../unreported-ends.ts'
import { type BacklogEstimate, createBacklogEstimate } from './backlog.ts'
import { awaitStatements, beginTransaction, type Client, runStatement, statement } from './connect.ts'
import { createMessageWriter, type MessageWriter, type WriterOptions } from './message-writer.ts'
import { ROW_COLUMNS, type Row, refundableWindows, rowOf } from './row.ts'
import { LIVE_GROUP } from './schema.ts'
import type { UncertainCommits } from './uncertain-commits.ts'

export interface AcceptDeps {
  readonly payloadKeys: PayloadKeys
  readonly maxBacklog: number
  readonly writerOptions: WriterOptions
  readonly uncertain: UncertainCommits
  readonly unreported: Pick<UnreportedEnds, 'add'>
}

/** The stored messages that the new ones of a transaction may be duplicates of, or supersede. The transaction's own new ones are added. */
interface Known {
  /** By recipient and dedupe key. */
  readonly duplicates: Map<string, Row>
  readonly groups: Map<string, Row[]>
  /** Rows that this transaction may change. */
  readonly locked: ReadonlySet<Row>
  readonly backlog: number
  readonly ended: SettledByStore[]
  /** Whether the same calls were tried before, and the answer to their commit was lost. */
  readonly again: boolean
}

/**
 * Stores the messages of calls that came together in one transaction, each judged by itself: duplicate, quota, backlog.
 *
 * A transaction that stores a message for a recipient holds the recipient's advisory lock until its commit. So two replicas
 * that are given the same body, or two codes of a group, store them one after the other. Duplicates, groups and most counters
 * belong to one recipient, so this one lock guards all of them.
 */
export function createAccept(deps: AcceptDeps) {
  const { uncertain, unreported } = deps
  const backlog = createBacklogEstimate(deps.maxBacklog)
  return async (
    client: Client,
    calls: readonly CallArguments<'accept'>[],
    again: boolean,
  ): Promise<(readonly Accepted[] | BacklogFull)[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const writer = createMessageWriter(client, deps.writerOptions, now)
    const all = calls.flatMap(call => call.messages)
    if (all.length === 0) return calls.map(() => [])
    const known = await lockAndRead(client, all, now, again, backlog)
    const added = all.filter(each => isNew(each, known, now))
    await writer.quotas.lock(
      added.flatMap(each => each.charges),
      refundableWindows([...known.locked]),
      again,
    )
    const answers = calls.map(call => acceptCall(deps, writer, known, call))
    const leases = all.flatMap(each => each.lease ?? [])
    for (const { token, until } of leases) uncertain.begin(token, until - now)
    await writer.commit()
    backlog.add(writer.counts.added())
    for (const { token } of leases) uncertain.confirm(token)
    for (const each of known.ended) unreported.add(each)
    return answers
  }
}

async function lockAndRead(
  client: Client,
  all: readonly Acceptance[],
  now: number,
  again: boolean,
  backlog: BacklogEstimate,
): Promise<Known> {
  const dedupeKeys = all.map(each => each.dedupeKey)
  const recipients = all.map(each => each.recipientHash)
  const groups = new Set(all.flatMap(each => each.groupKey ?? []))
  const [, , read] = await awaitStatements(
    beginTransaction(client),
    runStatement(client, LOCK_RECIPIENTS, recipients),
    runStatement(client, KNOWN, recipients, dedupeKeys, [...groups], now),
    backlog.refresh(client, now, all.length),
  )
  const endable = read.rows.filter(each => each['dedupe_key'] === null)
  const duplicates = read.rows.filter(each => each['dedupe_key'] !== null)
  const latest = new Map(endable.map(each => [each['seq'] as number, rowOf(each)]))
  // A message that ended while we waited for its lock cannot be ended again.
  const locked = [...latest.values()].filter(each => each.finalAt === null)
  const byGroup = new Map<string, Row[]>()
  for (const row of locked) {
    if (row.groupKey === null || !groups.has(row.groupKey)) continue
    byGroup.set(row.groupKey, [...(byGroup.get(row.groupKey) ?? []), row])
  }
  return {
    // A locked message is one row, whoever changes it.
    duplicates: new Map(
      duplicates.map(each => [
        duplicateKey(each['recipient_hash'] as string, each['dedupe_key'] as string),
        latest.get(each['seq'] as number) ?? rowOf(each),
      ]),
    ),
    groups: byGroup,
    locked: new Set(locked),
    ended: [],
    again,
    backlog: backlog.live(),
  }
}

function isNew(
  { recipientHash, dedupeKey, dedupeWindowMs }: Acceptance,
  { duplicates }: Known,
  now: number,
): boolean {
  const duplicate = duplicates.get(duplicateKey(recipientHash, dedupeKey))
  if (duplicate === undefined) return true
  return answerForDuplicate(duplicate, judgeDuplicate(duplicate, now, dedupeWindowMs)) === null
}

/** Joins both hashes by a blank, which neither can hold. */
function duplicateKey(recipientHash: string, dedupeKey: string): string {
  return `${recipientHash} ${dedupeKey}`
}

function acceptCall(
  deps: AcceptDeps,
  writer: MessageWriter,
  known: Known,
  call: CallArguments<'accept'>,
): readonly Accepted[] | BacklogFull {
  const added = call.messages.filter(each => isNew(each, known, writer.now)).length
  const full = checkBacklog(known.backlog + writer.counts.added(), added, deps.maxBacklog)
  return full ?? call.messages.map(each => acceptOne(deps, writer, known, each))
}

function acceptOne(deps: AcceptDeps, writer: MessageWriter, known: Known, acceptance: Acceptance): Accepted {
  const answered = answerOfDuplicate(writer, known, acceptance)
  if (answered !== null) return answered
  const charged = writer.quotas.charge(acceptance.charges)
  if (charged.is === 'over-quota') return charged
  const { recipientHash, dedupeKey, groupKey } = acceptance
  const group = groupKey === undefined ? [] : (known.groups.get(groupKey) ?? [])
  const superseded = supersedeOlder(writer, group)
  const row = writer.store(acceptance, charged.windows, deps.payloadKeys)
  known.duplicates.set(duplicateKey(recipientHash, dedupeKey), row)
  if (groupKey !== undefined) known.groups.set(groupKey, [...group, row])
  const { nearing } = charged
  return { is: 'stored', superseded, ...(nearing.length === 0 ? {} : { nearing }) }
}

function answerOfDuplicate(writer: MessageWriter, known: Known, acceptance: Acceptance): Accepted | null {
  const duplicate = known.duplicates.get(duplicateKey(acceptance.recipientHash, acceptance.dedupeKey))
  if (duplicate === undefined) return null
  const { id, channel, kind } = duplicate
  // An earlier try of this very call has stored it, and the answer to its commit was lost.
  if (known.again && id === acceptance.message.id) return { is: 'stored', superseded: [] }
  const verdict = judgeDuplicate(duplicate, writer.now, acceptance.dedupeWindowMs)
  if (verdict === 'outlived') {
    // Another process put it back into the queue after we had read it, and will end it.
    if (!known.locked.has(duplicate)) return { is: 'in-progress', id }
    const state = stateAtExpiry(duplicate.ambiguous)
    writer.end(duplicate, state)
    known.ended.push({ id, state, channel, kind })
  }
  return answerForDuplicate(duplicate, verdict)
}

/** @returns the ids of the older codes of the group that end now. */
function supersedeOlder(writer: MessageWriter, group: readonly Row[]): readonly string[] {
  const superseded: string[] = []
  for (const older of group) {
    const effect = afterNewerCode(older.state)
    if (effect === 'outdated') writer.markOutdated(older)
    if (effect !== 'superseded') continue
    writer.end(older, 'superseded')
    superseded.push(older.id)
  }
  return superseded
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
      CROSS JOIN LATERAL (SELECT ${ROW_COLUMNS}, m.recipient_hash, m.dedupe_key FROM courier_messages m
        WHERE m.recipient_hash = asked.recipient_hash AND m.dedupe_key = asked.dedupe_key
        ORDER BY -m.seq LIMIT 1) AS m
    ), endable AS MATERIALIZED (
      SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.seq = ANY(ARRAY(
        SELECT g.seq FROM unnest($3::text[]) AS asked(key)
        CROSS JOIN LATERAL (SELECT seq FROM courier_messages WHERE ${LIVE_GROUP} = asked.key) AS g
        UNION ALL SELECT seq FROM newest WHERE state = 'queued' AND expires_at <= $4::bigint))
      ORDER BY m.seq FOR UPDATE
    )
    SELECT *, NULL AS recipient_hash, NULL AS dedupe_key FROM endable UNION ALL SELECT * FROM newest`
