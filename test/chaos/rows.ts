import pg from 'pg'
import { fillFinished } from '../../bench/finished.ts'
import type { AttemptRecord } from '../../src/outbox/outbox.ts'
import { type Row, rowOf } from '../faults/checker.ts'
import { pause } from '../faults/stage.ts'

const DAY_MS = 24 * 3_600_000
const OLDEST_DAYS = 4
const YOUNGEST_DAYS = 2

/** What lies in the shared store, beside the service. */
export interface SharedStore {
  /** @param since only those that arrived from then on, ms since the epoch. */
  rows(since?: number): Promise<readonly Row[]>
  /**
   * Messages that are queued or being sent; null while the database does not answer.
   * @param before only those that arrived before it, ms since the epoch.
   */
  live(before?: number): Promise<number | null>
  /** Processes that have not ended in order. */
  owners(): Promise<number>
  /** Messages that ended from two days on, up to three days ago. */
  history(): Promise<number>
  addHistory(rows: number): Promise<void>
  /** Reads all messages in a transaction that stays open for so long. */
  holdSnapshot(seconds: number): Promise<void>
}

export function lookInto(url: string): SharedStore {
  async function use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => {})
    await client.connect()
    return work(client).finally(() => client.end())
  }
  const query = (text: string): Promise<readonly Record<string, unknown>[]> =>
    use(async client => (await client.query<Record<string, unknown>>(text)).rows)
  return {
    async rows(since = 0) {
      const rows = await query(`SELECT * FROM courier_messages WHERE arrived_at >= ${since} ORDER BY seq`)
      return rows.map(row => rowOf(row, (row['timeline'] ?? []) as readonly AttemptRecord[]))
    },
    async live(before = Number.MAX_SAFE_INTEGER) {
      try {
        const [row] = await query(
          `SELECT count(*) AS live FROM courier_messages WHERE final_at IS NULL AND arrived_at < ${before}`,
        )
        return Number(row?.['live'])
      } catch {
        return null
      }
    },
    async owners() {
      const [row] = await query('SELECT count(*) AS replicas FROM courier_replicas WHERE NOT has_left')
      return Number(row?.['replicas'])
    },
    async history() {
      const before = Date.now() - YOUNGEST_DAYS * DAY_MS
      const [row] = await query(`SELECT count(*) AS old FROM courier_messages WHERE final_at < ${before}`)
      return Number(row?.['old'])
    },
    addHistory: rows =>
      use(client => fillFinished(client, rows, OLDEST_DAYS, { youngest: YOUNGEST_DAYS, inUse: true })),
    holdSnapshot: seconds =>
      use(async client => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
        await client.query('SELECT count(*) FROM courier_messages')
        await pause(seconds * 1000)
      }),
  }
}
