/**
 * A sliding estimate over two fixed windows: what was counted in the current window, plus the share of the previous
 * one that a window ending now still overlaps, as if that had come evenly spread. Two counters a bucket, whatever
 * the limit; off by what was not evenly spread, which evens out over the next window.
 */

/** Start of the fixed window that `now` is in, ms since the epoch. */
export function startOfWindow(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}

/** How many are counted in the window that ends now, by the same estimate. */
export function estimateUse(previous: number, current: number, windowMs: number, now: number): number {
  return current + previous * (1 - (now - startOfWindow(now, windowMs)) / windowMs)
}

/**
 * Whether one more fits.
 *
 * @param previous counted in the window before the current one.
 * @param current counted in the current window.
 * @returns 0 when it fits, else after how many ms it would, if nothing else comes.
 */
export function msUntilRoom(
  previous: number,
  current: number,
  limit: number,
  windowMs: number,
  now: number,
): number {
  const elapsed = now - startOfWindow(now, windowMs)
  // In counts times milliseconds, so that no rounding makes room where there is none.
  const room = (limit - 1 - current) * windowMs
  if (previous * (windowMs - elapsed) <= room) return 0
  if (limit < 1) return windowMs
  // Either enough of the previous window slides out within this one, or the current one must do so as the previous.
  if (room >= 0) return windowMs - Math.floor(room / previous) - elapsed
  return windowMs - elapsed + windowMs - Math.floor(((limit - 1) * windowMs) / current)
}
