import type { End } from '../ddq/connection.ts'

/** How the subscription does, for people to look at. */
export interface SubscriptionStatus {
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, ms. */
  readonly forMs: number
  /** Why it last ended, or could not begin; null: that has not happened. */
  readonly lastEnd: End | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly { readonly topic: string; readonly why: string }[]
}

/** Hears of each connection; the time that a subscription is away counts over all the tries that fail meanwhile. */
export interface Subscription {
  /** Connecting begins, for the first time or after another process did it. */
  began(): void
  /** A topic is refused; told before `subscribed`. */
  refused(topic: string, why: string): void
  subscribed(): void
  ended(end: End): void
  standing(): SubscriptionStatus
}

/** @param now ms since any origin, never going back. */
export function createSubscription(now: () => number): Subscription {
  let subscribed = false
  let since = now()
  let lastEnd: End | null = null
  let refused: readonly { readonly topic: string; readonly why: string }[] = []
  let refusedNow: { readonly topic: string; readonly why: string }[] = []

  const enter = (next: boolean) => {
    if (next !== subscribed) since = now()
    subscribed = next
    refusedNow = []
  }
  return {
    began() {
      enter(false)
      since = now()
      lastEnd = null
      refused = []
    },
    refused: (topic, why) => refusedNow.push({ topic, why }),
    subscribed() {
      refused = refusedNow
      enter(true)
    },
    ended(end) {
      lastEnd = end
      enter(false)
    },
    standing: () => ({ subscribed, forMs: now() - since, lastEnd, refused }),
  }
}
