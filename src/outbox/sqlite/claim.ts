import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Channel, Purpose } from '../../messages/message.ts'
import type { CallArguments, CallResult, SettledByStore } from '../calls.ts'
import { type PayloadKeys, tryDecrypt } from '../encryption.ts'
import { toClaimedMessage } from '../message-view.ts'
import type { ClaimedMessage } from '../outbox.ts'
import { claimOrder, isLive, stateAtEnd, stateAtExpiry, storeRecord } from '../rules.ts'
import type { UnreportedEnds } from '../unreported-ends.ts'
import type { MessageWriter } from './message-writer.ts'
import { ROW_COLUMNS, type Row, rowOf } from './row.ts'

/** The most rows that one claim moves into the queue, ends, and takes over, each; the next claim goes on. */
const STEP = 500

export interface ClaimDeps {
  readonly db: DatabaseSync
  readonly payloadKeys: PayloadKeys
  readonly writer: MessageWriter
  readonly unreported: UnreportedEnds
  readonly newLeaseToken: () => string
}

/** Claims due messages, and settles on the way what needs no attempt. */
export function createClaim(deps: ClaimDeps): (call: CallArguments<'claim'>) => CallResult<'claim'> {
  const { db, unreported } = deps
  const promote = db.prepare(PROMOTE)
  const takeOverLost = createTakeOverLost(deps)
  const expireOutlived = createExpireOutlived(deps)
  const claimDue = createClaimDue(deps)
  const nextDueAt = createNextDueAt(db)
  return call => {
    const { channel, now } = call
    const settled = [
      ...unreported.take(channel),
      ...takeOverLost(channel, now),
      ...expireOutlived(channel, now),
    ]
    for (const rank of [0, 1]) promote.run(channel, rank, now)
    const { messages, ended } = claimDue(call)
    return { messages, settled: [...settled, ...ended], nextDueAt: nextDueAt(channel, now) }
  }
}

/** Makes the function that takes over the messages whose lease ran out. It returns those that end by that. */
function createTakeOverLost({ db, writer }: ClaimDeps) {
  const lost = db.prepare(LOST)
  return (channel: Channel, now: number): SettledByStore[] =>
    lost.all(channel, now).flatMap(found => {
      const row = rowOf(found)
      const { state } = writer.takeOver(row, now)
      return isLive(state) ? [] : [toSettled(row, state)]
    })
}

/** Makes the function that ends the messages whose life is over. */
function createExpireOutlived({ db, writer }: ClaimDeps) {
  const outlived = db.prepare(OUTLIVED)
  return (channel: Channel, now: number): SettledByStore[] =>
    outlived.all(channel, now).map(found => expireMessage(writer, rowOf(found), now))
}

function expireMessage(writer: MessageWriter, row: Row, now: number): SettledByStore {
  const state = stateAtExpiry(row.ambiguous)
  writer.end(row, state, now)
  return toSettled(row, state)
}

/** Makes the function that claims the first messages of the queue; those that cannot be sent are ended instead. */
function createClaimDue({ db, payloadKeys, writer, newLeaseToken }: ClaimDeps) {
  const oldest = db.prepare(OLDEST_DUE)
  const due = {
    'oldest-first': db.prepare(`${DUE} ORDER BY seq LIMIT ?`),
    'newest-first': db.prepare(`${DUE} ORDER BY seq DESC LIMIT ?`),
  }

  function readDue(channel: Channel, limit: number, now: number) {
    const found: Record<string, SQLOutputValue>[] = []
    for (const rank of [0, 1]) {
      if (found.length >= limit) break
      const first = oldest.get(channel, rank)
      if (first === undefined) continue
      const order = claimOrder(Number(first['due_at']), now)
      found.push(...due[order].all(channel, rank, limit - found.length))
    }
    return found
  }

  return ({ channel, limit, leaseMs, now }: CallArguments<'claim'>) => {
    const messages: ClaimedMessage[] = []
    const ended: SettledByStore[] = []
    for (const found of readDue(channel, limit, now)) {
      const row = rowOf(found)
      if (row.expiresAt <= now) {
        // More messages are past their life than one step ends: those at the front of the queue are ended here.
        ended.push(expireMessage(writer, row, now))
        continue
      }
      const payload = tryDecrypt(payloadKeys, row.id, found['payload'])
      if (payload === null) {
        // Its content was damaged on disk. If it stayed in the queue, it would be claimed again for ever.
        writer.changeState(row, stateAtEnd(row, 'refused', 'content'), now, [storeRecord('unreadable', now)])
        ended.push(toSettled(row, 'refused'))
        continue
      }
      const lease = { token: newLeaseToken(), until: now + leaseMs }
      const attempts = writer.claim(row, lease)
      const purpose = found['purpose'] as Purpose
      const masked = found['masked_recipient'] as string
      messages.push(toClaimedMessage(row, row.timeline, { ...payload, purpose, masked, lease, attempts }))
    }
    return { messages, ended }
  }
}

/** Makes the function that says when a channel is to be claimed again at the latest; null: nothing waits. */
function createNextDueAt(db: DatabaseSync) {
  const anyDue = db.prepare('SELECT 1 FROM messages WHERE ready = 1 AND channel = ? LIMIT 1')
  const nextWaiting = db.prepare(
    'SELECT min(due_at) AS at FROM messages WHERE ready = 0 AND channel = ? AND rank = ?',
  )
  const nextLease = db.prepare(
    'SELECT min(lease_until) AS at FROM messages WHERE channel = ? AND lease_until IS NOT NULL',
  )
  return (channel: Channel, now: number): number | null => {
    if (anyDue.get(channel) !== undefined) return now
    const times = [nextWaiting.get(channel, 0), nextWaiting.get(channel, 1), nextLease.get(channel)]
      .map(row => row?.['at'])
      .filter(at => typeof at === 'number')
    return times.length === 0 ? null : Math.max(now, Math.min(...times))
  }
}

function toSettled({ id, channel, kind }: Row, state: SettledByStore['state']): SettledByStore {
  return { id, state, channel, kind }
}

const LOST = `
  SELECT ${ROW_COLUMNS} FROM messages WHERE channel = ? AND lease_until <= ? ORDER BY lease_until LIMIT ${STEP}`
const OUTLIVED = `
  SELECT ${ROW_COLUMNS} FROM messages WHERE ready IS NOT NULL AND channel = ? AND expires_at <= ?
  ORDER BY expires_at LIMIT ${STEP}`
const PROMOTE = `
  UPDATE messages SET ready = 1 WHERE seq IN
    (SELECT seq FROM messages WHERE ready = 0 AND channel = ? AND rank = ? AND due_at <= ? ORDER BY due_at LIMIT ${STEP})`
const DUE = `
  SELECT ${ROW_COLUMNS}, purpose, masked_recipient, payload FROM messages WHERE ready = 1 AND channel = ? AND rank = ?`
const OLDEST_DUE =
  'SELECT due_at FROM messages WHERE ready = 1 AND channel = ? AND rank = ? ORDER BY seq LIMIT 1'
