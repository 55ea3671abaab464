import pg from 'pg'
import type { AttemptRecord } from '../../src/outbox/outbox.ts'
import { type Row, rowOf } from '../faults/checker.ts'

/** What lies in the shared store, beside the service. */
export interface SharedStore {
  /** @param since only those that arrived from then on, ms since the epoch. */
  rows(since?: number): Promise<readonly Row[]>
  /** Messages that are queued or being sent; null while the database does not answer. */
  live(): Promise<number | null>
  /** Processes that have not ended in order. */
  owners(): Promise<number>
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
    async live() {
      try {
        const [row] = await query(`SELECT count(*) AS live FROM courier_messages WHERE final_at IS NULL`)
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
