import { StoreUnusable } from '../outbox.ts'
import type { Connections } from './connect.ts'

/**
 * Makes sure that a connection of ours is a session of its own. Behind a pooler that lends sessions for a transaction
 * at a time, our time limits, our durability and our prepared statements would be somebody else's, and theirs ours.
 *
 * @param connections two at least.
 * @throws StoreUnusable
 */
export async function requireOwnSessions(connections: Pick<Connections, 'use'>): Promise<void> {
  const shared = await connections.use(async one => {
    await one.query("SET courier.session = 'taken'")
    return connections.use(async other => {
      const { rows } = await other.query<{ mark: string | null }>(
        "SELECT current_setting('courier.session', true) AS mark",
      )
      return rows[0]?.mark === 'taken'
    })
  })
  if (shared) {
    throw new StoreUnusable(
      'a pooler in front of the database lends sessions by the transaction: set its pool_mode to session, or name the database itself in DATABASE_URL',
    )
  }
}
