/**
 * Time, as an argument.
 *
 * Validity and leases must not move when somebody sets the machine's clock, so a process reads the wall clock once, at
 * its start, and counts with the monotonic one from then on.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch: wall time at the start of the process plus monotonic time since. */
  now(): number
}

/** Reads a clock in ms that never jumps; its origin does not matter. */
export const monotonic = (): number => performance.now()

/**
 * @param wall reads the wall clock in ms since the epoch; called once.
 * @param ticks reads a clock that never jumps, ms.
 */
export function createClock(wall: () => number = Date.now, ticks: () => number = monotonic): Clock {
  const origin = wall() - ticks()
  return { now: () => Math.round(origin + ticks()) }
}

/** Waits for a promise's value; undefined when it takes longer than `ms`. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, Math.max(ms, 0), undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
