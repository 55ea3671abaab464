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

/**
 * @param wall reads the wall clock in ms since the epoch; called once.
 * @param monotonic reads a clock in ms that never jumps; its origin does not matter.
 */
export function createClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): Clock {
  const origin = wall() - monotonic()
  return { now: () => Math.round(origin + monotonic()) }
}

/** Waits for a promise's value; undefined when it takes longer than `ms`. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), Math.max(ms, 0))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
