import { createLogThrottle, type LogThrottle } from '../../runtime/log-throttle.ts'

/** Keep what every request could cause from growing the log by a line a request. */
export interface LogThrottles {
  /** Lets a condition through once a minute. */
  readonly rarely: LogThrottle
  /** Lets a condition through sixty times a minute. */
  readonly often: LogThrottle
}

const OFTEN_A_MINUTE = 60

/** @param now ms; only differences count. */
export function createLogThrottles(now: () => number): LogThrottles {
  return { rarely: createLogThrottle(now), often: createLogThrottle(now, OFTEN_A_MINUTE) }
}
