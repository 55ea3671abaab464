/**
 * Makes a function that runs a task at once while this turn of the event loop has spent less than a slice on such tasks, and
 * else in one of the next turns, in the order in which they came; the tasks must not throw.
 *
 * So many long tasks that come together do not hold up what is short and comes meanwhile: between two slices the event
 * loop looks at all connections.
 * @param sliceMs or a quarter of what the turn before spent on all else, when that is more: nor do many short ones starve them.
 * @param monotonic ms, never set.
 */
export function createTimeSlices(sliceMs: number, monotonic: () => number): (task: () => void) => void {
  let waiting: (() => void)[] = []
  let spentMs = 0
  let mostMs = sliceMs
  let begun = false
  let begunAt = 0

  function run(task: () => void): void {
    const began = monotonic()
    task()
    spentMs += monotonic() - began
  }

  function beginSlice(): void {
    const now = monotonic()
    mostMs = Math.max(sliceMs, (now - begunAt - spentMs) / 4)
    begunAt = now
    begun = waiting.length > 0
    spentMs = 0
    if (!begun) return
    setImmediate(beginSlice)
    const all = waiting
    waiting = []
    let done = 0
    for (; done < all.length && spentMs < mostMs; done += 1) run(all[done] as () => void)
    // What the tasks themselves have brought comes after those that waited before.
    waiting = [...all.slice(done), ...waiting]
  }

  return task => {
    if (!begun) {
      begun = true
      begunAt = monotonic()
      setImmediate(beginSlice)
    }
    if (waiting.length === 0 && spentMs < mostMs) run(task)
    else waiting.push(task)
  }
}
