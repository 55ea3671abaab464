import type { Limiter } from '../src/delivery/limiter.ts'
import { startService } from '../src/service/service.ts'

/** Starts the service with a fixed number of attempts at once, `FIXED_LIMIT`, to compare the measured one with. */
const fixed = Number(process.env['FIXED_LIMIT'])

function createFixedLimiter(): Limiter {
  let inFlight = 0
  return {
    standing: () => ({ limit: fixed, pausedUntil: null, risesAt: null }),
    get inFlight() {
      return inFlight
    },
    takePlace(now) {
      inFlight += 1
      return { beganAt: now, nth: inFlight, round: 0, isNew: false }
    },
    releasePlace() {
      inFlight -= 1
    },
    explain: () => ({ reason: 'most', why: 'fixed' }),
  }
}

const service = await startService(process.env, { createLimiter: createFixedLimiter })
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)))
