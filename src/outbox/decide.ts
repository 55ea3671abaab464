import type { Channel } from '../messages/message.ts'
import type { MessagePayload } from './encryption.ts'
import type { DueMessage, Row } from './message-row.ts'
import {
  type Acceptance,
  type Accepted,
  BacklogFull,
  type Charge,
  type ClaimedMessage,
  type DeliveryReport,
  type KeptReport,
  type Lease,
  type ReportFault,
  type Settled,
  type Settlement,
} from './outbox.ts'
import { isLaterReceipt } from './receipt-order.ts'
import {
  afterLostLease,
  afterNewerCode,
  afterSettlement,
  answerForDuplicate,
  BOUNCES_KEPT_MS,
  bounceNote,
  isUndelivered,
  lostLeaseRecord,
  providerOfCopy,
  stateAtEnd,
  stateAtExpiry,
  storeRecord,
} from './rules.ts'
import { changeState, endMessage, noteEnd, storeMessage, type UnitOfWork } from './unit-of-work.ts'

/**
 * What each operation makes of the messages that it concerns, once for both stores. A store loads the rows, calls one of these
 * functions, and writes what the unit of work then holds. Nothing here waits, reads a clock or knows a database.
 */

/** The stored messages that new ones may be duplicates of, or supersede. The new ones of the unit of work are added. */
export interface KnownMessages {
  /** The newest message of each recipient and dedupe key, under its `duplicateKey`. */
  readonly duplicates: Map<string, Row>
  /** The live codes of each group. A row that is in both maps is the same object. */
  readonly groups: Map<string | null, readonly Row[]>
  /** Hashes of recipients that are no newcomers, of those that `recipientsToLookUp` lists. */
  readonly reached: ReadonlySet<string>
  /** Says whether this transaction may change a duplicate: on a shared store, whether it has its lock. */
  readonly mayEnd: (row: Row) => boolean
  /** Live messages without those of the unit of work. */
  readonly backlog: number
  /** Whether the same calls were tried before, and the answer to their commit was lost. */
  readonly again: boolean
}

/** Names a message and its duplicates: both hashes joined by a blank, which neither can hold. */
export function duplicateKey(recipientHash: string, dedupeKey: string): string {
  return `${recipientHash} ${dedupeKey}`
}

/** Says whether a message is to be stored, as far as its duplicates go. */
export function isNew(known: KnownMessages, acceptance: Acceptance, now: number): boolean {
  const duplicate = known.duplicates.get(duplicateKey(acceptance.recipientHash, acceptance.dedupeKey))
  if (duplicate === undefined) return true
  const answered = answerForDuplicate(duplicate, now, acceptance)
  return answered === null || answered === 'outlived'
}

/** Lists the hashes of a channel's recipients whom a charge counts only as newcomers: whether they are must be looked up. */
export function recipientsToLookUp(messages: readonly Acceptance[], channel: Channel): readonly string[] {
  return messages
    .filter(({ message, charges }) => message.channel === channel && charges.some(each => each.newcomersOnly))
    .map(({ recipientHash }) => recipientHash)
}

/** Lists what a message is to be counted by. */
export function dueCharges(
  reached: KnownMessages['reached'],
  { charges, recipientHash }: Acceptance,
): readonly Charge[] {
  return reached.has(recipientHash) ? charges.filter(({ newcomersOnly }) => !newcomersOnly) : charges
}

/** Accepts the messages of one callback, each judged by itself (duplicate, quota, group), or none of them. */
export function acceptMessages(
  work: UnitOfWork,
  known: KnownMessages,
  messages: readonly Acceptance[],
  maxBacklog: number,
): readonly Accepted[] | BacklogFull {
  const { email, sms } = work.counts.live()
  const live = known.backlog + email + sms
  const added = messages.filter(each => !each.held && isNew(known, each, work.now)).length
  // A call that stores nothing always fits, however many wait.
  if (added > 0 && live + added > maxBacklog)
    return new BacklogFull(`${maxBacklog} messages are waiting already`)
  return messages.map(each => acceptMessage(work, known, each))
}

function acceptMessage(work: UnitOfWork, known: KnownMessages, acceptance: Acceptance): Accepted {
  const duplicate = known.duplicates.get(duplicateKey(acceptance.recipientHash, acceptance.dedupeKey))
  const answered = duplicate === undefined ? null : answerOfDuplicate(work, known, acceptance, duplicate)
  if (answered !== null) return answered
  if (acceptance.held) {
    const row = storeMessage(work, acceptance, [])
    endMessage(work, row, 'held', null, [storeRecord('held', work.now)])
    known.duplicates.set(duplicateKey(acceptance.recipientHash, acceptance.dedupeKey), row)
    return { is: 'held' }
  }
  const charged = work.quotas.charge(dueCharges(known.reached, acceptance), work.now)
  if (charged.is === 'over-quota') return charged
  const { groupKey } = acceptance
  const group = groupKey === undefined ? [] : (known.groups.get(groupKey) ?? [])
  const superseded = supersedeOlder(work, group)
  const row = storeMessage(work, acceptance, charged.windows)
  known.duplicates.set(duplicateKey(acceptance.recipientHash, acceptance.dedupeKey), row)
  if (groupKey !== undefined) known.groups.set(groupKey, [...group, row])
  const { nearing, newcomers } = charged
  const told = { ...(nearing.length > 0 && { nearing }), ...(newcomers !== undefined && { newcomers }) }
  return { is: 'stored', superseded, ...told }
}

