import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often the heap is looked at, ms. */
const EVERY_MS = 2000
/** Growth of a thread's heap since the last collection from which on another one pays, bytes. */
const GROWTH = { service: 16 * 1024 * 1024, store: 4 * 1024 * 1024 }
/** From this share of busy time of the event loop on, callers would notice a pause. */
const BUSY = 0.1
/** A thread is warm once it has worked for so long in all, ms: V8 has optimized the code that it runs often, and a collection drops that. */
const WARM_AFTER_MS = 2000
/** A warm thread is left alone until it has had little to do for so long, ms: a load that only pauses comes back sooner. */
const QUIET_MS = 30_000

/** Collects as when memory runs out: an ordinary collection would keep the young generation's room, half of what a start leaves behind. */
const THOROUGHLY = { type: 'major', flavor: 'last-resort' }

/**
 * Collects garbage of the thread that calls it when that has little to do and its heap has grown: V8 keeps what a start or a
 * burst has left behind until it needs the room, which on a quiet machine is never. One collection takes 40 to 80 ms, and a
 * tenth of that in the store's thread, so a callback that comes just then waits that long.
 */
export function collectGarbageWhenIdle(thread: keyof typeof GROWTH): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: object) => void
  const schedule = createCollectionSchedule(GROWTH[thread])
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { active, idle } = performance.eventLoopUtilization(now, before)
    before = now
    if (!schedule.isDue({ busyMs: active, idleMs: idle, heap: getHeapStatistics().total_heap_size })) return
    gc(THOROUGHLY)
    schedule.noteSize(getHeapStatistics().total_heap_size)
  }, EVERY_MS).unref()
}

/**
 * Decides when garbage is collected thoroughly: soon after a start, and else after a long quiet time.
 *
 * Such a collection makes a warm thread slow. The hidden classes of messages die with the last message, and all optimized code
 * that depends on them dies, too. The young generation starts at 1 MB again, so that a load that comes back causes 16 collections
 * in the place of one, and many of its objects get old. For its first second each callback takes half as much processor time again.
 * @param growth bytes since the last collection from which on another one pays
 */
export function createCollectionSchedule(growth: number) {
  let size = 0
  let workedMs = 0
  let quietMs = 0
  return {
    /** @param look busy and idle time since the call before, and the size of the heap, bytes. */
    isDue({ busyMs, idleMs, heap }: { busyMs: number; idleMs: number; heap: number }): boolean {
      const tookMs = busyMs + idleMs
      workedMs += busyMs
      quietMs = busyMs > tookMs * BUSY ? 0 : quietMs + tookMs
      if (quietMs === 0 || heap < size + growth) return false
      return workedMs < WARM_AFTER_MS || quietMs >= QUIET_MS
    },
    /** @param heap what is left after a collection, bytes. */
    noteSize(heap: number): void {
      size = heap
    },
  }
}
