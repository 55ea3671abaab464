import { UNIT_MS } from '../messages/validity.ts'

/** The units that a language has words for. */
export const DURATION_UNITS = ['second', 'minute', 'hour', 'day'] as const
export type DurationUnit = (typeof DURATION_UNITS)[number]

const DAY_MS = 24 * UNIT_MS.hour

/**
 * A life in the unit that a person would say it in: 90 minutes, 24 hours, 3 days. Rounded down where it does not come
 * out even, so that nothing is promised longer than it holds; never 0.
 */
export function toReadableDuration(ms: number): { readonly n: number; readonly unit: DurationUnit } {
  const whole = (unitMs: number) => Math.max(1, Math.floor(ms / unitMs))
  if (ms < UNIT_MS.minute) return { n: whole(1000), unit: 'second' }
  if (ms % DAY_MS === 0 && ms >= 2 * DAY_MS) return { n: whole(DAY_MS), unit: 'day' }
  if (ms % UNIT_MS.hour === 0 || ms >= 3 * UNIT_MS.hour) {
    return ms >= 3 * DAY_MS ? { n: whole(DAY_MS), unit: 'day' } : { n: whole(UNIT_MS.hour), unit: 'hour' }
  }
  return { n: whole(UNIT_MS.minute), unit: 'minute' }
}
