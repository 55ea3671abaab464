/** Simulated time and chance: minutes of load in milliseconds. */

/** Simulated time, ms. */
export interface Timeline {
  now(): number
  /** Has something happen after so many ms; of several at the same moment the one that was asked for first. */
  after(ms: number, happen: () => void): void
  /** When something happens next; never: Infinity. */
  next(): number
  /** Lets time pass until that moment, and everything happen that is due. */
  runUntil(moment: number): void
}

export function createTimeline(): Timeline {
  const heap: { readonly at: number; readonly order: number; readonly happen: () => void }[] = []
  let now = 0
  let order = 0

  const before = (a: number, b: number): boolean => {
    const [x, y] = [heap[a], heap[b]]
    return x !== undefined && y !== undefined && (x.at < y.at || (x.at === y.at && x.order < y.order))
  }
  const swap = (a: number, b: number): void => {
    const [x, y] = [heap[a], heap[b]]
    if (x === undefined || y === undefined) return
    heap[a] = y
    heap[b] = x
  }

  function pop(): void {
    swap(0, heap.length - 1)
    const event = heap.pop()
    for (let at = 0; ; ) {
      const left = at * 2 + 1
      const least = before(left + 1, left) ? left + 1 : left
      if (!before(least, at)) break
      swap(at, least)
      at = least
    }
    if (event === undefined) return
    now = event.at
    event.happen()
  }

  return {
    now: () => now,
    after(ms, happen) {
      heap.push({ at: now + Math.max(0, ms), order: (order += 1), happen })
      for (let at = heap.length - 1; at > 0 && before(at, (at - 1) >> 1); at = (at - 1) >> 1)
        swap(at, (at - 1) >> 1)
    },
    next: () => heap[0]?.at ?? Number.POSITIVE_INFINITY,
    runUntil(moment) {
      while ((heap[0]?.at ?? Number.POSITIVE_INFINITY) <= moment) pop()
      now = moment
    },
  }
}

/** Numbers below 1 that a seed determines (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** @param share such as 0.99. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
