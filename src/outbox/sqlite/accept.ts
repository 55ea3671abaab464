import type { KeyObject } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { CallArguments } from '../calls.ts'
import { encryptPayload } from '../encryption.ts'
import { type Acceptance, type Accepted, BacklogFull, type FinalAnswer, type FinalState } from '../outbox.ts'
import { judgeDuplicate, rankOfPurpose, stateAtExpiry } from '../rules.ts'
import type { Counts } from './counts.ts'
import type { Memos } from './memos.ts'
import type { Counters, Quotas } from './quotas.ts'
import { LIVE_COLUMNS, liveRow, type RowChanges } from './row-changes.ts'
import type { UnreportedEnds } from './unreported.ts'

export interface AcceptDeps {
  readonly db: DatabaseSync
  readonly payloadKey: KeyObject
  readonly ending: RowChanges
  readonly quotas: Quotas
  readonly tally: Counts
  readonly aside: UnreportedEnds
  readonly notes: Memos
  readonly maxBacklog: number
}

/** Stores the messages of one callback, each judged by itself: twin, quota, backlog. */
export function createAccept(deps: AcceptDeps): (call: CallArguments<'accept'>) => readonly Accepted[] {
  const { db, payloadKey, ending, quotas, tally, aside, notes, maxBacklog } = deps
  const newestTwin = db.prepare(
    `SELECT ${LIVE_COLUMNS}, answer, final_at FROM messages WHERE substr(recipient, 1, 8) = substr(?1, 1, 8) AND substr(twin, 1, 8) = substr(?2, 1, 8)
       AND recipient = ?1 AND twin = ?2 ORDER BY seq DESC LIMIT 1`,
  )
  const liveOfGroup = db.prepare(
    `SELECT ${LIVE_COLUMNS} FROM messages
       WHERE substr(code_group, 1, 8) = substr(?1, 1, 8) AND code_group = ?1 AND final_at IS NULL`,
  )
  const outdate = db.prepare('UPDATE messages SET outdated = 1 WHERE seq = ?')
  const insert = db.prepare(
    `INSERT INTO messages (id, channel, kind, purpose, rank, state, ready, attempts, ambiguous, arrived_at, expires_at,
       due_at, lease_until, lease_token, twin, recipient, code_group, masked, charges, sealed)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )

  /** The newest message that said the same, and what it means for this one. */
  function twinOf({ recipientHash, dedupeKey, dedupeWindowMs }: Acceptance, now: number) {
    const row = newestTwin.get(recipientHash, dedupeKey)
    if (row === undefined) return null
    const twin = liveRow(row)
    const finalAt = row['final_at'] as number | null
    const means = judgeDuplicate(
      { state: twin.state, finalAt, expiresAt: twin.expiresAt },
      now,
      dedupeWindowMs,
    )
    return { twin, means, answer: row['answer'] as FinalAnswer }
  }

  /** What its twin answers for it; null: it is new. */
  function answerOfTwin(acceptance: Acceptance, now: number): Accepted | null {
    const found = twinOf(acceptance, now)
    if (found === null || found.means === 'past') return null
    const { twin, means, answer } = found
    const { id, channel, kind } = twin
    if (means === 'live') return { is: 'in-progress', id }
    if (means === 'recent') return { is: 'finished', id, state: twin.state as FinalState, answer }
    const state = stateAtExpiry(twin.ambiguous)
    ending.end(twin, state, now)
    aside.ended({ id, state, channel, kind })
    return null
  }

  /** Ends the older codes of its group that wait; what is being sent just then ends when it would come back. */
  function supersede({ groupKey }: Acceptance, now: number): readonly string[] {
    if (groupKey === undefined) return []
    const ended: string[] = []
    for (const found of liveOfGroup.all(groupKey)) {
      const older = liveRow(found)
      if (older.state === 'sending') outdate.run(older.seq)
      else {
        ending.end(older, 'superseded', now)
        ended.push(older.id)
      }
    }
    return ended
  }

  function store(acceptance: Acceptance, counters: Counters, now: number): void {
    const { message, dedupeKey, recipientHash, groupKey, lease } = acceptance
    const { id, channel, kind, purpose, recipient, masked, content, arrivedAt, expiresAt } = message
    const state = lease === undefined ? 'queued' : 'sending'
    insert.run(
      id,
      channel,
      kind,
      purpose,
      rankOfPurpose(purpose),
      state,
      lease === undefined ? 1 : null,
      lease === undefined ? 0 : 1,
      arrivedAt,
      expiresAt,
      lease === undefined ? now : null,
      lease?.until ?? null,
      lease?.token ?? null,
      dedupeKey,
      recipientHash,
      groupKey ?? null,
      masked,
      counters.length === 0 ? null : JSON.stringify(counters),
      encryptPayload(payloadKey, id, { recipient, content }),
    )
    tally.moved(message, 'new', state)
  }

  function accept(acceptance: Acceptance, now: number): Accepted {
    const same = answerOfTwin(acceptance, now)
    if (same !== null) return same
    const taken = quotas.take(acceptance.charges, now)
    if ('full' in taken) {
      return { is: 'over-quota', quota: taken.full, retryAfterSeconds: Math.ceil(taken.waitMs / 1000) }
    }
    const superseded = supersede(acceptance, now)
    store(acceptance, taken.counters, now)
    if (acceptance.memo !== undefined) notes.write(acceptance.memo)
    return { is: 'stored', superseded, ...(taken.nearing.length === 0 ? {} : { nearing: taken.nearing }) }
  }

  /** Before anything is written, so that a full backlog costs no rollback of the calls beside it. */
  function refuseOverBacklog(messages: readonly Acceptance[], now: number): void {
    const room = maxBacklog - tally.backlog()
    if (messages.length <= room) return
    const known = messages.filter(each => ['live', 'recent'].includes(twinOf(each, now)?.means ?? 'new'))
    const added = messages.length - known.length
    if (added > room) throw new BacklogFull(`${maxBacklog} messages are waiting already`)
  }

  return ({ messages, now }) => {
    refuseOverBacklog(messages, now)
    return messages.map(each => accept(each, now))
  }
}
