import type { Logger } from 'pino'
import { createLogThrottle } from '../runtime/log-throttle.ts'
import type { AdminRefusal } from './auth.ts'

/** Logs who was not let in to the private listener, each reason once a minute. */
export function createAccessLog(log: Logger, now: () => number): (reason: AdminRefusal) => void {
  const repeated = createLogThrottle(now)
  return reason => {
    // Every browser comes without a password first.
    if (reason === 'no-token') return
    repeated(reason, times =>
      log.warn(
        { event: 'console-refused', reason, times },
        'somebody was not let in to the private listener',
      ),
    )
  }
}
