import type { Occurrence } from './occurrence.ts'

/** Rules of devices in memory; the oldest are forgotten first. */
const MAX_ENTRIES = 10_000

/** The last recovery of each rule of a device, whether or not anybody was notified: an alarm from before it is late. */
export function createRecoveryTimes() {
  const recoveredAt = new Map<string, number>()
  return {
    record(occurrence: Occurrence): void {
      const { is, at } = occurrence
      if (is !== 'recovery' || at === null) return
      const key = keyOf(occurrence)
      const last = recoveredAt.get(key) ?? at
      recoveredAt.delete(key)
      recoveredAt.set(key, Math.max(at, last))
      const [oldest] = recoveredAt.keys()
      if (recoveredAt.size > MAX_ENTRIES && oldest !== undefined) recoveredAt.delete(oldest)
    },
    /** Says whether it is an alarm from before a recovery that came first. */
    isAlreadyOver(occurrence: Occurrence): boolean {
      const { is, at } = occurrence
      return is === 'alarm' && at !== null && at < (recoveredAt.get(keyOf(occurrence)) ?? at)
    },
  }
}

function keyOf({ source, product, device, rule }: Occurrence): string {
  return JSON.stringify([source, product, device, rule])
}
