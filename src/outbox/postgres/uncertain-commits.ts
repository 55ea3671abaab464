/**
 * Leases of which nobody knows whether they were committed: the connection broke, or the answer came too late. What is
 * stored under them, nobody sends; so it is put back, uncounted, by the next claim that finds it.
 */
export interface Unheard {
  /** A commit is on its way. @param name the token of a lease that it takes, or what the tokens begin with. */
  began(name: string): void
  /** It was heard of. */
  heard(name: string): void
  /** Nobody waits for it any more. Nothing, if it never was on its way. */
  gaveUp(name: string): void
  /** Those that were given up. */
  names(): readonly string[]
}

/** The database may get to a commit when we have given it up already; not that much later, ms. */
const LATE_COMMIT_MS = 30_000

export function createUnheard(monotonic: () => number): Unheard {
  const onTheirWay = new Set<string>()
  const givenUp = new Map<string, number>()
  return {
    began: name => void onTheirWay.add(name),
    heard: name => void onTheirWay.delete(name),
    gaveUp(name) {
      if (onTheirWay.delete(name)) givenUp.set(name, monotonic())
    },
    names() {
      const now = monotonic()
      for (const [name, at] of givenUp) if (now - at > LATE_COMMIT_MS) givenUp.delete(name)
      return [...givenUp.keys()]
    },
  }
}
