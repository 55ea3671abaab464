import type { Logger } from 'pino'
import { createLogThrottle } from '../../runtime/log-throttle.ts'

/** Keep what every request could cause from growing the log by a line a request. */
export type LogThrottles = ReturnType<typeof createLogThrottles>

const OFTEN_A_MINUTE = 60

/** @param now ms; only differences count. */
export function createLogThrottles(log: Logger, now: () => number) {
  return {
    /** Logs a condition once a minute. */
    rarely: createThrottledLog(log, now),
    /** Logs a condition sixty times a minute. */
    often: createThrottledLog(log, now, OFTEN_A_MINUTE),
  }
}

/** Logs lines with how many times their condition happened since it was last logged. */
function createThrottledLog(log: Logger, now: () => number, burst?: number) {
  const throttle = createLogThrottle(now, burst)
  const at =
    (level: 'info' | 'warn' | 'error') =>
    /** @param line a function where it takes long to make. @param more how many times it happened, once unless given. */
    (condition: string, line: object | (() => object), text: string, more?: number): void =>
      throttle(
        condition,
        times => log[level]({ ...(typeof line === 'function' ? line() : line), times }, text),
        more,
      )
  return { info: at('info'), warn: at('warn'), error: at('error') }
}
