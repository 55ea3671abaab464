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
