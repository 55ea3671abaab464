import type { KeyObject } from 'node:crypto'
import type { CallArguments, SettledByStore } from '../calls.ts'
import { encryptPayload } from '../encryption.ts'
import { type Acceptance, type Accepted, BacklogFull, type FinalState } from '../outbox.ts'
import { judgeDuplicate, stateAtExpiry } from '../rules.ts'
import { ask, type Client, type Statement, together } from './connect.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { createRowChanges, type RowChanges } from './row-changes.ts'
import type { UncertainCommits } from './uncertain-commits.ts'

export interface AcceptDeps {
  readonly payloadKey: KeyObject
  readonly maxBacklog: number
  readonly shard: number
  readonly unheard: UncertainCommits
  /** Hears, once it is committed, what was ended in passing (an outlived twin); the next claim reports it. */
  readonly ended: (messages: readonly SettledByStore[]) => void
}

/** What is known of the messages' twins and groups, their own batch included. */
interface Known {
  readonly twins: Map<string, Row>
  readonly groups: Map<string, Row[]>
  /** Rows that this transaction may change. */
  readonly locked: ReadonlySet<Row>
  readonly backlog: number
  readonly ended: SettledByStore[]
  /** The same calls were tried before, and we did not hear of their commit. */
  readonly again: boolean
}

/**
 * Stores the messages of calls that came together in one transaction, each judged by itself: twin, quota, backlog.
 *
 * Whoever stores a message for a recipient holds the recipient's advisory lock until the commit, so that two
 * replicas that are given the same body, or two codes of a group, do it one after the other. A twin, a group and
 * most counters are a recipient's own, so this one lock guards all of them.
 */
export function createAccept(deps: AcceptDeps) {
  return async (
    client: Client,
    calls: readonly CallArguments<'accept'>[],
    again: boolean,
  ): Promise<(readonly Accepted[] | BacklogFull)[]> => {
    const now = Math.max(...calls.map(call => call.now))
    const unit = createRowChanges(client, deps.shard, now)
    const all = calls.flatMap(call => call.messages)
    if (all.length === 0) return calls.map(() => [])
    const known = await read(client, all, now, again)
    const fresh = all.filter(each => !isRepeated(each, known, now))
    await unit.quotas.lock(
      fresh.flatMap(each => each.charges),
      [...known.locked].flatMap(row => (row.charges === null ? [] : [row.charges])),
    )
    const answers = calls.map(call => acceptCall(deps, unit, known, call))
    const tokens = all.flatMap(each => each.lease?.token ?? [])
    for (const token of tokens) deps.unheard.begin(token)
    await unit.commit()
    for (const token of tokens) deps.unheard.confirm(token)
    deps.ended(known.ended)
    return answers
  }
}

async function read(client: Client, all: readonly Acceptance[], now: number, again: boolean): Promise<Known> {
  const twinKeys = all.map(each => each.dedupeKey)
  const recipients = all.map(each => each.recipientHash)
  const groups = new Set(all.flatMap(each => each.groupKey ?? []))
  const [, , endable, twins, backlog] = await together(
    client.query('BEGIN'),
    ask(client, LOCK_RECIPIENTS, recipients),
    ask(client, ENDABLE, [...groups], twinKeys, now),
    ask(client, TWINS, recipients, twinKeys),
    ask(client, BACKLOG),
  )
  const locked = new Map(endable.rows.map(each => [each['seq'] as number, rowOf(each)]))
  const byGroup = new Map<string, Row[]>()
  for (const row of locked.values()) {
    if (row.codeGroup === null || !groups.has(row.codeGroup)) continue
    byGroup.set(row.codeGroup, [...(byGroup.get(row.codeGroup) ?? []), row])
  }
  return {
    // One that is locked is one row, whoever changes it.
    twins: new Map(
      twins.rows.map(each => [each['twin'] as string, locked.get(each['seq'] as number) ?? rowOf(each)]),
    ),
    groups: byGroup,
    locked: new Set(locked.values()),
    ended: [],
    again,
    backlog: Number(backlog.rows[0]?.['live'] ?? 0),
  }
}

function isRepeated({ dedupeKey, dedupeWindowMs }: Acceptance, { twins }: Known, now: number): boolean {
  const twin = twins.get(dedupeKey)
  return twin !== undefined && ['live', 'recent'].includes(judgeDuplicate(twin, now, dedupeWindowMs))
}

