import type { KeyObject } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Channel, Purpose } from '../../messages/message.ts'
import type { CallArguments, CallResult, SettledByStore } from '../calls.ts'
import { decryptPayload, type Payload } from '../encryption.ts'
import type { ClaimedMessage, Lease } from '../outbox.ts'
import { stateAtExpiry } from '../rules.ts'
import type { Counts } from './counts.ts'
import { LIVE_COLUMNS, type LiveRow, liveRow, type RowChanges } from './row-changes.ts'
import type { UnreportedEnds } from './unreported.ts'

/** At most so many rows are moved, ended or taken over in passing by one claim, each; the rest by the next. */
const STEP = 500

export interface ClaimDeps {
  readonly db: DatabaseSync
  readonly payloadKey: KeyObject
  readonly ending: RowChanges
  readonly tally: Counts
  readonly aside: UnreportedEnds
  /** A name for a lease that was never given before. */
  readonly leaseToken: () => string
}

/** Claims due messages, and settles on the way what needs no attempt. */
export function createClaim(deps: ClaimDeps): (call: CallArguments<'claim'>) => CallResult<'claim'> {
  const { db, payloadKey, ending, tally, aside, leaseToken } = deps
  const lost = db.prepare(
    `SELECT ${LIVE_COLUMNS} FROM messages WHERE channel = ? AND lease_until <= ? ORDER BY lease_until LIMIT ${STEP}`,
  )
  const outlived = db.prepare(
    `SELECT ${LIVE_COLUMNS} FROM messages WHERE ready IS NOT NULL AND channel = ? AND expires_at <= ? ORDER BY expires_at LIMIT ${STEP}`,
  )
  const promote = db.prepare(
    `UPDATE messages SET ready = 1 WHERE seq IN
       (SELECT seq FROM messages WHERE ready = 0 AND channel = ? AND rank = ? AND due_at <= ? ORDER BY due_at LIMIT ${STEP})`,
  )
  const due = db.prepare(
    `SELECT ${LIVE_COLUMNS}, purpose, masked, sealed FROM messages WHERE ready = 1 AND channel = ? ORDER BY rank, seq DESC LIMIT ?`,
  )
  const hold = db.prepare(
    `UPDATE messages SET state = 'sending', ready = NULL, due_at = NULL, attempts = ?, lease_token = ?, lease_until = ? WHERE seq = ?`,
  )
  const anyDue = db.prepare('SELECT 1 FROM messages WHERE ready = 1 AND channel = ? LIMIT 1')
  const nextWaiting = db.prepare(
    'SELECT min(due_at) AS at FROM messages WHERE ready = 0 AND channel = ? AND rank = ?',
  )
  const nextLease = db.prepare(
    'SELECT min(lease_until) AS at FROM messages WHERE channel = ? AND lease_until IS NOT NULL',
  )

  function takeOver(channel: Channel, now: number): SettledByStore[] {
    const ended: SettledByStore[] = []
    for (const found of lost.all(channel, now)) {
      const { state } = ending.takeOver(liveRow(found), now)
      if (state !== 'queued' && state !== 'sending') ended.push(endedAs(liveRow(found), state))
    }
    return ended
  }

  function expire(channel: Channel, now: number): SettledByStore[] {
    return outlived.all(channel, now).map(found => {
      const row = liveRow(found)
      const state = stateAtExpiry(row.ambiguous)
      ending.end(row, state, now)
      return endedAs(row, state)
    })
  }

  function open(row: LiveRow, sealed: SQLOutputValue | undefined): Payload | null {
    try {
      return decryptPayload(payloadKey, row.id, sealed as Uint8Array)
    } catch {
      return null
    }
  }

  /** Takes the lease and counts the attempt. */
  function take(found: Record<string, SQLOutputValue>, lease: Lease): ClaimedMessage | null {
    const row = liveRow(found)
    const letter = open(row, found['sealed'])
    if (letter === null) return null
    const attempts = row.attempts + 1
    hold.run(attempts, lease.token, lease.until, row.seq)
    tally.moved(row, 'queued', 'sending')
    const { id, channel, kind, arrivedAt, expiresAt, ambiguous, codeGroup } = row
    return {
      id,
      channel,
      kind,
      purpose: found['purpose'] as Purpose,
      recipient: letter.recipient,
      masked: String(found['masked']),
      content: letter.content,
      arrivedAt,
      expiresAt,
      lease,
      attempts,
      ambiguous,
      ...(codeGroup === null ? {} : { groupKey: codeGroup }),
    }
  }

  function claimDue(
    { channel, limit, leaseMs, now }: CallArguments<'claim'>,
    ended: SettledByStore[],
  ): ClaimedMessage[] {
    const messages: ClaimedMessage[] = []
    for (const found of due.all(channel, limit)) {
      const row = liveRow(found)
      // More are past their life than one step ends: those in front of the queue end here.
      const over = row.expiresAt <= now
      const claimed = over ? null : take(found, { token: leaseToken(), until: now + leaseMs })
      if (claimed !== null) messages.push(claimed)
      else if (over) {
        ending.end(row, stateAtExpiry(row.ambiguous), now)
        ended.push(endedAs(row, stateAtExpiry(row.ambiguous)))
      } else {
        unreadable(row, now)
        ended.push(endedAs(row, 'refused'))
      }
    }
    return messages
  }

  /** Its content was damaged on disk. Nobody can send it; left in the queue it would be in the way for ever. */
  function unreadable(row: LiveRow, now: number): void {
    const { attempts, ambiguous } = row
    const reply = 'the stored content cannot be read'
    ending.put(row, { state: 'refused', answer: 'content', attempts, ambiguous, dueAt: null }, now, {
      at: now,
      tookMs: 0,
      provider: '',
      outcome: 'rejected',
      code: 'UNREADABLE',
      reply,
    })
  }

  function nextDueAt(channel: Channel, now: number): number | null {
    if (anyDue.get(channel) !== undefined) return now
    const times = [nextWaiting.get(channel, 0), nextWaiting.get(channel, 1), nextLease.get(channel)]
      .map(row => row?.['at'])
      .filter(at => typeof at === 'number')
    return times.length === 0 ? null : Math.max(now, Math.min(...times))
  }

  return call => {
    const { channel, now } = call
    const settled = [...aside.take(channel), ...takeOver(channel, now), ...expire(channel, now)]
    for (const rank of [0, 1]) promote.run(channel, rank, now)
    const messages = claimDue(call, settled)
    return { messages, settled, nextDueAt: nextDueAt(channel, now) }
  }
}

function endedAs({ id, channel, kind }: LiveRow, state: SettledByStore['state']): SettledByStore {
  return { id, state, channel, kind }
}
