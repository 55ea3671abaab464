/**
 * Leases of which nobody knows whether they were committed: the connection broke, or the answer came too late. Nobody
 * sends the messages that are stored under them; so the next claim that finds such a message puts it back, uncounted.
 */
export interface UncertainCommits {
  /** A commit is under way. @param token of a lease that it takes, or the beginning of the tokens. */
  begin(token: string): void
  /** The commit was confirmed. */
  confirm(token: string): void
  /** Nobody waits for the commit any more. Does nothing if it never was under way. */
  giveUp(token: string): void
  /** The tokens of commits that were given up. */
  givenUp(): readonly string[]
}

/** How long after it was given up a commit may still happen in the database, ms. */
const LATE_COMMIT_MS = 30_000

export function createUncertainCommits(monotonic: () => number): UncertainCommits {
  const underWay = new Set<string>()
  const givenUp = new Map<string, number>()
  return {
    begin: token => void underWay.add(token),
    confirm: token => void underWay.delete(token),
    giveUp(token) {
      if (underWay.delete(token)) givenUp.set(token, monotonic())
    },
    givenUp() {
      const now = monotonic()
      for (const [token, at] of givenUp) if (now - at > LATE_COMMIT_MS) givenUp.delete(token)
      return [...givenUp.keys()]
    },
  }
}
