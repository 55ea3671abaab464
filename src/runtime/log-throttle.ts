/** How often a condition that every request could report is said, ms. */
const REPEAT_MS = 60_000
/** Conditions that are told apart. There are a few dozen; codes that servers make up must not make it more. */
const MOST = 500

/** Says a thing at once, then rarely, with how many times it happened since it was last said. */
export type LogThrottle = (what: string, say: (times: number) => void) => void

/**
 * @param now ms; only differences count.
 * @param burst how many times a minute a thing is said; once unless given.
 */
export function createLogThrottle(now: () => number, burst = 1): LogThrottle {
  const known = new Map<string, { since: number; said: number; times: number }>()
  return (what, say) => {
    let thing = known.get(what)
    if (thing === undefined) {
      if (known.size >= MOST) known.clear()
      thing = { since: now(), said: 0, times: 0 }
      known.set(what, thing)
    }
    thing.times += 1
    if (now() - thing.since >= REPEAT_MS) {
      thing.since = now()
      thing.said = 0
    }
    if (thing.said >= burst) return
    const { times } = thing
    thing.said += 1
    thing.times = 0
    say(times)
  }
}
