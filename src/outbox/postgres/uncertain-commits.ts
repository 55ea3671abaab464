export type UncertainCommits = ReturnType<typeof createUncertainCommits>

/**
 * Keeps the leases of which nobody knows whether they were committed: the connection broke, or the answer came too late. Nobody
 * sends the messages that are stored under them; so the next claim that finds such a message gives it back, uncounted.
 *
 * A commit may happen minutes after it was given up, when it hung for a synchronous standby that was gone. So a lease is
 * remembered until it would have run out; a message that turns up after that is taken over like any other.
 */
export function createUncertainCommits(monotonic: () => number) {
  const underWay = new Map<string, number>()
  /** Until when each is remembered, by `monotonic`. */
  const givenUp = new Map<string, number>()
  let version = 0
  return {
    /** A commit is under way. @param token of a lease that it takes, or the beginning of the tokens. @param leaseMs how long the lease holds. */
    begin: (token: string, leaseMs: number) => void underWay.set(token, monotonic() + leaseMs),
    /** The commit was confirmed. */
    confirm: (token: string) => void underWay.delete(token),
    /** Nobody waits for the commit any more. Does nothing if it never was under way. */
    giveUp(token: string): void {
      const until = underWay.get(token)
      if (until === undefined) return
      underWay.delete(token)
      givenUp.set(token, until)
      version += 1
    },
    /** Finds those of the tokens that belong to commits which were given up. */
    findGivenUp: (tokens: readonly string[]): readonly string[] =>
      tokens.filter(token => givenUp.has(token) || givenUp.has(token.slice(0, token.lastIndexOf('.')))),
    /** Says how often a commit was given up; null when none of them can turn up any more. */
    version(): number | null {
      const now = monotonic()
      for (const [token, until] of givenUp) if (now > until) givenUp.delete(token)
      return givenUp.size === 0 ? null : version
    },
  }
}
