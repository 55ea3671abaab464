import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import {
  acceptMessages,
  cancelMessage,
  claimMessages,
  duplicateKey,
  endOutlived,
  type KnownMessages,
  keepReport,
  recipientsToLookUp,
  retryMessage,
  settleMessage,
  takeOver,
} from '../decide.ts'
import { encryptPayload, type PayloadKeys } from '../encryption.ts'
import { DUE_COLUMNS, type DueMessage, dueMessageOf, ROW_COLUMNS, type Row, rowOf } from '../message-row.ts'
import type { Takes } from '../operations.ts'
import type { Acceptance, DeliveryReport, NewEvent } from '../outbox.ts'
import { KNOWN_AGAIN, KNOWN_MS, startOfWindow } from '../quota.ts'
import { bounceNote, chooseDue, type DueEntry, type DueQuestion, SEEN_LATER } from '../rules.ts'
import { changesOf, newColumnsOf, takeEnded, type UnitOfWork } from '../unit-of-work.ts'
import type { Memos } from './side-tables.ts'

/** The most rows that one claim moves into the queue, ends, and takes over, each; the next claim goes on. */
const STEP = 500
const DAY_MS = 24 * 3_600_000
/** The most of one destination that a claim moves into the queue, where the step above was not enough. */
const PROMOTED_EACH = 20

interface MessageDeps {
  readonly db: DatabaseSync
  readonly payloadKeys: PayloadKeys
  readonly maxBacklog: number
  readonly newLeaseToken: () => string
  /** Live messages, committed ones only. */
  readonly backlog: () => number
  readonly memos: Memos
  readonly addEvent: (event: NewEvent) => void
}

/**
 * The operations on messages in the open transaction: each loads the rows that it concerns, has decide.ts change them, and
 * leaves the changes in the unit of work, which `apply` writes.
 */
export function createMessages(deps: MessageDeps) {
  const { db, maxBacklog } = deps
  const apply = createApply(deps)
  const loadKnown = createLoadKnown(deps)
  const claimed = db.prepare(`${BY_ID} AND m.state = 'sending' AND m.lease_token = ?2`)
  const begin = db.prepare(BEGIN)
  const waiting = db.prepare(`${BY_ID} AND m.state = 'queued' AND m.expires_at > ?2`)
  const findReported = createFindReported(db)
  return {
    apply,
    operations: {
      accept: ({ messages }: Takes<'accept'>, work: UnitOfWork) =>
        acceptMessages(work, loadKnown(messages, work.now), messages, maxBacklog),
      claim: createClaim(deps, apply),
      beginAttempt: ({ id, token, provider }: Takes<'beginAttempt'>) =>
        begin.run(id, token, provider ?? null).changes === 1 ? undefined : ('outdated' as const),
      settle: ({ id, token, settlement }: Takes<'settle'>, work: UnitOfWork) =>
        settleMessage(work, rowFrom(claimed.get(id, token)), settlement),
      writeReceipt(report: Takes<'writeReceipt'>, work: UnitOfWork) {
        const row = findReported(report)
        const noted =
          report.recipients === undefined || row === undefined ? [] : [bounceNote(row.recipientHash)]
        return keepReport(work, row, report, deps.memos.read(noted))
      },
      retryMessage: ({ id, now }: Takes<'retryMessage'>, work: UnitOfWork) =>
        retryMessage(work, rowFrom(waiting.get(id, now))),
      cancelMessage: ({ id, now }: Takes<'cancelMessage'>, work: UnitOfWork) =>
        cancelMessage(work, rowFrom(waiting.get(id, now))),
    },
  }
}

function rowFrom(read: Record<string, SQLOutputValue> | undefined): Row | undefined {
  return read === undefined ? undefined : rowOf(read)
}

