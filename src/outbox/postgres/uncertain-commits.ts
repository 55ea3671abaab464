/**
 * Leases of which nobody knows whether they were committed: the connection broke, or the answer came too late. What is
 * stored under them, nobody sends; so it is put back, uncounted, by the next claim that finds it.
 */
export interface UncertainCommits {
  /** A commit is on its way. @param name the token of a lease that it takes, or what the tokens begin with. */
  begin(name: string): void
  /** It was heard of. */
  confirm(name: string): void
  /** Nobody waits for it any more. Nothing, if it never was on its way. */
  giveUp(name: string): void
  /** Those that were given up. */
  givenUp(): readonly string[]
}

/** The database may get to a commit when we have given it up already; not that much later, ms. */
const LATE_COMMIT_MS = 30_000

export function createUncertainCommits(monotonic: () => number): UncertainCommits {
  const onTheirWay = new Set<string>()
  const givenUp = new Map<string, number>()
  return {
    begin: name => void onTheirWay.add(name),
    confirm: name => void onTheirWay.delete(name),
    giveUp(name) {
      if (onTheirWay.delete(name)) givenUp.set(name, monotonic())
    },
    givenUp() {
      const now = monotonic()
      for (const [name, at] of givenUp) if (now - at > LATE_COMMIT_MS) givenUp.delete(name)
      return [...givenUp.keys()]
    },
  }
}
