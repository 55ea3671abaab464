import type { SettledByStore } from '../outbox.ts'
import { type Client, runStatement, statement } from './connect.ts'

/** Ends are kept for so long, ms: a commit that is not seen by then never happened, or another replica has reported its ends. */
const REMEMBERED_MS = 600_000

export type UncertainEnds = ReturnType<typeof createUncertainEnds>

/**
 * Keeps messages that a claim ended in a commit of which nobody knows whether it holds. Their ends are reported once that is known.
 * @param monotonic ms, never set.
 */
export function createUncertainEnds(monotonic: () => number) {
  const ends = new Map<string, { readonly at: number; readonly until: number }>()
  return {
    /** A commit that ends them is under way. @param at the time that it writes as their end, ms since the epoch. */
    begin(ended: readonly Pick<SettledByStore, 'id'>[], at: number): void {
      for (const { id } of ended) ends.set(id, { at, until: monotonic() + REMEMBERED_MS })
    },
    /** The commit was confirmed. */
    confirm(ended: readonly Pick<SettledByStore, 'id'>[]): void {
      for (const { id } of ended) ends.delete(id)
    },
    /** Takes those that turn out to have ended. */
    async take(client: Client): Promise<readonly SettledByStore[]> {
      const now = monotonic()
      for (const [id, { until }] of ends) if (now > until) ends.delete(id)
      if (ends.size === 0) return []
      const { rows } = await runStatement(client, ENDED, [...ends.keys()])
      return rows.flatMap(row => {
        const { id, final_at, ...rest } = row as { id: string; final_at: number } & Omit<SettledByStore, 'id'>
        // If it ended at another time, another process ended it and reports it.
        const ours = ends.get(id)?.at === final_at
        ends.delete(id)
        return ours ? [{ id, ...rest }] : []
      })
    },
  }
}

const ENDED = statement(
  'uncertain-ends',
)`SELECT id, state, channel, kind, final_at FROM courier_messages WHERE id = ANY($1::text[]) AND final_at IS NOT NULL`
