/** The period in which a condition that every request could report is logged `burst` times, ms. */
const REPEAT_MS = 60_000
/** The most conditions that are kept apart. There are a few dozen of them; codes that servers invent must not add to them without end. */
const MOST = 500

/**
 * Logs a condition at once, and then rarely, with how many times it has happened since it was logged last.
 * @param times how often it happened with this call; once unless given.
 */
type LogThrottle = (condition: string, log: (times: number) => void, times?: number) => void

/**
 * @param now ms; only differences count.
 * @param burst how many times a minute a condition is logged; once unless given.
 */
export function createLogThrottle(now: () => number, burst = 1): LogThrottle {
  const known = new Map<string, { since: number; logged: number; times: number }>()
  return (condition, log, more = 1) => {
    let state = known.get(condition)
    if (state === undefined) {
      if (known.size >= MOST) known.clear()
      state = { since: now(), logged: 0, times: 0 }
      known.set(condition, state)
    }
    state.times += more
    if (now() - state.since >= REPEAT_MS) {
      state.since = now()
      state.logged = 0
    }
    if (state.logged >= burst) return
    const { times } = state
    state.logged += 1
    state.times = 0
    log(times)
  }
}
