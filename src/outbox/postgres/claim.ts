import type { KeyObject } from 'node:crypto'
import type { Channel } from '../../messages/message.ts'
import type { CallArguments, CallResult, SettledByStore } from '../calls.ts'
import { decryptPayload, type Payload } from '../encryption.ts'
import type { ClaimedMessage } from '../outbox.ts'
import { afterSettlement, stateAtExpiry } from '../rules.ts'
import { ask, type Client, type Result, type Statement, together } from './connect.ts'
import { type DeadReplica, LOCK_DEAD_REPLICAS, type ReplicaHeartbeats, STILL_DEAD } from './heartbeats.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'
import { createRowChanges, type RowChanges } from './row-changes.ts'
import type { UncertainCommits } from './uncertain-commits.ts'

/** At most so many rows are moved, ended or taken over in passing by one claim, each; the rest by the next. */
const STEP = 500

export interface ClaimDeps {
  readonly payloadKey: KeyObject
  readonly shard: number
  /** Takes what accepting has ended in passing. */
  readonly takeEnded: (channel: Channel) => readonly SettledByStore[]
  /** Names calls, for their leases' tokens begin with that, and knows whose leases need not be waited for. */
  readonly presence: Pick<ReplicaHeartbeats, 'newLeaseToken' | 'deadReplicas' | 'reports'>
  readonly unheard: UncertainCommits
  /** Hears how many messages were taken over from processes that are gone. */
  readonly tookOver: (count: number) => void
}

/**
 * Claims due messages, and settles on the way what needs no attempt. Rows that another replica holds just now are
 * passed by.
 */
export function createClaim(deps: ClaimDeps) {
  const { payloadKey, shard, takeEnded, presence, unheard, tookOver } = deps
  /** After which report a channel was looked through for what the gone had claimed. */
  const lookedAfter = new Map<Channel, number>()

  return async (client: Client, call: CallArguments<'claim'>): Promise<CallResult<'claim'>> => {
    const { channel, now } = call
    const orphans = unheard.givenUp()
    const reports = presence.reports()
    const gone = lookedAfter.get(channel) === reports ? [] : presence.deadReplicas()
    const { tidied, left } = await tidy(client, createRowChanges(client, shard, now), channel, orphans, gone)
    if (left < STEP) lookedAfter.set(channel, reports)
    if (left > 0) tookOver(left)
    const name = presence.newLeaseToken()
    const { messages, ended, next } = await claimDue(client, call, name).catch((error: unknown) => {
      unheard.giveUp(name)
      throw error
    })
    unheard.confirm(name)
    return { messages, settled: [...takeEnded(channel), ...tidied, ...ended], nextDueAt: next }
  }

  async function claimDue(client: Client, call: CallArguments<'claim'>, name: string) {
    const { now, channel, limit, leaseMs } = call
    const unit = createRowChanges(client, shard, now)
    const [, due] = await together(client.query('BEGIN'), ask(client, DUE, channel, limit))
    const found = due.rows.map(read => {
      const row = rowOf(read)
      return {
        row,
        masked: read['masked'] as string,
        letter: row.expiresAt > now ? open(row.id, read['sealed']) : null,
      }
    })
    const unsendable = found.filter(each => each.letter === null).map(each => each.row)
    await unit.quotas.lock([], chargesOf(unsendable))
    for (const row of unsendable) endUnsent(unit, row)
    const messages = found.flatMap(({ row, masked, letter }, n) => {
      if (letter === null) return []
      const lease = { token: `${name}.${n}`, until: now + leaseMs }
      unit.claim(row, lease)
      return [claimedOf(row, lease, masked, letter)]
    })
    unheard.begin(name)
    const [, [any, next]] = await Promise.all([
      unit.commit(),
      together(ask(client, ANY_DUE, channel), ask(client, NEXT, channel)),
    ])
    const at = next.rows[0]?.['at'] as number | null | undefined
    const later = at === null || at === undefined ? null : Math.max(now, at)
    return { messages, ended: unsendable.map(endedAs), next: any.rows.length > 0 ? now : later }
  }

  function open(id: string, sealed: unknown): Payload | null {
    try {
      return decryptPayload(payloadKey, id, sealed as Uint8Array)
    } catch {
      return null
    }
  }
}

function claimedOf(
  row: Row,
  lease: ClaimedMessage['lease'],
  masked: string,
  letter: Payload,
): ClaimedMessage {
  const { id, channel, kind, purpose, arrivedAt, expiresAt, attempts, ambiguous, codeGroup } = row
  const group = codeGroup === null ? {} : { groupKey: codeGroup }
  return {
    id,
    channel,
    kind,
    purpose,
    ...letter,
    masked,
    arrivedAt,
    expiresAt,
    lease,
    attempts,
    ambiguous,
    ...group,
  }
}

/** What stands in front of the queue and cannot be sent: its life is over, or its content was damaged. */
function endUnsent(unit: RowChanges, row: Row): void {
  if (row.expiresAt <= unit.now) {
    unit.end(row, stateAtExpiry(row.ambiguous))
    return
  }
  const { attempts, ambiguous } = row
  const reply = 'the stored content cannot be read'
  const record = { at: unit.now, tookMs: 0, provider: '', outcome: 'rejected', code: 'UNREADABLE', reply }
  unit.put(row, { state: 'refused', answer: 'content', attempts, ambiguous, dueAt: null }, record)
}

