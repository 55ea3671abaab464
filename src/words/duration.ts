import { UNIT_MS as STATED } from '../messages/kinds.ts'

/** The units that a language may have words for, from the smallest. */
export const DURATION_UNITS = ['second', 'minute', 'hour', 'day'] as const
export type DurationUnit = (typeof DURATION_UNITS)[number]

const UNIT_MS: Readonly<Record<DurationUnit, number>> = { second: 1000, ...STATED, day: 24 * STATED.hour }

/**
 * A life in the unit that a person would say it in: 90 minutes, 24 hours, 3 days. Rounded down where it does not come
 * out even, so that nothing is promised longer than it holds; never 0.
 * @param has whether there are words for a unit; in place of one that there are none for, the next smaller one is said
 * @returns null when there are only words for larger units
 */
export function toReadableDuration(
  ms: number,
  has: (unit: DurationUnit) => boolean = () => true,
): { readonly n: number; readonly unit: DurationUnit } | null {
  const usual = DURATION_UNITS.indexOf(usualUnit(ms))
  const unit = DURATION_UNITS.slice(0, usual + 1).findLast(has)
  return unit === undefined ? null : { n: Math.max(1, Math.floor(ms / UNIT_MS[unit])), unit }
}

function usualUnit(ms: number): DurationUnit {
  const { minute, hour, day } = UNIT_MS
  if (ms < minute) return 'second'
  if (ms >= 3 * day || (ms >= 2 * day && ms % day === 0)) return 'day'
  return ms >= 3 * hour || ms % hour === 0 ? 'hour' : 'minute'
}
