const HOUR = 3_600_000
const DAY = 24 * HOUR

/** China's time zone, ms: UTC+8, without summer time. */
export const CHINA_OFFSET_MS = 8 * HOUR

/** Says how long it is until the next midnight in China, ms. @param now ms since the epoch. */
export function msUntilChinaMidnight(now: number): number {
  return DAY - ((now + CHINA_OFFSET_MS) % DAY)
}
