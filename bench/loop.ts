/** What a loop did. */
export interface Loop {
  readonly done: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Keeps `width` calls of `once` under way for some seconds. @param once rejects for what must not happen. */
export async function runLoop(width: number, seconds: number, once: () => Promise<void>): Promise<Loop> {
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
  return summed(times, performance.now() - began)
}

export function summed(times: number[], tookMs: number): Loop {
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