function answerOfDuplicate(
  work: UnitOfWork,
  known: KnownMessages,
  acceptance: Acceptance,
  duplicate: Row,
): Accepted | null {
  // An earlier try of this very call has stored it, and the answer to its commit was lost.
  if (known.again && duplicate.id === acceptance.message.id)
    return acceptance.held ? { is: 'held' } : { is: 'stored', superseded: [] }
  const answered = answerForDuplicate(duplicate, work.now, acceptance)
  if (answered !== 'outlived') return answered
  // Another process put it back into the queue after we had read it, and will end it.
  if (!known.mayEnd(duplicate)) return { is: 'in-progress', id: duplicate.id }
  endOutlived(work, duplicate)
  // It may have been sent after all; then it answers for its repetition.
  return answerOfDuplicate(work, known, acceptance, duplicate)
}

/** Ends the older codes of a group, and marks the one that is being sent. @returns the ids of those that end now. */
function supersedeOlder(work: UnitOfWork, group: readonly Row[]): readonly string[] {
  const superseded: string[] = []
  for (const older of group) {
    const effect = afterNewerCode(older.state)
    if (effect === null) continue
    if (effect === 'outdated') {
      older.outdated = true
      work.changed.add(older)
    } else {
      endMessage(work, older, 'superseded')
      superseded.push(older.id)
    }
  }
  return superseded
}

/** Ends a message whose life is over. */
export function endOutlived(work: UnitOfWork, row: Row): void {
  endMessage(work, row, stateAtExpiry(row.ambiguous))
  noteEnd(work, row)
}

/** Takes over a message whose lease ran out, or whose process died. */
export function takeOver(work: UnitOfWork, row: Row): void {
  const { now } = work
  changeState(work, row, afterLostLease(row, now, row.outdated), [
    lostLeaseRecord(row.begun, row.attemptedBy, now),
  ])
  noteEnd(work, row)
}

/** Gives back a message that was claimed and that nobody sends: as if it had not been claimed. */
export function giveBack(work: UnitOfWork, row: Row): void {
  const settlement = { to: 'queued', dueAt: work.now, uncounted: true } as const
  changeState(work, row, afterSettlement(row, settlement, row.outdated))
  noteEnd(work, row)
}

/** Claims the due messages, each under a lease of its own; those that nobody can send end instead. */
export function claimMessages(
  work: UnitOfWork,
  due: readonly DueMessage[],
  newLease: () => Lease,
): readonly ClaimedMessage[] {
  const claimed: ClaimedMessage[] = []
  for (const { row, payload, destination } of due) {
    if (row.expiresAt <= work.now) {
      // More messages are past their life than one step ends: those at the front of the queue are ended here.
      endOutlived(work, row)
    } else if (payload === null) {
      // Its content was damaged on disk. If it stayed in the queue, it would be claimed again for ever.
      endMessage(work, row, 'refused', 'content', [storeRecord('unreadable', work.now)])
      noteEnd(work, row)
    } else {
      const lease = newLease()
      takeLease(work, row, lease)
      claimed.push(claimedMessage(row, { ...payload, destination }, lease))
    }
  }
  return claimed
}

function takeLease(work: UnitOfWork, row: Row, lease: Lease): void {
  const { attempts, ambiguous } = row
  // The attempt counts from the beginning.
  changeState(work, row, { state: 'sending', answer: null, attempts: attempts + 1, ambiguous, dueAt: null })
  row.leaseToken = lease.token
  row.leaseUntil = lease.until
  row.begun = false
  row.attemptedBy = null
}

function claimedMessage(
  row: Row,
  stored: MessagePayload & Pick<ClaimedMessage, 'destination'>,
  lease: Lease,
): ClaimedMessage {
  const { id, channel, kind, purpose, masked, arrivedAt, expiresAt, attempts, ambiguous } = row
  const groupKey = row.groupKey ?? undefined
  const message = { id, channel, kind, purpose, masked, arrivedAt, expiresAt, ...stored }
  const claimed = { ...message, lease, attempts, ambiguous, groupKey }
  return ambiguous === 0 ? claimed : { ...claimed, ambiguousAt: providerOfCopy(row.timeline ?? []) }
}

/**
 * Writes the end of an attempt.
 * @param row that the lease is on; undefined: it is on none any more.
 * @param isRepeated an earlier try of this call may have settled it; then what that has written is returned.
 */