/** Makes the function that reads the newest duplicates of new messages, the live codes of their groups, and who was sent to before. */
function createLoadKnown({ db, backlog }: MessageDeps) {
  const newestDuplicate = db.prepare(NEWEST_DUPLICATE)
  const liveOfGroup = db.prepare(LIVE_OF_GROUP)
  const sentTo = db.prepare(SENT_TO)
  const knownNumber = db.prepare(
    'SELECT 1 FROM known_numbers WHERE recipient_hash = ? AND since < ? AND expires_at > ?',
  )
  return (messages: readonly Acceptance[], now: number): KnownMessages => {
    const duplicates = new Map<string, Row>()
    const groups: KnownMessages['groups'] = new Map()
    const bySeq = new Map<number, Row>()
    for (const each of messages) {
      const found = newestDuplicate.get(each.recipientHash, each.dedupeKey)
      if (found === undefined) continue
      const row = rowOf(found)
      duplicates.set(duplicateKey(each.recipientHash, each.dedupeKey), row)
      bySeq.set(row.seq, row)
    }
    for (const { groupKey } of messages) {
      if (groupKey === undefined || groups.has(groupKey)) continue
      const found = liveOfGroup.all(groupKey)
      groups.set(
        groupKey,
        found.map(each => bySeq.get(each['seq'] as number) ?? rowOf(each)),
      )
    }
    const today = startOfWindow(now, DAY_MS)
    const reached = new Set([
      ...recipientsToLookUp(messages, 'email').filter(hash => sentTo.get(hash) !== undefined),
      ...recipientsToLookUp(messages, 'sms').filter(hash => knownNumber.get(hash, today, now) !== undefined),
    ])
    return { duplicates, groups, reached, mayEnd: () => true, backlog: backlog(), again: false }
  }
}

/** Makes the function that finds the message of a delivery report: by the provider's id, or else by ours. */
function createFindReported(db: DatabaseSync): (report: DeliveryReport) => Row | undefined {
  const byProviderId = db.prepare(
    `SELECT ${ROW_COLUMNS} FROM messages m WHERE m.provider_id = ? AND m.channel = ? ORDER BY m.seq DESC LIMIT 1`,
  )
  const byId = db.prepare(`${BY_ID} AND m.channel = ?2`)
  return ({ channel, providerId, id }) =>
    rowFrom(
      byProviderId.get(providerId ?? null, channel) ?? (id === undefined ? undefined : byId.get(id, channel)),
    )
}

/** Makes the function that claims due messages, and settles on the way what needs no attempt. */
function createClaim({ db, payloadKeys, newLeaseToken }: MessageDeps, apply: (work: UnitOfWork) => void) {
  const lost = db.prepare(LOST)
  const outlived = db.prepare(OUTLIVED)
  const promote = createPromote(db)
  const readDue = createReadDue(db, payloadKeys)
  const lookAt = createLookAt(db)
  return (call: Takes<'claim'>, work: UnitOfWork) => {
    const { channel, leaseMs, now, codesOnly } = call
    const passOver = new Set(call.passOver)
    const { nextChangeAt, ...seen } = lookAt(channel, now, passOver)
    // Most claims of a service that is idle find nothing, and change nothing.
    const next = codesOnly ? seen.nextCodeAt : seen.nextDueAt
    if ((next ?? Infinity) > now && nextChangeAt > now)
      return { messages: [], settled: takeEnded(work.ended, channel), ...seen }
    for (const row of lost.all(channel, now).map(rowOf)) takeOver(work, row)
    apply(work)
    for (const row of outlived.all(channel, now).map(rowOf)) endOutlived(work, row)
    apply(work)
    for (const rank of [0, 1]) promote(channel, rank, now, passOver)
    const newLease = () => ({ token: newLeaseToken(), until: now + leaseMs })
    const messages = claimMessages(work, readDue(call, passOver), newLease)
    apply(work)
    const { nextDueAt, nextCodeAt } = lookAt(channel, now, passOver)
    return { messages, settled: takeEnded(work.ended, channel), nextDueAt, nextCodeAt }
  }
}

/**
 * Makes the function that lists destinations of a queue (channel, rank, readiness) but those to `skip`, each found by a step of its
 * own, however many wait there. Each time it goes on where it stopped.
 */
