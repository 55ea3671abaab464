import type { ConnectionEnd } from '../ddq/connection.ts'

/** The state of the subscription, for people to look at. */
export interface SubscriptionStatus {
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, ms. */
  readonly forMs: number
  /** Why it last ended, or could not begin; null: that has not happened. */
  readonly lastEnd: ConnectionEnd | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly { readonly topic: string; readonly why: string }[]
}

/**
 * Follows the subscription over its connections: the time without one counts from its end on, however many tries to
 * connect fail meanwhile.
 * @param now ms since any origin, never going back.
 */
export function createSubscriptionTracker(now: () => number) {
  let subscribed = false
  let since = now()
  let lastEnd: ConnectionEnd | null = null
  let refused: readonly { readonly topic: string; readonly why: string }[] = []
  let refusedNow: { readonly topic: string; readonly why: string }[] = []

  const enter = (next: boolean) => {
    if (next !== subscribed) since = now()
    subscribed = next
    refusedNow = []
  }
  return {
    /** Connecting begins, for the first time or after another process did it. */
    recordStart(): void {
      enter(false)
      since = now()
      lastEnd = null
      refused = []
    },
    /** A topic is refused; comes before `recordSubscription`. */
    recordRefusal: (topic: string, why: string): void => void refusedNow.push({ topic, why }),
    recordSubscription(): void {
      refused = refusedNow
      enter(true)
    },
    recordEnd(end: ConnectionEnd): void {
      lastEnd = end
      enter(false)
    },
    status: (): SubscriptionStatus => ({ subscribed, forMs: now() - since, lastEnd, refused }),
  }
}
