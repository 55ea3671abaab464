/** How long to leave something alone that fails, ms. */
export interface RestBounds {
  /** After the first failure. It doubles with each further one in a row. */
  readonly first: number
  readonly most: number
}

/** Where nobody else waits for the same thing, rests need not be spread. */
const EVEN = (): number => 0.5

/**
 * Says how long to rest after so many failures in a row, ms. @param random from 0 to 1: gives or takes a quarter, so that what
 * failed together does not come back together.
 */
export function restAfter(failures: number, { first, most }: RestBounds, random = EVEN): number {
  return failures < 1 ? 0 : Math.round(Math.min(first * 2 ** (failures - 1), most) * (0.75 + random() / 2))
}

/** Counts the failures in a row of one thing. */
export function createBackoff(bounds: RestBounds, random?: () => number) {
  let failures = 0
  return {
    /** It failed once more. @returns how long to rest now, ms */
    failed: () => restAfter((failures += 1), bounds, random),
    /** It works, or may have been mended: the next failure is the first. */
    succeeded(): void {
      failures = 0
    },
  }
}
