import pg from 'pg'
import type { AttemptRecord } from '../../src/outbox/outbox.ts'
import { type Row, rowOf } from '../faults/checker.ts'

/** What lies in the shared store, beside the service. */
export interface SharedStore {
  rows(): Promise<readonly Row[]>
  /**
   * Messages that are queued or being sent; null while the database does not answer.
   * @param before only those that arrived before it, ms since the epoch.
   */
  live(before?: number): Promise<number | null>
  /** Processes that have not ended in order. */
  owners(): Promise<number>
}

export function lookInto(url: string): SharedStore {
  async function query(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(text).finally(() => client.end())
    return rows
  }
  return {
    async rows() {
      const rows = await query('SELECT * FROM courier_messages ORDER BY seq')
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
  }
}