function createRounds(db: DatabaseSync) {
  const next = db.prepare(NEXT_DESTINATION)
  const reached = new Map<string, string>()
  return (channel: Channel, rank: number, ready: 0 | 1, skip: ReadonlySet<string>, most: number) => {
    const queue = `${channel} ${rank} ${ready}`
    const start = reached.get(queue) ?? ''
    const found: string[] = []
    let [after, until] = [start, '~']
    while (found.length < most) {
      const destination = next.get(channel, rank, ready, after, until)?.['destination'] as string | undefined
      if (destination === undefined && (until === start || start === '')) break
      // Round the end, up to where it began. None has a blank, so that one behind it makes the next text.
      if (destination === undefined) [after, until] = ['', start]
      else after = `${destination} `
      if (destination !== undefined && !skip.has(destination)) found.push(destination)
    }
    reached.set(queue, after)
    return found
  }
}

/** Makes the function that moves what is due into the queue, in steps. Where a step is not enough, each destination gets some. */
function createPromote(db: DatabaseSync) {
  const promote = db.prepare(PROMOTE)
  const promoteOf = db.prepare(PROMOTE_OF_DESTINATION)
  const goRound = createRounds(db)
  return (channel: Channel, rank: number, now: number, passOver: ReadonlySet<string>): void => {
    if (Number(promote.run(channel, rank, now).changes) < STEP) return
    for (const destination of goRound(channel, rank, 0, passOver, STEP))
      promoteOf.run(channel, rank, destination, now)
  }
}

/** Makes the function that reads the messages that a claim takes, codes first. */
function createReadDue(db: DatabaseSync, payloadKeys: PayloadKeys) {
  const ordered = (sql: string, column: string) => ({
    'oldest-first': db.prepare(`${sql} ORDER BY ${column} LIMIT ?`),
    'newest-first': db.prepare(`${sql} ORDER BY ${column} DESC LIMIT ?`),
  })
  const first = ordered(FIRST_DUE, 'seq')
  const ofDestination = ordered(DUE_OF_DESTINATION, 'due_at')
  const whole = db.prepare(WHOLE)
  const goRound = createRounds(db)

  function answer(channel: Channel, rank: number, { order, most, whose }: DueQuestion): readonly DueEntry[] {
    if (whose === undefined) return first[order].all(channel, rank, most) as unknown as DueEntry[]
    const found = 'of' in whose ? whose.of : goRound(channel, rank, 1, whose.butOf, most)
    const each = Math.ceil(most / found.length)
    return found.flatMap(to => ofDestination[order].all(channel, rank, to, each) as unknown as DueEntry[])
  }

  return (call: Takes<'claim'>, passOver: ReadonlySet<string>): readonly DueMessage[] => {
    const { channel, limit, now, codesOnly } = call
    const chosen: DueEntry[] = []
    for (const rank of codesOnly ? [0] : [0, 1]) {
      if (chosen.length === limit) break
      const choice = chooseDue(limit - chosen.length, now, passOver, call.only)
      let step = choice.next()
      while (step.done !== true) step = choice.next(answer(channel, rank, step.value))
      chosen.push(...step.value)
    }
    if (chosen.length === 0) return []
    const read = whole.all(JSON.stringify(chosen.map(({ seq }) => seq)))
    return read.map(each => dueMessageOf(each, payloadKeys))
  }
}

/**
 * Makes the function that looks at what waits in a channel: when to claim it, and its codes, again at the latest (null: nothing waits), and when a claim has
 * something to change, be it passed over: a life is over, or a message becomes due. ms since the epoch.
 */
