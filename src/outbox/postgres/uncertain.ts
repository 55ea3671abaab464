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
  /** Lists the tokens of commits that were given up and may turn up yet: one that hangs may happen minutes later. */
  givenUp(): readonly string[]
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
    givenUp() {
      const now = monotonic()
      for (const [token, until] of givenUp) if (now > until) givenUp.delete(token)
      return [...givenUp.keys()]
    },
  }
}
