import type { State } from '../outbox.ts'
import { ask, type Client, type Result, type Statement } from './connect.ts'
import type { Row } from './row.ts'

/** What a transaction changes in the counts of messages: by minute of arrival and state, and of live ones. */
export interface Counts {
  moved(row: Row, from: State | 'new', to: State): void
  /** Live messages more than before. */
  added(): number
  /** The last locks of a transaction, on a shard of its own: nobody waits for them. */
  write(): Promise<Result>[]
}

const MINUTE = 60_000

export function createCounts(client: Client, shard: number): Counts {
  const tallies = new Map<
    string,
    { minute: number; channel: string; kind: string; state: string; by: number }
  >()
  const live = { email: 0, sms: 0 }

  function change({ channel, kind, arrivedAt }: Row, state: State, by: number): void {
    const minute = Math.floor(arrivedAt / MINUTE)
    const key = `${minute} ${channel} ${state} ${kind}`
    const known = tallies.get(key)
    if (known === undefined) tallies.set(key, { minute, channel, kind, state, by })
    else known.by += by
    if (state === 'queued' || state === 'sending') live[channel] += by
  }

  return {
    moved(row, from, to) {
      if (from !== 'new') change(row, from, -1)
      change(row, to, 1)
    },
    added: () => live.email + live.sms,
    write() {
      const asked: Promise<Result>[] = []
      const changes = [...tallies.values()].filter(each => each.by !== 0)
      if (changes.length > 0) asked.push(ask(client, TALLY, JSON.stringify(changes), shard))
      if (live.email !== 0 || live.sms !== 0) asked.push(ask(client, BACKLOG, live.email, live.sms, shard))
      return asked
    },
  }
}

const TALLY: Statement = {
  name: 'tally',
  text: `INSERT INTO courier_tallies AS t (minute, channel, kind, state, shard, count)
    SELECT minute, channel, kind, state, $2::smallint, "by"
    FROM json_to_recordset($1::json) AS r(minute bigint, channel text, kind text, state text, "by" bigint)
    ORDER BY minute, channel, kind, state
    ON CONFLICT (minute, channel, kind, state, shard) DO UPDATE SET count = t.count + excluded.count`,
}
const BACKLOG: Statement = {
  name: 'backlog',
  text: `INSERT INTO courier_backlog AS b (shard, email, sms) VALUES ($3, $1, $2)
    ON CONFLICT (shard) DO UPDATE SET email = b.email + excluded.email, sms = b.sms + excluded.sms`,
}
