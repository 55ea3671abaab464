import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Words } from '../../language/sentence.ts'
import { type StoreLog, StoreUnavailable, StoreUnusable } from '../outbox.ts'

/** What a session of ours is like, and how we notice that it is not ours any more. */

const SHARED = 'a pooler in front of the database lends sessions by the transaction'

/** Selects the mark of the session that runs it. */
export const MARK = "current_setting('courier.session', true)"

export interface SessionGuard {
  /**
   * Compares the mark that a session tells with the one that it was given.
   * @throws StoreUnavailable when they differ: the session is not the one that was set up.
   */
  requireMark(client: object, mark: unknown): void
  setUp(client: pg.ClientBase, statementTimeoutMs: number): Promise<void>
  /** Asks a session for its mark. @throws StoreUnavailable when it is not the one that was set up. */
  verify(client: pg.ClientBase): Promise<void>
  /** Says why nothing may be done by these sessions; null: they are ours. */
  trouble(): Words | null
}

/**
 * Gives each session a mark of its own, and looks at it again. Behind a pooler that lends sessions for a transaction at a time, our
 * time limits, our durability and our prepared statements would be somebody else's, and theirs ours.
 *
 * @param clearedAfterMs how long all looks must find the right mark until sessions count as ours again
 */
export function createSessionGuard(
  monotonic: () => number,
  clearedAfterMs: number,
  log: StoreLog,
): SessionGuard {
  const marks = new WeakMap<object, string>()
  let sharedAt = Number.NEGATIVE_INFINITY
  const isShared = () => monotonic() - sharedAt < clearedAfterMs

  function requireMark(client: object, mark: unknown): void {
    if (mark === marks.get(client)) return
    if (!isShared()) log({ doing: 'keep a session', message: SHARED })
    sharedAt = monotonic()
    throw new StoreUnavailable(SHARED)
  }

  return {
    requireMark,
    async setUp(client, statementTimeoutMs) {
      const mark = randomBytes(8).toString('hex')
      marks.set(client, mark)
      await client.query(sessionSettings(statementTimeoutMs, mark))
    },
    async verify(client) {
      const { rows } = await client.query<{ mark: string | null }>(`SELECT ${MARK} AS mark`)
      requireMark(client, rows[0]?.mark)
    },
    trouble: () => (isShared() ? SHARED : null),
  }
}

/** How often each of two sessions is looked at: a pooler that goes round its servers may come to the right one by chance. */
const LOOKS = 4

/**
 * Makes sure at the start that connections of ours are sessions of their own.
 * @param connections two at least.
 * @throws StoreUnusable
 */
export async function requireOwnSessions(
  connections: { use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> },
  guard: SessionGuard,
): Promise<void> {
  await connections
    .use(one =>
      connections.use(async other => {
        for (let looks = 0; looks < LOOKS; looks += 1)
          for (const each of [one, other]) await guard.verify(each)
      }),
    )
    .catch((error: unknown) => {
      if (guard.trouble() === null) throw error
      throw new StoreUnusable(
        'a pooler in front of the database lends sessions by the transaction: set its pool_mode to session, or name the database itself in DATABASE_URL',
      )
    })
}

/**
 * Makes the settings of a session:
 *
 * - `courier.session`: its mark
 * - `default_transaction_…`: a transaction sees what was committed before each statement, and may write, whatever the database's
 *   defaults are: one that repeats its reads fails when another replica was first
 * - `synchronous_commit`: a commit is never acknowledged before it is on disk, whatever the database's default is
 * - `idle_in_transaction_session_timeout`: a process that is stopped in the middle releases its locks
 * - `enable_…`, `jit`: every statement has its index, whose rows it asks for one by one, and most a LIMIT; a plan made while
 *   the table was empty must not walk through a million rows later, nor be compiled for looking expensive
 * - `plan_cache_mode`: a statement is planned once for a session: with partitions, planning takes longer than most of them run
 */
function sessionSettings(statementTimeoutMs: number, mark: string): string {
  return `
    SET courier.session = '${mark}';
    SET default_transaction_isolation = 'read committed';
    SET default_transaction_read_only = off;
    SET default_transaction_deferrable = off;
    SET synchronous_commit = on;
    SET statement_timeout = ${Math.round(statementTimeoutMs)};
    SET lock_timeout = ${Math.round(statementTimeoutMs * 0.8)};
    SET idle_in_transaction_session_timeout = ${Math.round(statementTimeoutMs * 2)};
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_mergejoin = off;
    SET enable_hashjoin = off;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan`
}
