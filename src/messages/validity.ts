import type { ValidityUnit } from './kind.ts'
import type { Purpose } from './message.ts'

export const UNIT_MS: Readonly<Record<ValidityUnit, number>> = { hour: 3_600_000, minute: 60_000 }
const MAX_MS = 30 * 24 * UNIT_MS.hour
/** No shorter one can be kept: Twilio counts a validity in whole seconds from 1 on. */
const MIN_MS = 1000
const DEFAULT_MS: Readonly<Record<Purpose, number>> = {
  code: 10 * UNIT_MS.minute,
  link: 24 * UNIT_MS.hour,
  file: 24 * UNIT_MS.hour,
  alarm: 24 * UNIT_MS.hour,
  plain: 24 * UNIT_MS.hour,
}

/**
 * The validity that the platform stated, in ms: a decimal number of hours or minutes.
 * Null when it is absent, not a number, 0 (anything below a second), negative or over 30 days: then nobody knows, and
 * the words do not mention it.
 */
export function parseValidity(unit: ValidityUnit, text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,9}(\.\d{1,9})?$/.test(text)) return null
  const ms = Math.round(Number(text) * UNIT_MS[unit])
  return ms >= MIN_MS && ms <= MAX_MS ? ms : null
}

/**
 * Says how long a message may be tried when the platform did not say: 24 hours for links, files and alarms, 10 minutes
 * for codes. An unknown type that carries a `code` is taken for one: a code that comes hours late only confuses.
 */
export function defaultValidity(purpose: Purpose, carriesCode: boolean): number {
  return DEFAULT_MS[purpose === 'plain' && carriesCode ? 'code' : purpose]
}
