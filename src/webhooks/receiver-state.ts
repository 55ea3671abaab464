import type { PostResult } from './post.ts'

const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000
/** A receiver may ask for a longer pause, ms. */
const LONGEST_PAUSE_MS = 3_600_000

export type ReceiverState = ReturnType<typeof createReceiverState>

/**
 * The receiver of webhooks as its answers show it: whether it takes POSTs, and when it is asked again.
 * @param now ms since the epoch. @param random from 0 to 1: spreads out the retries of many senders.
 */
export function createReceiverState(now: () => number, random: () => number) {
  let isGone = false
  let failing: ReturnType<ReceiverState['failing']> = null
  let failures = 0
  let dueAt = 0

  return {
    /** Whether a POST may be tried now. */
    isDue: (): boolean => !isGone && now() >= dueAt,
    record(result: PostResult): void {
      if (result.is === 'delivered') {
        failing = null
        failures = 0
        return
      }
      isGone = result.is === 'gone'
      failing = { since: failing?.since ?? now(), reason: result.reason }
      const asked = result.is === 'gone' ? 0 : Math.min(result.retryAfterMs ?? 0, LONGEST_PAUSE_MS)
      const backoff = Math.min(FIRST_RETRY_MS * 2 ** failures++, LONGEST_RETRY_MS)
      dueAt = now() + Math.max(backoff * (0.5 + random() / 2), asked)
    },
    /** It answered 410: it is told nothing more before the next start. */
    isGone: (): boolean => isGone,
    /** Why the last POST failed; null: it did not. */
    failing: (): { readonly since: number; readonly reason: string } | null => failing,
  }
}
