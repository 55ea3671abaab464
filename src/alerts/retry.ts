import { setTimeout as sleep } from 'node:timers/promises'
import { BacklogFull, StoreUnavailable } from '../outbox/outbox.ts'

export type Retry = ReturnType<typeof createRetry>

/**
 * Repeats calls to the store until it takes them: an alert is not given up because a disk is full.
 * @param retryMs pause between two tries. @param failed called for each try that failed.
 */
export function createRetry(retryMs: number, failed: (doing: string, error: Error) => void) {
  const stopping = new AbortController()
  const { signal } = stopping

  return {
    /** @returns null when `stop` was called and the store did not take it. */
    async callStore<T>(doing: string, call: () => Promise<T>): Promise<T | null> {
      while (true) {
        try {
          return await call()
        } catch (error) {
          if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
          failed(doing, error)
        }
        // An abort rejects the pause.
        if (!signal.aborted) await sleep(retryMs, undefined, { signal }).catch(() => {})
        if (signal.aborted) return null
      }
    },
    /** From now on each call is made once. */
    stop: (): void => stopping.abort(),
  }
}
