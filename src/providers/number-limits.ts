import type { Clock } from '../runtime/clock.ts'

/** The most numbers that are remembered; the oldest are forgotten first. */
const MOST_NUMBERS = 10_000
const MOST_WORDS = 100

export type NumberLimits = ReturnType<typeof createNumberLimits>

/**
 * Makes a memory of what a carrier's limits of a number count: when it was last sent to, and how long a limit lasts whose words nobody
 * knows. Such a limit is taken for the shortest, which costs no more than a request; a carrier that refuses in the same words once that
 * is over means the next longer one.
 */
export function createNumberLimits({ now }: Clock) {
  const sentAt = new Map<string, number>()
  const refused = new Map<string, { readonly words: string; readonly until: number }>()
  /** How many of the limits are too short, by words. */
  const learned = new Map<string, number>()

  /** What is left of a limit that counts from the last send, ms; all of it when that is not known. */
  function msLeft(number: string, limitMs: number): number {
    const left = (sentAt.get(number) ?? Number.NEGATIVE_INFINITY) + limitMs - now()
    return left > 0 ? left : limitMs
  }

  return {
    /** The number was sent to, or may have been. */
    noteSent(number: string): void {
      keep(sentAt, number, now(), MOST_NUMBERS)
      refused.delete(number)
    },
    msLeft,
    /** What is left of a limit whose words are not known, ms. @param limits the lengths that it may have, ms, the shortest first. */
    msLeftOfUnknown(number: string, said: string, limits: readonly number[]): number {
      const words = said.replace(/\d+/g, '')
      const before = refused.get(number)
      const isOver = before?.words === words && now() >= before.until
      const tooShort = Math.min((learned.get(words) ?? 0) + (isOver ? 1 : 0), limits.length - 1)
      if (isOver) keep(learned, words, tooShort, MOST_WORDS)
      const left = msLeft(number, limits[tooShort] ?? 0)
      keep(refused, number, { words, until: now() + left }, MOST_NUMBERS)
      return left
    },
  }
}

function keep<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}
