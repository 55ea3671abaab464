import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often the heap is looked at, ms. */
const EVERY_MS = 2000
/** Growth of a thread's heap since the last collection from which on another one pays, bytes. */
const GROWTH = { service: 16 * 1024 * 1024, store: 4 * 1024 * 1024 }
/** The share of the time in which the event loop did something, from which on a pause would be felt. */
const BUSY = 0.1

/** It collects as when memory runs out: an ordinary collection keeps the young generation's room, half of what a start leaves behind. */
const THOROUGHLY = { type: 'major', flavor: 'last-resort' }

/**
 * Collects garbage of the thread that calls it when that has little to do and its heap has grown: V8 keeps what a start or a
 * burst has left behind until it needs the room, which on a quiet machine is never. One collection takes 40 to 80 ms, and a
 * tenth of that in the store's thread, so a callback that comes just then waits that long.
 * @returns a function that ends it
 */
export function collectGarbageWhenIdle(thread: keyof typeof GROWTH): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: object) => void
  let before = performance.eventLoopUtilization()
  let size = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > BUSY || getHeapStatistics().total_heap_size < size + GROWTH[thread]) return
    gc(THOROUGHLY)
    size = getHeapStatistics().total_heap_size
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
