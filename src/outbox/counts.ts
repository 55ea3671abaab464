import type { Channel } from '../messages/message.ts'
import type { State } from './outbox.ts'
import { isLive } from './rules.ts'

const MINUTE_MS = 60_000

/** The fields of a message that it is counted by. */
export interface CountedMessage {
  readonly channel: Channel
  readonly kind: string
  /** ms since the epoch. */
  readonly arrivedAt: number
}

export interface CountChange {
  /** Minute of arrival, since the epoch. */
  readonly minute: number
  readonly channel: Channel
  readonly kind: string
  readonly state: State
  readonly by: number
}

export type CountChanges = ReturnType<typeof createCountChanges>

/** Gathers what a transaction changes in the counts: by minute of arrival, channel, kind and state, and live ones. */
export function createCountChanges() {
  const changes = new Map<string, CountChange & { by: number }>()
  const live = { email: 0, sms: 0 }

  function add({ channel, kind, arrivedAt }: CountedMessage, state: State, by: number): void {
    const minute = Math.floor(arrivedAt / MINUTE_MS)
    const key = `${minute} ${channel} ${state} ${kind}`
    const known = changes.get(key)
    if (known === undefined) changes.set(key, { minute, channel, kind, state, by })
    else known.by += by
    if (isLive(state)) live[channel] += by
  }

  return {
    addChange(message: CountedMessage, from: State | 'new', to: State): void {
      if (from !== 'new') add(message, from, -1)
      add(message, to, 1)
    },
    /** Counts `count` messages in one state as arrived at another time, ms since the epoch. */
    addRedated(message: CountedMessage, state: State, arrivedAt: number, count: number): void {
      add(message, state, -count)
      add({ ...message, arrivedAt }, state, count)
    },
    /** Lists the changes; those that add up to 0 are left out. */
    changes: (): readonly CountChange[] => [...changes.values()].filter(({ by }) => by !== 0),
    /** Says by how many the live messages of each channel have grown. */
    live: (): Readonly<Record<Channel, number>> => live,
  }
}