function acceptCall(
  deps: AcceptDeps,
  unit: RowChanges,
  known: Known,
  call: CallArguments<'accept'>,
): readonly Accepted[] | BacklogFull {
  const added = call.messages.filter(each => !isRepeated(each, known, unit.now)).length
  if (added > 0 && known.backlog + unit.counts.added() + added > deps.maxBacklog) {
    return new BacklogFull(`${deps.maxBacklog} messages are waiting already`)
  }
  return call.messages.map(each => acceptOne(deps, unit, known, each))
}

function acceptOne(deps: AcceptDeps, unit: RowChanges, known: Known, acceptance: Acceptance): Accepted {
  const { message, dedupeKey, groupKey } = acceptance
  const same = answerOfTwin(unit, known, acceptance)
  if (same !== null) return same
  const taken = unit.quotas.take(acceptance.charges)
  if ('full' in taken) {
    return { is: 'over-quota', quota: taken.full, retryAfterSeconds: Math.ceil(taken.waitMs / 1000) }
  }
  const group = groupKey === undefined ? [] : (known.groups.get(groupKey) ?? [])
  const superseded: string[] = []
  for (const older of group) {
    if (older.state === 'sending') unit.outdate(older)
    else if (older.state === 'queued') {
      unit.end(older, 'superseded')
      superseded.push(older.id)
    }
  }
  const { recipient, content } = message
  const sealed = encryptPayload(deps.payloadKey, message.id, { recipient, content }).toString('base64')
  const row = unit.store(acceptance, taken.counters, sealed)
  known.twins.set(dedupeKey, row)
  if (groupKey !== undefined) known.groups.set(groupKey, [...group, row])
  return { is: 'stored', superseded, ...(taken.nearing.length === 0 ? {} : { nearing: taken.nearing }) }
}

/** What its twin answers for a message; null: it is new. */
function answerOfTwin(unit: RowChanges, known: Known, acceptance: Acceptance): Accepted | null {
  const twin = known.twins.get(acceptance.dedupeKey)
  if (twin === undefined) return null
  // Stored by an earlier try of this very call, whose commit we did not hear of.
  if (known.again && twin.id === acceptance.message.id) return { is: 'stored', superseded: [] }
  switch (judgeDuplicate(twin, unit.now, acceptance.dedupeWindowMs)) {
    case 'live':
      return { is: 'in-progress', id: twin.id }
    case 'recent':
      return { is: 'finished', id: twin.id, state: twin.state as FinalState, answer: twin.answer }
    case 'outlived': {
      // Put back into the queue while we looked: whoever did that will end it.
      if (!known.locked.has(twin)) return { is: 'in-progress', id: twin.id }
      const state = stateAtExpiry(twin.ambiguous)
      unit.end(twin, state)
      known.ended.push({ id: twin.id, state, channel: twin.channel, kind: twin.kind })
      return null
    }
    case 'past':
      return null
  }
}

const LOCK_RECIPIENTS: Statement = {
  name: 'lock-recipients',
  text: `SELECT pg_advisory_xact_lock(k) FROM
    (SELECT DISTINCT hashtextextended(r, 8443) AS k FROM unnest($1::text[]) AS r ORDER BY k) AS sorted`,
}
const TWINS: Statement = {
  name: 'twins',
  text: `SELECT m.* FROM unnest($1::text[], $2::text[]) AS asked(recipient, twin)
    CROSS JOIN LATERAL (SELECT ${ROW_COLUMNS}, m.twin FROM courier_messages m
      WHERE m.recipient = asked.recipient AND m.twin = asked.twin ORDER BY m.seq DESC LIMIT 1) AS m`,
}
const ENDABLE: Statement = {
  name: 'endable',
  // The live codes of the groups, and twins whose life is over; in one statement, so that they are locked in order.
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m
    WHERE m.final_at IS NULL AND m.seq IN (
      SELECT seq FROM courier_messages WHERE code_group = ANY($1::text[]) AND final_at IS NULL
      UNION ALL
      SELECT seq FROM courier_messages WHERE twin = ANY($2::text[]) AND final_at IS NULL
        AND state = 'queued' AND expires_at <= $3::bigint)
    ORDER BY m.seq FOR UPDATE`,
}
const BACKLOG: Statement = {
  name: 'read-backlog',
  text: 'SELECT sum(email + sms)::bigint AS live FROM courier_backlog',
}
