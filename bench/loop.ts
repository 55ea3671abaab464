/** The result of a load. */
export interface LoopResult {
  readonly done: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Keeps `width` calls of `once` in flight for some seconds (a closed loop). @param once rejects when something is wrong. */
export async function runLoop(
  width: number,
  seconds: number,
  once: () => Promise<void>,
): Promise<LoopResult> {
  const times: number[] = []
  const began = performance.now()
  const until = began + seconds * 1000
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (performance.now() < until) {
        const at = performance.now()
        await once()
        times.push(performance.now() - at)
      }
    }),
  )
  return summarize(times, performance.now() - began)
}

/** @param times of each call, ms. @param tookMs of all of them together. */
export function summarize(times: number[], tookMs: number): LoopResult {
  const sorted = Float64Array.from(times).sort()
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { done: sorted.length, perSecond: sorted.length / (tookMs / 1000), p50Ms: at(0.5), p99Ms: at(0.99) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}
