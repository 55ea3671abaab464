/**
 * Makes a function that runs a task at once as long as this turn of the event loop has spent less than a slice on such tasks, and
 * otherwise in one of the next turns, in the order in which the tasks came; they must not throw.
 *
 * Many long tasks that come together do not hold up a short one that comes meanwhile: between two slices the event loop looks at
 * all connections.
 * @param sliceMs a turn spends more than this only when a single task takes longer.
 * @param monotonic ms, never set.
 */
export function createTimeSlices(sliceMs: number, monotonic: () => number): (task: () => void) => void {
  let waiting: (() => void)[] = []
  let spentMs = 0
  let begun = false

  function run(task: () => void): void {
    const began = monotonic()
    task()
    spentMs += monotonic() - began
  }

  function beginSlice(): void {
    begun = waiting.length > 0
    spentMs = 0
    if (!begun) return
    setImmediate(beginSlice)
    const all = waiting
    waiting = []
    let done = 0
    for (; done < all.length && spentMs < sliceMs; done += 1) run(all[done] as () => void)
    // Tasks that these tasks added come after those that waited before.
    waiting = [...all.slice(done), ...waiting]
  }

  return task => {
    if (!begun) {
      begun = true
      setImmediate(beginSlice)
    }
    if (waiting.length === 0 && spentMs < sliceMs) run(task)
    else waiting.push(task)
  }
}

/**
 * Makes a function that defers a task to the end of the current tick of the event loop; the tasks of one tick run
 * together, in their order, and must not throw.
 *
 * Answers that are ready in the same tick are written this way: each write wakes the process on the other side, and a write to a
 * process that is awake already costs a third as much. Under light load a tick has one answer, and nothing waits.
 */
export function createEndOfTickBatch(): (task: () => void) => void {
  let tasks: (() => void)[] = []
  const end = () => {
    const all = tasks
    tasks = []
    for (const task of all) task()
  }
  return task => {
    if (tasks.push(task) === 1) setImmediate(end)
  }
}