/** Takes over lost leases, ends what has outlived itself, puts orphans back, and moves what is due into the queue. */
async function tidy(
  client: Client,
  unit: RowChanges,
  channel: Channel,
  orphans: readonly string[],
  gone: readonly DeadReplica[],
): Promise<{ readonly tidied: readonly SettledByStore[]; readonly left: number }> {
  const { now } = unit
  const [, leftBehind, lost, outlived, orphaned] = await together(
    client.query('BEGIN'),
    leftBy(client, channel, gone),
    ask(client, LOST, channel, now),
    ask(client, OUTLIVED, channel, now),
    orphans.length === 0 ? NOTHING : ask(client, ORPHANED, channel, orphans),
    ask(client, PROMOTE, channel, 0, now),
    ask(client, PROMOTE, channel, 1, now),
  )
  const taken = distinct([...leftBehind.rows, ...lost.rows].map(rowOf))
  const over = outlived.rows.map(rowOf)
  const seen = new Set(taken.map(row => row.seq))
  const back = orphaned.rows.map(rowOf).filter(row => !seen.has(row.seq))
  await unit.quotas.lock([], chargesOf([...taken, ...over, ...back]))
  for (const row of taken) unit.takeOver(row)
  for (const row of over) unit.end(row, stateAtExpiry(row.ambiguous))
  for (const row of back) {
    unit.put(row, afterSettlement(row, { to: 'queued', dueAt: now, uncounted: true }, row.outdated))
  }
  await unit.commit()
  const tidied = [...taken, ...over, ...back].filter(row => row.finalAt !== null).map(endedAs)
  return { tidied, left: leftBehind.rows.length }
}

const NOTHING: Promise<Pick<Result, 'rows'>> = Promise.resolve({ rows: [] })

/** What processes that are gone had claimed. */
async function leftBy(
  client: Client,
  channel: Channel,
  gone: readonly DeadReplica[],
): Promise<Pick<Result, 'rows'>> {
  if (gone.length === 0) return NOTHING
  const names = gone.map(each => each.name)
  const [, left] = await together(
    ask(client, LOCK_DEAD_REPLICAS, names),
    ask(
      client,
      LEFT,
      channel,
      names,
      gone.map(each => each.reports),
    ),
  )
  return left
}

function distinct(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map(row => [row.seq, row])).values()]
}

function endedAs({ id, state, channel, kind }: Row): SettledByStore {
  return { id, state: state as SettledByStore['state'], channel, kind }
}

function chargesOf(rows: readonly Row[]) {
  return rows.flatMap(row => (row.charges === null ? [] : [row.charges]))
}

const LOST: Statement = {
  name: 'lost',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.channel = $1 AND m.lease_until <= $2
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE SKIP LOCKED`,
}
const LEFT: Statement = {
  name: 'left',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND split_part(m.lease_token, '.', 1) IN (${STILL_DEAD})
    ORDER BY m.lease_until LIMIT ${STEP} FOR UPDATE OF m SKIP LOCKED`,
}
const OUTLIVED: Statement = {
  name: 'outlived',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m
    WHERE m.ready IS NOT NULL AND m.channel = $1 AND m.expires_at <= $2
    ORDER BY m.expires_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED`,
}
const ORPHANED: Statement = {
  name: 'orphaned',
  text: `SELECT ${ROW_COLUMNS} FROM courier_messages m WHERE m.channel = $1 AND m.lease_until IS NOT NULL
    AND EXISTS (SELECT FROM unnest($2::text[]) AS name WHERE m.lease_token = name OR m.lease_token ^@ (name || '.'))
    FOR UPDATE OF m SKIP LOCKED`,
}
const PROMOTE: Statement = {
  name: 'promote',
  text: `UPDATE courier_messages SET ready = 1 WHERE seq IN
    (SELECT seq FROM courier_messages WHERE ready = 0 AND channel = $1 AND rank = $2::smallint AND due_at <= $3
     ORDER BY due_at LIMIT ${STEP} FOR UPDATE SKIP LOCKED)`,
}
const DUE: Statement = {
  name: 'due',
  text: `SELECT ${ROW_COLUMNS}, m.masked, m.sealed FROM courier_messages m WHERE m.ready = 1 AND m.channel = $1
    ORDER BY m.rank, m.seq DESC LIMIT $2 FOR UPDATE SKIP LOCKED`,
}
const ANY_DUE: Statement = {
  name: 'any-due',
  text: 'SELECT 1 FROM courier_messages WHERE ready = 1 AND channel = $1 LIMIT 1',
}
const NEXT: Statement = {
  name: 'next',
  text: `SELECT least(
    (SELECT min(due_at) FROM courier_messages WHERE ready = 0 AND channel = $1 AND rank = 0),
    (SELECT min(due_at) FROM courier_messages WHERE ready = 0 AND channel = $1 AND rank = 1),
    (SELECT min(lease_until) FROM courier_messages WHERE lease_until IS NOT NULL AND channel = $1)) AS at`,
}
