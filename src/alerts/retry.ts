import { BacklogFull, StoreUnavailable } from '../outbox/outbox.ts'

/** Tries until the store takes it: an alert is not given up because a disk is full. */
export interface Retry {
  /** Null: told to end, and the store did not take it. */
  persist<T>(doing: string, work: () => Promise<T>): Promise<T | null>
  /** From now on each thing is tried once. */
  end(): void
}

/** @param retryMs between two tries. @param failed called for each try that failed. */
export function createRetry(
  retryMs: number,
  failed: (event: { readonly doing: string; readonly error: Error }) => void,
): Retry {
  let ended = false
  let wake = () => {}
  const pause = () =>
    new Promise<void>(resolve => {
      const timer = setTimeout(resolve, retryMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  return {
    async persist(doing, work) {
      while (true) {
        try {
          return await work()
        } catch (error) {
          if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
          failed({ doing, error })
        }
        if (!ended) await pause()
        if (ended) return null
      }
    },
    end() {
      ended = true
      wake()
    },
  }
}
