import type { Channel } from '../../messages/message.ts'
import type { SettledByStore } from '../outbox.ts'
import { takeEnded } from '../unit-of-work.ts'
import { type Client, runStatement, statement } from './connect.ts'

/**
 * Keeps the leases of which nobody knows whether they were committed: the connection broke, or the answer came too late. Nobody
 * sends the messages that are stored under them; so the next claim that finds such a message gives it back, uncounted.
 *
 * A commit may happen minutes after it was given up, when it hung for a synchronous standby that was gone. So a lease is
 * remembered until it would have run out; a message that turns up after that is taken over like any other.
 */
export interface UncertainCommits {
  /** A commit is under way. @param token of a lease that it takes, or the beginning of the tokens. @param leaseMs how long the lease holds. */
  begin(token: string, leaseMs: number): void
  /** The commit was confirmed. */
  confirm(token: string): void
  /** Nobody waits for the commit any more. Does nothing if it never was under way. */
  giveUp(token: string): void
  /** Finds those of the tokens that belong to commits which were given up. */
  findGivenUp(tokens: readonly string[]): readonly string[]
  /** Says whether commits were given up that may turn up yet: one that hangs may happen minutes later. */
  areGivenUp(): boolean
}

export function createUncertainCommits(monotonic: () => number): UncertainCommits {
  const underWay = new Map<string, number>()
  /** Until when each is remembered, by `monotonic`. */
  const givenUp = new Map<string, number>()
  return {
    begin: (token, leaseMs) => void underWay.set(token, monotonic() + leaseMs),
    confirm: token => void underWay.delete(token),
    giveUp(token) {
      const until = underWay.get(token)
      if (until === undefined) return
      underWay.delete(token)
      givenUp.set(token, until)
    },
    findGivenUp: tokens =>
      tokens.filter(token => givenUp.has(token) || givenUp.has(token.slice(0, token.lastIndexOf('.')))),
    areGivenUp() {
      const now = monotonic()
      for (const [token, until] of givenUp) if (now > until) givenUp.delete(token)
      return givenUp.size > 0
    },
  }
}

/** Ends are kept for so long, ms: a commit that is not seen by then never happened, or another replica has reported its ends. */
const REMEMBERED_MS = 600_000

/**
 * Keeps the ends of messages until a claim of their channel reports them. An end in a commit of which nobody knows whether it holds is
 * reported once that is known.
 * @param monotonic ms, never set.
 */
export interface UnreportedEnds {
  /** A commit that ends them is under way. @param at the time that it writes as their end, ms since the epoch. */
  begin(ended: readonly SettledByStore[], at: number): void
  /** The commit was confirmed. One that was found before stays as it was found. */
  confirm(ended: readonly SettledByStore[]): void
  /** Finds those of uncertain commits that turn out to have ended. */
  find(client: Client): Promise<void>
  take(channel: Channel): readonly SettledByStore[]
}

export function createUnreportedEnds(monotonic: () => number): UnreportedEnds {
  const known: SettledByStore[] = []
  const uncertain = new Map<string, { readonly at: number; readonly until: number }>()
  return {
    begin(ended, at) {
      for (const { id } of ended) uncertain.set(id, { at, until: monotonic() + REMEMBERED_MS })
    },
    confirm(ended) {
      for (const each of ended) if (uncertain.delete(each.id)) known.push(each)
    },
    async find(client) {
      const now = monotonic()
      for (const [id, { until }] of uncertain) if (now > until) uncertain.delete(id)
      if (uncertain.size === 0) return
      const since = Math.min(...[...uncertain.values()].map(({ at }) => at))
      const { rows } = await runStatement(client, ENDED, [...uncertain.keys()], since)
      for (const row of rows) {
        const { final_at, ...ended } = row as unknown as SettledByStore & { final_at: number }
        // If it ended at another time, another process ended it and reports it.
        if (uncertain.get(ended.id)?.at === final_at) known.push(ended)
        uncertain.delete(ended.id)
      }
    },
    take: channel => takeEnded(known, channel),
  }
}

const ENDED = statement`SELECT id, state, channel, kind, final_at FROM courier_finished WHERE id = ANY($1::text[]) AND final_at >= $2`
