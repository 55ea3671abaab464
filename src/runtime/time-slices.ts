/**
 * Makes a function that runs a task at once while this turn of the event loop has spent less than a slice on such tasks, and
 * else in one of the next turns, in the order in which they came; the tasks must not throw.
 *
 * Long tasks that come together in numbers do not hold up a short one that comes meanwhile: between two slices the event
 * loop looks at all connections.
 * @param sliceMs more than one turn spends only when a single task takes longer.
 * @param monotonic ms, never set.
 */
export function createTimeSlices(sliceMs: number, monotonic: () => number): (task: () => void) => void {
  return createSlices(sliceMs, task => {
    const began = monotonic()
    task()
    return monotonic() - began
  })
}

/**
 * The same by number: a turn runs `most` tasks. It is for tasks that only begin something, such as by resolving a promise:
 * what follows runs when all tasks of the turn have ended, so that none of them can be measured.
 */
export function createCountedSlices(most: number): (task: () => void) => void {
  return createSlices(most, task => {
    task()
    return 1
  })
}

/** @param run runs a task and tells its share of the slice. */
function createSlices(slice: number, run: (task: () => void) => number): (task: () => void) => void {
  let waiting: (() => void)[] = []
  let spent = 0
  let begun = false

  function beginSlice(): void {
    begun = waiting.length > 0
    spent = 0
    if (!begun) return
    setImmediate(beginSlice)
    const all = waiting
    waiting = []
    let done = 0
    for (; done < all.length && spent < slice; done += 1) spent += run(all[done] as () => void)
    // Tasks that these tasks added come after those that waited before.
    waiting = [...all.slice(done), ...waiting]
  }

  return task => {
    if (!begun) {
      begun = true
      setImmediate(beginSlice)
    }
    if (waiting.length === 0 && spent < slice) spent += run(task)
    else waiting.push(task)
  }
}
