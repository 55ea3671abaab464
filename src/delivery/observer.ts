import type { Channel, NewMessage } from '../messages/message.ts'
import type { FinalAnswer, State } from '../outbox/outbox.ts'
import type { Outcome } from '../providers/provider.ts'

/** What delivery tells whoever counts and logs. Recipients only masked. */
export interface DeliveryObserver {
  attempt(event: {
    readonly message: NewMessage
    readonly provider: string
    readonly outcome: Outcome
    readonly attempts: number
    readonly tookMs: number
  }): void
  final(event: {
    readonly id: string
    readonly channel: Channel
    readonly kind: string
    readonly state: State
    readonly answer: FinalAnswer
    /** Arrival to end, ms; unknown for what the store settled by itself. */
    readonly tookMs?: number
    readonly providerId?: string
  }): void
  breaker(event: {
    readonly channel: Channel
    readonly provider: string
    readonly state: 'open' | 'closed'
    readonly reason: string
  }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
  /** A bug: a provider threw. */
  fault(event: { readonly error: Error }): void
}