function createLookAt(db: DatabaseSync) {
  const look = db.prepare(LOOK)
  const waiting = db.prepare(WAITING)
  const goRound = createRounds(db)

  return (channel: Channel, now: number, passOver: ReadonlySet<string>) => {
    const { due, lease, expiry, code, other } = look.get(channel) ?? {}
    const [codeAt, otherAt] = [code, other].map((first, rank) => {
      const isDue = due !== null && goRound(channel, rank, 1, passOver, 1).length > 0
      return isDue ? now : passOver.size === 0 ? first : firstOf(rank)
    })
    return {
      nextDueAt: momentOf(earliest(lease, codeAt, otherAt)),
      nextCodeAt: momentOf(earliest(lease, codeAt)),
      nextChangeAt: earliest(code, other, expiry),
    }

    function momentOf(at: number): number | null {
      return at === Infinity ? null : Math.max(now, at)
    }

    /** Where all that is looked at is passed over, the last of it: what is behind it is later. */
    function firstOf(rank: number) {
      const first = waiting.all(channel, rank, SEEN_LATER)
      const free = first.find(({ destination }) => !passOver.has(String(destination)))
      return (free ?? first[SEEN_LATER - 1])?.['due_at']
    }
  }
}

/** Infinity: there is none. */
function earliest(...times: readonly unknown[]): number {
  return Math.min(...times.filter(at => typeof at === 'number'))
}

/**
 * Makes the function that writes a unit of work in the open transaction, and empties it of what is written. Values are bound by
 * position: by name the store takes 5 µs more a message.
 */
function createApply({
  db,
  payloadKeys,
  memos: { write: writeMemo },
  addEvent,
}: MessageDeps): (work: UnitOfWork) => void {
  let insert: StatementSync | undefined
  let change: StatementSync | undefined
  const writeKnown = db.prepare(
    `INSERT INTO known_numbers AS known (recipient_hash, since, expires_at) VALUES (?, ?, ?) ${KNOWN_AGAIN}`,
  )
  const keepReceipt = db.prepare(
    'UPDATE messages SET receipt = ?, provider_id = coalesce(provider_id, ?) WHERE seq = ?',
  )

  function insertRow(row: Row, acceptance: Acceptance, now: number): void {
    const { recipient, content } = acceptance.message
    const columns = newColumnsOf(row, acceptance, now)
    insert ??= db.prepare(insertOf(Object.keys(columns)))
    // What has ended already leaves none.
    const payload = row.finalAt === null ? encryptPayload(payloadKeys, row.id, { recipient, content }) : null
    row.seq = Number(insert.run(...Object.values(columns).map(asValue), payload).lastInsertRowid)
  }

  /** With the end of a message its content goes, and where it went. */
  function changeRow(row: Row, now: number): void {
    const columns = changesOf(row, now)
    change ??= db.prepare(changeOf(Object.keys(columns)))
    change.run(...Object.values(columns).map(asValue), row.seq ?? null)
  }

  return ({ now, stored, changed, receipts, memos, known, events }) => {
    for (const { row, acceptance } of stored) insertRow(row, acceptance, now)
    for (const row of changed) changeRow(row, now)
    for (const [{ seq = null }, { receipt, providerId }] of receipts)
      keepReceipt.run(JSON.stringify(receipt), providerId, seq)
    for (const memo of memos) writeMemo(memo)
    for (const hash of known) writeKnown.run(hash, now, now + KNOWN_MS)
    for (const event of events) addEvent(event)
    for (const list of [stored, memos, events]) list.length = 0
    for (const each of [changed, receipts, known]) each.clear()
  }
}

/** @param value of a column. */
function asValue(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return Number(value)
  return Array.isArray(value) ? JSON.stringify(value) : ((value ?? null) as SQLInputValue)
}

function insertOf(names: readonly string[]): string {
  return `INSERT INTO messages (${names.join(', ')}, payload) VALUES (${names.map(() => '?').join(', ')}, ?)`
}

function changeOf(names: readonly string[]): string {
  return `UPDATE messages SET ${names.map(name => `${name} = ?`).join(', ')},
    payload = CASE WHEN ?${names.indexOf('final_at') + 1} IS NULL THEN payload END,
    destination = CASE WHEN ?${names.indexOf('final_at') + 1} IS NULL THEN destination ELSE '' END WHERE seq = ?`
}

