import { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../src/messages/message.ts'
import type { AttemptRecord, State } from '../../src/outbox/outbox.ts'
import type { Answered } from './driver.ts'

/** A message as its recipient's side got it. */
export interface Arrival {
  readonly channel: Channel
  readonly to: string
  readonly code: string
  /** Of the Message-ID; an SMS has none. */
  readonly id: string | undefined
  /** ms since the epoch. */
  readonly at: number
}

/** A message as the store has it. */
export interface Row {
  readonly id: string
  readonly channel: Channel
  readonly state: State
  readonly attempts: number
  readonly ambiguous: number
  readonly arrivedAt: number
  readonly expiresAt: number
  readonly recipientHash: string
  readonly timeline: readonly AttemptRecord[]
}

/** Reads every message of a store that no process holds. */
export function readRows(path: string): readonly Row[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db
      .prepare('SELECT * FROM messages ORDER BY seq')
      .all()
      .map(row =>
        rowOf(
          row,
          row['timeline'] === null ? [] : (JSON.parse(String(row['timeline'])) as readonly AttemptRecord[]),
        ),
      )
  } finally {
    db.close()
  }
}

/** A row of either store, whose columns have the same names. @param timeline as the store gives it, read. */
export function rowOf(row: Readonly<Record<string, unknown>>, timeline: readonly AttemptRecord[]): Row {
  return {
    id: String(row['id']),
    channel: row['channel'] as Channel,
    state: row['state'] as State,
    attempts: Number(row['attempts']),
    ambiguous: Number(row['ambiguous']),
    arrivedAt: Number(row['arrived_at']),
    expiresAt: Number(row['expires_at']),
    recipientHash: String(row['recipient_hash']),
    timeline,
  }
}

/** What answers, arrivals and the store say together. */
export interface Judgement {
  /** Callbacks answered 0, answered otherwise, not answered at all. */
  readonly answered: number
  readonly refused: number
  readonly unanswered: number
  /** Of those answered 0: that arrived, that arrived twice, that ended nowhere. */
  readonly delivered: number
  readonly duplicated: number
  /** Arrivals beyond the first of each message. */
  readonly copies: number
  readonly lost: number
  /** Messages with an ambiguous attempt on record; those of them that ended unknown, and did not arrive. */
  readonly ambiguous: number
  readonly unknown: number
  readonly unknownNotArrived: number
  readonly states: Readonly<Partial<Record<State, number>>>
  /** Each message that was asked for. */
  readonly messages: readonly JudgedMessage[]
  /** Every breach of the five promises, in words. Empty: none. */
  readonly breaches: readonly string[]
}

export interface JudgedMessage {
  readonly posts: readonly Answered[]
  /** At least one of its posts was answered 0. */
  readonly promised: boolean
  /** How often it arrived. */
  readonly copies: number
  readonly row: Row | undefined
  readonly lost: boolean
}

export interface Evidence {
  readonly answers: readonly Answered[]
  readonly arrivals: readonly Arrival[]
  readonly rows: readonly Row[]
  readonly recipientHash: (channel: Channel, recipient: string) => string
}

/** How far the sinks' clock may be ahead of the service's. */
const CLOCK_SLACK_MS = 50
const MOST_COPIES = { email: 4, sms: 2 }
const LIVE: readonly State[] = ['queued', 'sending']
/** States that say that nothing was sent, unless an attempt was ambiguous. */
const UNSENT: readonly State[] = ['expired', 'superseded', 'refused']

/**
 * Joins what was answered with what arrived and with what the store says, and looks for breaches of:
 *
 * - I1 nothing answered 0 is lost: it ends, visibly
 * - I2 each copy beyond the first follows an attempt that is on record as ambiguous, with the same Message-ID; four of a
 *   mail and two of an SMS in all at most
 * - I3 nothing arrives after its validity
 * - I5 never 0 without a commit: a message answered 0 has a row
 *
 * Everything must have come to rest. Messages are known by channel, recipient and code; those of one recipient are
 * matched with rows in the order in which they were first posted.
 */
