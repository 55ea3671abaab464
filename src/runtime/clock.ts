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