const OF_ID = 'WHERE substr(m.id, 1, 16) = substr(?1, 1, 16) AND m.id = ?1'
const BY_ID = `SELECT ${ROW_COLUMNS} FROM messages m ${OF_ID}`
const BEGIN = `
  UPDATE messages AS m SET begun = 1, attempted_by = ?3 ${OF_ID}
  AND m.lease_token = ?2 AND m.state = 'sending' AND NOT m.outdated`
const NEWEST_DUPLICATE = `
  SELECT ${ROW_COLUMNS} FROM messages m
  WHERE substr(m.recipient_hash, 1, 8) = substr(?1, 1, 8) AND substr(m.dedupe_key, 1, 8) = substr(?2, 1, 8)
    AND m.recipient_hash = ?1 AND m.dedupe_key = ?2 ORDER BY m.seq DESC LIMIT 1`
const LIVE_OF_GROUP = `
  SELECT ${ROW_COLUMNS} FROM messages m
  WHERE substr(m.group_key, 1, 8) = substr(?1, 1, 8) AND m.group_key = ?1 AND m.final_at IS NULL`
const SENT_TO = `
  SELECT 1 FROM messages m
  WHERE substr(m.recipient_hash, 1, 8) = substr(?1, 1, 8) AND m.recipient_hash = ?1 AND m.state = 'sent' LIMIT 1`
const LOST = `
  SELECT ${ROW_COLUMNS} FROM messages m WHERE m.channel = ? AND m.lease_until <= ? ORDER BY m.lease_until LIMIT ${STEP}`
const OUTLIVED = `
  SELECT ${ROW_COLUMNS} FROM messages m WHERE m.ready IS NOT NULL AND m.channel = ? AND m.expires_at <= ?
  ORDER BY m.expires_at LIMIT ${STEP}`
const PROMOTE = `
  UPDATE messages SET ready = 1 WHERE seq IN
    (SELECT seq FROM messages WHERE ready = 0 AND channel = ? AND rank = ? AND due_at <= ? ORDER BY due_at LIMIT ${STEP})`
const PROMOTE_OF_DESTINATION = `
  UPDATE messages SET ready = 1 WHERE seq IN (SELECT seq FROM messages INDEXED BY message_destination
    WHERE channel = ? AND rank = ? AND ready = 0 AND destination = ? AND due_at <= ? ORDER BY due_at LIMIT ${PROMOTED_EACH})`
const NEXT_DESTINATION = `
  SELECT destination FROM messages INDEXED BY message_destination
  WHERE channel = ? AND rank = ? AND ready = ? AND destination >= ? AND destination < ? ORDER BY destination LIMIT 1`
const WHOLE = `
  SELECT ${DUE_COLUMNS} FROM json_each(?) AS chosen CROSS JOIN messages m WHERE m.seq = chosen.value`
const FIRST_DUE = `
  SELECT seq, destination, due_at AS dueAt FROM messages INDEXED BY message_due WHERE ready = 1 AND channel = ? AND rank = ?`
const DUE_OF_DESTINATION = `
  SELECT seq, destination, due_at AS dueAt FROM messages INDEXED BY message_destination
  WHERE channel = ? AND rank = ? AND ready = 1 AND destination = ?`
const WAITING = `
  SELECT due_at, destination FROM messages WHERE ready = 0 AND channel = ? AND rank = ? ORDER BY due_at LIMIT ?`
const LOOK = `
  SELECT (SELECT 1 FROM messages WHERE ready = 1 AND channel = ?1 LIMIT 1) AS due,
    (SELECT min(due_at) FROM messages WHERE ready = 0 AND channel = ?1 AND rank = 0) AS code,
    (SELECT min(due_at) FROM messages WHERE ready = 0 AND channel = ?1 AND rank = 1) AS other,
    (SELECT min(lease_until) FROM messages WHERE channel = ?1 AND lease_until IS NOT NULL) AS lease,
    (SELECT min(expires_at) FROM messages WHERE ready IS NOT NULL AND channel = ?1) AS expiry`
