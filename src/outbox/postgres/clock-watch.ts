import type { Clock } from '../../runtime/clock.ts'
import type { StoreLog } from '../outbox.ts'

/** Clocks that are further apart than this make leases and lives of different replicas disagree, ms. */
const SKEW_MS = 2000

/**
 * Compares this process's clock with the database's, and says so when they part and when they agree again.
 * @returns takes the database's time, ms since the epoch, and how long it took to ask for it, ms.
 */
export function createClockWatch(clock: Clock, log: StoreLog): (at: number, tookMs: number) => void {
  let apart = false
  return (at, tookMs) => {
    const skew = Math.abs(at - (clock.now() - tookMs / 2))
    if (skew > SKEW_MS + tookMs / 2 === apart) return
    apart = !apart
    const message = apart
      ? `our clock and the database's are ${Math.round(skew / 1000)} s apart: set both by NTP`
      : "our clock and the database's agree again"
    log({ doing: 'compare clocks', message })
  }
}