export function settleMessage(
  work: UnitOfWork,
  row: Row | undefined,
  settlement: Settlement,
  isRepeated = false,
): Settled {
  if (row === undefined) return { state: 'lost' }
  if (row.state !== 'sending') {
    // What this unit of work has changed was settled by another call in it: this one came too late.
    if (!isRepeated || work.changed.has(row)) return { state: 'lost' }
    return { state: row.state, answer: row.answer }
  }
  const providerId = settlement.to === 'final' ? settlement.providerId : undefined
  const next = afterSettlement(row, settlement, row.outdated)
  changeState(work, row, next, settlement.records, providerId)
  if (settlement.to === 'final' && settlement.delivered && next.state === 'sent') noteDelivered(work, row)
  return { state: next.state, answer: next.answer }
}

/**
 * Keeps a delivery report with its message, unless it is an older one that came late.
 * @param row undefined: it is on none of ours.
 * @param notes what is noted of the recipients of mails that came back, under {@link bounceNote}.
 * @param isRepeated an earlier try of this call may have kept it.
 */
export function keepReport(
  work: UnitOfWork,
  row: Row | undefined,
  { status, errorCode, fault, reply, happenedAt, at, providerId, recipients }: DeliveryReport,
  notes: Map<string, string> = new Map(),
  isRepeated = false,
): KeptReport {
  if (row === undefined) return { is: 'unknown' }
  // Whoever reports on a mail must know whom it was for.
  if (recipients !== undefined && !recipients.includes(row.recipientHash)) return { is: 'unknown' }
  const { kind, masked, recipientHash: recipient, country, arrivedAt } = row
  const recorded = { is: 'recorded', kind, masked, recipient, country, arrivedAt } as const
  const isNewer = row.receiptHappenedAt !== null && (happenedAt ?? 0) > Number(row.receiptHappenedAt)
  if (!isLaterReceipt(row.receiptStatus, status, isNewer)) {
    // What this unit of work has kept is an earlier report.
    const isKept = isRepeated && row.receiptStatus === status && !work.receipts.has(row)
    return isKept ? recorded : { is: 'stale' }
  }
  const said = { ...(fault && { fault }), ...(reply && { reply }), ...(happenedAt && { happenedAt }) }
  const receipt = { status, errorCode, ...said, at }
  row.receiptStatus = status
  row.receiptHappenedAt = happenedAt ?? null
  row.reported = true
  const wasUndelivered = row.undelivered
  row.undelivered = isUndelivered({ status, fault })
  if (row.undelivered !== wasUndelivered) work.counts.addEnd(row, 'undelivered', row.undelivered ? 1 : -1)
  // The next report of this unit of work may name it by this id alone, or not bring the id.
  row.providerId ??= providerId ?? null
  work.receipts.set(row, { receipt, providerId: work.receipts.get(row)?.providerId ?? providerId ?? null })
  // The report comes first: it is what ends the message.
  if (work.keepsEvents) work.events.push({ type: 'message.reported', at, message: row.id, data: receipt })
  // While it is being sent, the end of its attempt decides.
  if (row.state === 'queued' && row.ambiguous > 0) {
    changeState(work, row, stateAtEnd(row, 'sent'), [storeRecord('reported', at)], providerId)
    noteEnd(work, row)
  }
  if (status === 'delivered' || status === 'read') noteDelivered(work, row)
  if (row.channel === 'email' && status === 'undelivered') noteBounce(work, row, fault, at, notes)
  return recorded
}

function noteDelivered({ known }: UnitOfWork, { channel, recipientHash }: Row): void {
  if (channel === 'sms') known.add(recipientHash)
}

/** Counts a mail that came back, and notes when the first and the latest two to its recipient did. */
function noteBounce(
  work: UnitOfWork,
  row: Row,
  fault: ReportFault | undefined,
  at: number,
  notes: Map<string, string>,
): void {
  work.counts.addBounce(at)
  if (fault?.verdict !== 'recipient') return
  const name = bounceNote(row.recipientHash)
  const noted = JSON.parse(notes.get(name) ?? '[]') as readonly number[]
  const before = noted.filter(time => at - time <= BOUNCES_KEPT_MS)
  const value = JSON.stringify([...before.toSpliced(1, before.length - 2), at])
  notes.set(name, value)
  work.memos.push({ name, value, expiresAt: at + BOUNCES_KEPT_MS })
}

/** Makes a message that waits due now. @param row undefined: none waits. */
export function retryMessage(work: UnitOfWork, row: Row | undefined): boolean {
  if (row === undefined) return false
  const { attempts, ambiguous } = row
  changeState(work, row, { state: 'queued', answer: null, attempts, ambiguous, dueAt: work.now })
  return true
}

/** Ends a message that waits, as an operator asked. @param row undefined: none waits. */
export function cancelMessage(work: UnitOfWork, row: Row | undefined): boolean {
  if (row === undefined) return false
  endMessage(work, row, 'superseded', null, [storeRecord('cancelled', work.now)])
  return true
}
