import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Channel } from '../../messages/message.ts'
import type { Takes } from '../operations.ts'
import type { State, Summary } from '../outbox.ts'
import type { LiveMessages } from './counters.ts'

const MINUTE = 60_000

/** Makes the function that adds up the counts by the minute. It reads no message but the oldest. */
export function createReadSummary(
  db: DatabaseSync,
  live: Readonly<LiveMessages>,
  path: string,
): (call: Takes<'readSummary'>) => Summary {
  const oldest = db.prepare('SELECT min(arrived_at) AS at FROM messages WHERE state = ? AND channel = ?')
  const counts = db.prepare(
    `SELECT channel, kind, state, sum(count) AS count FROM counts WHERE minute >= ?
       GROUP BY channel, kind, state HAVING sum(count) > 0 ORDER BY channel, kind, state`,
  )
  const series = db.prepare(
    `SELECT minute / CAST(? AS INTEGER) AS step, state, sum(count) AS count FROM counts WHERE minute >= ?
       GROUP BY step, state HAVING sum(count) > 0 ORDER BY step, state`,
  )

  function oldestArrival(channel: Channel): number | null {
    const times = ['queued', 'sending']
      .map(state => oldest.get(state, channel)?.['at'])
      .filter(at => typeof at === 'number')
    return times.length === 0 ? null : Math.min(...times)
  }

  return ({ since, stepMs }) => {
    const from = Math.floor(since / MINUTE)
    const minutes = Math.max(1, Math.round(stepMs / MINUTE))
    return {
      backlog: { ...live },
      oldest: { email: oldestArrival('email'), sms: oldestArrival('sms') },
      counts: counts.all(from).map(row => ({
        channel: row['channel'] as Channel,
        kind: String(row['kind']),
        state: row['state'] as State,
        count: Number(row['count']),
      })),
      series: series.all(minutes, from).map(row => ({
        at: Number(row['step']) * minutes * MINUTE,
        state: row['state'] as State,
        count: Number(row['count']),
      })),
      bytes: fileSize(path) + fileSize(`${path}-wal`),
    }
  }
}

function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