export function judge({ answers, arrivals, rows, recipientHash }: Evidence): Judgement {
  const breaches: string[] = []
  const arrived = grouped(arrivals, arrival => keyOf(arrival.channel, arrival.to, arrival.code))
  const asked = grouped(answers, ({ callback: { channel, to, code } }) => keyOf(channel, to, code))
  const rowOf = matchRows(answers, rows, recipientHash)
  const messages: JudgedMessage[] = []

  for (const [key, posts] of asked) {
    const got = arrived.get(key) ?? []
    const row = rowOf.get(key)
    const promised = posts.some(post => post.errCode === 0)
    const lost = promised && (row === undefined || isLost(row, got.length))
    messages.push({ posts, promised, copies: got.length, row, lost })
    if (row === undefined) {
      if (promised) breaches.push(`I5 ${key}: answered 0, and not in the store`)
      else if (got.length > 0) breaches.push(`I5 ${key}: arrived, and not in the store`)
      continue
    }
    if (lost) breaches.push(`I1 ${key}: answered 0, ${row.state} in the store, arrived ${got.length} times`)
    breaches.push(...copies(key, row, got), ...late(key, row, got))
  }
  for (const key of arrived.keys())
    if (!asked.has(key)) breaches.push(`${key}: arrived, and nobody asked for it`)

  const count = (is: (message: JudgedMessage) => boolean) => messages.filter(is).length
  return {
    answered: count(each => each.promised),
    refused: answers.filter(each => each.errCode !== 0 && each.status !== undefined).length,
    unanswered: answers.filter(each => each.status === undefined).length,
    delivered: count(each => each.promised && each.copies > 0),
    duplicated: count(each => each.copies > 1),
    copies: messages.reduce((sum, { copies }) => sum + Math.max(0, copies - 1), 0),
    lost: count(each => each.lost),
    ambiguous: rows.filter(row => ambiguousAttempts(row) > 0).length,
    unknown: rows.filter(row => row.state === 'unknown').length,
    unknownNotArrived: count(each => each.row?.state === 'unknown' && each.copies === 0),
    states: counted(rows.map(row => row.state)),
    messages,
    breaches,
  }
}

function isLost(row: Row, copies: number): boolean {
  return LIVE.includes(row.state) || (row.state === 'sent' && copies === 0)
}

/** I2, and that the state says no less than what happened. */
function copies(key: string, row: Row, got: readonly Arrival[]): string[] {
  const unsure = row.ambiguous > 0 || row.state === 'unknown'
  const recorded = ambiguousAttempts(row)
  const found: string[] = []
  if (got.length > MOST_COPIES[row.channel]) found.push(`I2 ${key}: arrived ${got.length} times`)
  if (got.length > 1 + recorded)
    found.push(`I2 ${key}: arrived ${got.length} times, ${recorded} attempts are on record as ambiguous`)
  const ids = new Set(got.map(each => each.id))
  if (ids.size > 1) found.push(`I2 ${key}: its copies have different Message-IDs`)
  if (got.some(each => each.id !== undefined && each.id !== row.id))
    found.push(`I2 ${key}: its Message-ID is not its row's`)
  if (got.length > 0 && UNSENT.includes(row.state) && !unsure)
    found.push(`I1 ${key}: arrived, but is ${row.state} in the store`)
  return found
}

function ambiguousAttempts({ timeline }: Row): number {
  return timeline.filter(({ outcome }) => outcome === 'ambiguous' || outcome === 'lease-lost').length
}

/** I3 */
function late(key: string, row: Row, got: readonly Arrival[]): string[] {
  return [
    ...got
      .filter(each => each.at > row.expiresAt + CLOCK_SLACK_MS)
      .map(each => `I3 ${key}: arrived ${each.at - row.expiresAt} ms after its validity`),
    ...row.timeline
      .filter(({ outcome, at }) => outcome !== 'lease-lost' && at >= row.expiresAt)
      .map(({ at }) => `I3 ${key}: tried ${at - row.expiresAt} ms after its validity`),
  ]
}

function matchRows(
  answers: readonly Answered[],
  rows: readonly Row[],
  recipientHash: Evidence['recipientHash'],
): Map<string, Row> {
  const byRecipient = grouped(rows, row => `${row.channel} ${row.recipientHash}`)
  const keys = new Map<string, Set<string>>()
  // A callback that was refused because it could not be stored has no row.
  const maybeStored = answers.filter(({ errCode }) => errCode === 0 || errCode === undefined)
  for (const post of maybeStored.toSorted((a, b) => a.askedAt - b.askedAt)) {
    const { channel, to, code } = post.callback
    const recipient = `${channel} ${recipientHash(channel, to)}`
    const known = keys.get(recipient) ?? new Set()
    keys.set(recipient, known.add(keyOf(channel, to, code)))
  }
  const matched = new Map<string, Row>()
  for (const [recipient, known] of keys) {
    const found = byRecipient.get(recipient) ?? []
    ;[...known].forEach((key, at) => {
      const row = found[at]
      if (row !== undefined) matched.set(key, row)
    })
  }
  return matched
}

function keyOf(channel: Channel, to: string, code: string): string {
  return `${channel} ${to} ${code}`
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

function counted<T extends string>(items: readonly T[]): Partial<Record<T, number>> {
  const counts: Partial<Record<T, number>> = {}
  for (const item of items) counts[item] = (counts[item] ?? 0) + 1
  return counts
}
