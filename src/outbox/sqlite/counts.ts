import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import type { State } from '../outbox.ts'

const MINUTE = 60_000

/** What is counted about a message. */
export interface Counted {
  readonly channel: Channel
  readonly kind: string
  readonly arrivedAt: number
}

/**
 * Counts messages by minute of arrival, channel, kind and state as they change, and the live ones by channel.
 * Counting goes with the transaction: `flush` before its commit, then `committed` or `undone`.
 */
export interface Counts {
  moved(message: Counted, from: State | 'new', to: State): void
  /** So many messages in one state count as arrived at another time, ms since the epoch. */
  redated(message: Counted, state: State, arrivedAt: number, count: number): void
  /** Live messages, those of the open transaction included. */
  backlog(): number
  /** Live messages of a channel, committed ones only. */
  live(channel: Channel): number
  flush(): void
  committed(): void
  undone(): void
}

export function createCounts(db: DatabaseSync): Counts {
  const add = db.prepare(
    'INSERT INTO tallies VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  )
  const count = db.prepare(
    "SELECT count(*) AS n FROM messages WHERE state IN ('queued', 'sending') AND channel = ?",
  )
  const live = { email: Number(count.get('email')?.['n']), sms: Number(count.get('sms')?.['n']) }
  const pending = { email: 0, sms: 0 }
  let changes = new Map<
    string,
    { minute: number; channel: string; kind: string; state: string; by: number }
  >()

  function change({ channel, kind, arrivedAt }: Counted, state: State, by: number): void {
    const minute = Math.floor(arrivedAt / MINUTE)
    const key = `${minute} ${channel} ${state} ${kind}`
    const known = changes.get(key)
    if (known === undefined) changes.set(key, { minute, channel, kind, state, by })
    else known.by += by
  }

  function forget(): void {
    changes = new Map()
    pending.email = 0
    pending.sms = 0
  }

  return {
    moved(message, from, to) {
      const was = from === 'queued' || from === 'sending' ? 1 : 0
      const is = to === 'queued' || to === 'sending' ? 1 : 0
      pending[message.channel] += is - was
      if (from !== 'new') change(message, from, -1)
      change(message, to, 1)
    },
    redated(message, state, arrivedAt, by) {
      change(message, state, -by)
      change({ ...message, arrivedAt }, state, by)
    },
    backlog: () => live.email + live.sms + pending.email + pending.sms,
    live: channel => live[channel],
    flush() {
      for (const { minute, channel, kind, state, by } of changes.values()) {
        if (by !== 0) add.run(minute, channel, kind, state, by)
      }
      changes = new Map()
    },
    committed() {
      live.email += pending.email
      live.sms += pending.sms
      forget()
    },
    undone: forget,
  }
}
