import type { Occurrence } from './occurrence.ts'

/** When devices recovered last, whether or not anybody was told: what came late is known by it. */
export interface OpenAlerts {
  note(occurrence: Occurrence): void
  /** Whether it is an alarm that comes after its recovery, and so is over already. */
  overtook(occurrence: Occurrence): boolean
}

/** Devices and rules that are remembered; the oldest go first. */
const MOST = 10_000

export function createOpenAlerts(): OpenAlerts {
  const known = new Map<string, number>()
  return {
    note(occurrence) {
      const { is, at } = occurrence
      if (is !== 'recovery' || at === null) return
      const key = keyOf(occurrence)
      const last = known.get(key) ?? at
      known.delete(key)
      known.set(key, Math.max(at, last))
      const [oldest] = known.keys()
      if (known.size > MOST && oldest !== undefined) known.delete(oldest)
    },
    overtook(occurrence) {
      const { is, at } = occurrence
      return is === 'alarm' && at !== null && at < (known.get(keyOf(occurrence)) ?? at)
    },
  }
}

function keyOf({ source, product, device, rule }: Occurrence): string {
  return JSON.stringify([source, product, device, rule])
}
