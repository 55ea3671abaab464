/** Slices that give way in a row, at most: so many turns that do nothing else take about as long as a slice. */
const MOST_LEFT_OUT = 64

/** Runs a task now, or in one of the next turns of the event loop. */
export type TimeSlices = (task: () => void) => void

/**
 * Makes a function that runs a task at once as long as this turn of the event loop has spent less than a slice on such tasks, and
 * otherwise in one of the next turns, in the order in which the tasks came; they must not throw.
 *
 * Many long tasks that come together do not hold up a short one that comes meanwhile: between two slices the event loop looks at
 * all connections.
 * @param sliceMs a turn spends more than this only when a single task takes longer.
 * @param monotonic ms, never set.
 * @param mustGiveWay says whether a turn should leave its slice out; but not many turns in a row do.
 */
export function createTimeSlices(
  sliceMs: number,
  monotonic: () => number,
  mustGiveWay: () => boolean = () => false,
): TimeSlices {
  let waiting: (() => void)[] = []
  let spentMs = 0
  let begun = false
  let leftOut = 0

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
    if (leftOut < MOST_LEFT_OUT && mustGiveWay()) {
      leftOut += 1
      return
    }
    leftOut = 0
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
    if (waiting.length === 0 && spentMs < sliceMs && !mustGiveWay()) run(task)
    else waiting.push(task)
  }
}

/**
 * Tells how long something that is read now can have lain unread at most, ms. The kernel does not say when it came; but the event
 * loop has looked at all connections since the last beat but one.
 * @param everyMs between two beats; what is read while all is well can have lain for two of them.
 */
export function createUnreadClock(everyMs: number, monotonic: () => number) {
  let last = monotonic()
  let lastButOne = last
  const timer = setInterval(() => {
    lastButOne = last
    last = monotonic()
  }, everyMs).unref()
  return { mostUnreadMs: (): number => monotonic() - lastButOne, stop: () => clearInterval(timer) }
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
