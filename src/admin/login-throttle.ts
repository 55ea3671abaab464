import { type NetworkSize, networkOf } from '../callback/unauthenticated-connections.ts'

/** One IPv4 address, and what one subscriber has of IPv6. */
const SUBSCRIBER: NetworkSize = { octets: 4, groups: 4 }

/** How many wrong tries in a window are answered 401; later ones get 429. */
export interface LoginThrottleLimits {
  /** ms. */
  readonly windowMs: number
  /** Wrong tokens from one address (IPv6: one /64, which is what one subscriber has). */
  readonly perAddress: number
  /** Wrong tokens from all addresses together. */
  readonly overall: number
}

/** Ten tries a minute are plenty for a person. */
const LOGIN_THROTTLE_LIMITS: LoginThrottleLimits = { windowMs: 60_000, perAddress: 10, overall: 100 }

/**
 * Counts wrong tries, so that guessing in bulk is slow and seen, and cannot fill the log.
 * Counts in fixed windows. Memory is bounded: once `overall` is reached nothing more is counted, so there are never
 * more entries than that.
 *
 * @param now ms; only differences count.
 */
export function createLoginThrottle(now: () => number, limits: LoginThrottleLimits = LOGIN_THROTTLE_LIMITS) {
  const { windowMs, perAddress, overall } = limits
  let tries = new Map<string, number>()
  let total = 0
  let windowEnds = now() + windowMs

  function turnWindow(): void {
    if (now() < windowEnds) return
    tries = new Map()
    total = 0
    windowEnds = now() + windowMs
  }

  return {
    /** Counts one. @returns ms until an end of the window when there were too many; 0: there were not. */
    recordFailure(address: string): number {
      turnWindow()
      const network = networkOf(address, SUBSCRIBER)
      const used = tries.get(network) ?? 0
      if (used >= perAddress || total >= overall) return windowEnds - now()
      tries.set(network, used + 1)
      total += 1
      return 0
    },
  }
}
