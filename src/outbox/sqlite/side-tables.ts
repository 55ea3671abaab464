import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import { DROP_STEP, eventOfRow, VIEW_COLUMNS } from '../message-row.ts'
import type { Gives, Takes } from '../operations.ts'
import type { Memo, NewEvent } from '../outbox.ts'
import { COUNTER_COLUMNS, createQuotaLedger, type QuotaCounter, type QuotaLedger } from '../quota.ts'
import { BOUNCE_NOTE, bounceNote } from '../rules.ts'
import { type CountChanges, createCountChanges } from '../unit-of-work.ts'

/** How many messages of each channel live. */
export type LiveMessages = Record<Channel, number>

/** What a transaction has counted: it is written before the commit, and left alone when the transaction is undone. */
export interface Counted {
  readonly counts: CountChanges
  readonly quotas: QuotaLedger
}

/**
 * The counters beside the messages: how many are of a minute, channel, kind and state, and how much of each quota is used. They are
 * counted in memory, so that one which many calls of a transaction share is written once.
 */
export function createCounters(db: DatabaseSync) {
  const addCount = db.prepare(
    'INSERT INTO counts (minute, channel, kind, state, count) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const addEnd = db.prepare(
    'INSERT INTO figures (quarter, channel, name, count) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const countLive = db.prepare(
    "SELECT count(*) AS n FROM messages WHERE state IN ('queued', 'sending') AND channel = ?",
  )
  const readQuota = db.prepare(`SELECT ${COUNTER_COLUMNS} FROM quota_counters WHERE name = ?`)
  const writeQuota = db.prepare(
    `INSERT INTO quota_counters (name, window_start, current, previous, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET window_start = excluded.window_start, current = excluded.current,
         previous = excluded.previous, expires_at = excluded.expires_at`,
  )
  return {
    begin: (): Counted => ({
      counts: createCountChanges(),
      quotas: createQuotaLedger(name => readQuota.get(name) as unknown as QuotaCounter | undefined),
    }),
    /** Writes what was counted, in the open transaction. */
    write({ counts, quotas }: Counted): void {
      for (const { minute, channel, kind, state, by } of counts.changes())
        addCount.run(minute, channel, kind, state, by)
      for (const { quarter, channel, name, by } of counts.ends()) addEnd.run(quarter, channel, name, by)
      for (const [name, { windowStart, current, previous, expiresAt }] of quotas.changed)
        writeQuota.run(name, windowStart, current, previous, expiresAt)
    },
    /** Counts the live messages of each channel, which takes some time when many are. */
    countLive: (): LiveMessages => ({
      email: Number(countLive.get('email')?.['n']),
      sms: Number(countLive.get('sms')?.['n']),
    }),
  }
}

/** Values kept beside the messages, in the open transaction. */
export interface Memos {
  /** Writes a memo in the place of the one of its name. */
  write(memo: Memo): void
  /** Forgets that mails to the recipient of a message came back. @returns whether anything was known. */
  forgetBounces(id: string): boolean
  read(names: readonly string[]): Map<string, string>
}

export function createMemos(db: DatabaseSync): Memos {
  const write = db.prepare(
    `INSERT INTO memos (name, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  )
  const read = db.prepare('SELECT value FROM memos WHERE name = ?')
  const forgetBounces = db.prepare(
    `DELETE FROM memos WHERE name IN (SELECT ${BOUNCE_NOTE} FROM messages WHERE substr(id, 1, 16) = substr(?1, 1, 16) AND id = ?1)`,
  )
  return {
    write: ({ name, value, expiresAt }) => void write.run(name, value, expiresAt),
    forgetBounces: id => Number(forgetBounces.run(id).changes) > 0,
    read: names =>
      new Map(
        names.flatMap(name => read.all(name).map((row): [string, string] => [name, String(row['value'])])),
      ),
  }
}

/**
 * Makes the function that removes what a recipient's messages that have ended left, in the open transaction. The memo about an alarm
 * ends with the id of its message (devices/suppression.ts).
 */
export function createForgetRecipient(db: DatabaseSync) {
  const ended =
    'FROM messages WHERE substr(recipient_hash, 1, 8) = substr(?1, 1, 8) AND recipient_hash = ?1 AND final_at IS NOT NULL'
  const deleteMemos = db.prepare(
    `DELETE FROM memos WHERE name = ?2 OR substr(value, length(value) - 33, 32) IN (SELECT id ${ended})`,
  )
  const deleteKnown = db.prepare('DELETE FROM known_numbers WHERE recipient_hash = ?')
  const deleteEnded = db.prepare(`DELETE ${ended}`)
  return ({ recipientHash }: Takes<'forgetRecipient'>): number => {
    deleteMemos.run(recipientHash, bounceNote(recipientHash))
    deleteKnown.run(recipientHash)
    return Number(deleteEnded.run(recipientHash).changes)
  }
}

/** The operations on the queue of events, in the open transaction. */
export function createEventQueue(db: DatabaseSync) {
  const insert = db.prepare('INSERT INTO events (at, type, message, data) VALUES (?, ?, ?, ?)')
  const read = db.prepare(READ)
  const span = db.prepare(
    'SELECT (SELECT max(seq) FROM events) - (SELECT min(seq) FROM events) + 1 AS waiting',
  )
  const remove = db.prepare('DELETE FROM events WHERE seq = ?')
  const drop = db.prepare(DROP)
  return {
    addEvent: ({ at, type, message, data }: NewEvent): void =>
      void insert.run(at, type, message ?? null, data === undefined ? null : JSON.stringify(data)),
    readEvents: ({ limit }: Takes<'readEvents'>): Gives<'readEvents'> => ({
      events: read.all(limit).map(eventOfRow),
      waiting: Number(span.get()?.['waiting']),
    }),
    removeEvents({ seqs }: Takes<'removeEvents'>): void {
      for (const seq of seqs) remove.run(seq)
    },
    dropEvents: ({ most, before }: Takes<'dropEvents'>): number => Number(drop.run(most, before).changes),
  }
}

const READ = `
  SELECT e.seq, e.at, e.type, e.data, ${VIEW_COLUMNS} FROM events e
  LEFT JOIN messages m ON substr(m.id, 1, 16) = substr(e.message, 1, 16) AND m.id = e.message
  ORDER BY e.seq LIMIT ?`
const DROP = `
  DELETE FROM events WHERE seq IN (
    SELECT seq FROM (SELECT seq, at FROM events ORDER BY seq LIMIT ${DROP_STEP})
    WHERE seq <= (SELECT max(seq) FROM events) - ? OR at < ?)`
