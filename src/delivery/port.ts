import type { PartialFault } from '../events/events.ts'
import type { Words } from '../language/sentence.ts'
import type { Channel, NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import type { FinalAnswer, FinalState, Lease } from '../outbox/outbox.ts'
import type { CircuitState } from './health.ts'
import type { LimitReason } from './limiter.ts'

/** The port of the delivery: the terms in which a callback hands its messages over and waits for their verdicts. */

/** A message that was just accepted, with its finished bytes. */
export interface Handover {
  readonly message: NewMessage
  /** Where it has a place in memory, as `sending`; otherwise it was stored as `queued`, and is due. */
  readonly lease?: Lease | undefined
  /** Of a code: an older one of its group that waits in memory is superseded. */
  readonly groupKey?: string | undefined
  readonly outgoing: Outgoing
}

/** Where callbacks leave their messages. */
export interface DeliveryIntake {
  /** A place in memory for a message that is about to be accepted; undefined: leave it to the store. */
  reservePlace(channel: Channel, purpose: Purpose, destination: string): Lease | undefined
  /** Gives back a place that was not used. */
  releasePlace(channel: Channel): void
  /**
   * Takes an accepted message over. One that was left to the store may have been claimed before. Its verdict is pending at once when none
   * comes soon: its provider or destination is being left alone, or memory is full of what is before it.
   */
  submit(handover: Handover): void
  /** Something was stored as `queued` and is due. */
  wake(channel: Channel): void
}

/** The loop that brings messages from the outbox to their providers, and the only one that settles them. */
export interface Delivery extends DeliveryIntake {
  /** An operator has made a message due, as a rule after a repair: a carrier that is left alone is tried at once, too. */
  tryNow(channel: Channel): void
  status(): readonly ChannelStatus[]
  start(): void
  /**
   * Ends: gives back what has not begun, lets what is in flight finish for `graceMs`, then aborts it and settles what
   * that became. Resolves when nothing is reserved, in flight or unsettled, or after another `abortMs`.
   */
  stop(graceMs: number, abortMs: number): Promise<void>
}

/** How a channel does with one of its providers. */
export interface ChannelStatus {
  readonly channel: Channel
  readonly provider: string
  readonly inFlight: number
  readonly waiting: number
  /** Attempts that wait for their final reply for long, and count against no limit. They are in `inFlight`. */
  readonly awaitingReply: number
  /** How many attempts may be under way now; why, as a word of a closed list; and why, as a sentence for people. */
  readonly limit: number
  readonly limitReason: LimitReason
  readonly limitWhy: Words
  readonly breaker: CircuitState
  readonly breakerUntil: number | null
  /** What the carrier itself is left alone for, since when and until when; null: it is well. */
  readonly fault: PartialFault | null
  /** What it refuses though it takes the rest. */
  readonly partialFaults: readonly PartialFault[]
  /**
   * The countries for which it is asked after the other carriers of a route: its delivery reports are late or bad, or have stopped. The
   * empty one stands for all with few reports of their own.
   */
  readonly secondIn: readonly string[]
  /** Where its messages go that are under way here; with the first carrier of a channel also where those go that wait, or rest. */
  readonly destinations: readonly DestinationStatus[]
}

/** How this process does with one destination. */
export interface DestinationStatus {
  readonly destination: string
  /** The domain of its mailboxes, or what masked numbers show of a country; null: none of its messages was tried of late. */
  readonly place: string | null
  readonly inFlight: number
  /** How many wait in memory. */
  readonly waiting: number
  /** Nothing goes there until then, ms since the epoch, and why; null: it does not rest. */
  readonly rest: { readonly until: number; readonly reply: Words } | null
}

/** What became of one message, for the callback that waits for it. */
export type Verdict =
  | { readonly is: 'final'; readonly state: FinalState; readonly answer: FinalAnswer }
  /** Not settled before the caller must be answered: it is stored, and being tried until it expires. */
  | { readonly is: 'pending' }

/** Brings the end of a message to the callbacks that wait for it. In memory, of this process. */
export interface Verdicts {
  /** Calls back once, with the verdict; at once when it is known already. @returns a function that stops waiting. */
  wait(id: string, heard: (verdict: Verdict) => void): () => void
  announce(id: string, verdict: Verdict): void
  /** Delivery has ended: whoever waits, or will wait, for an end that is not known hears at once that it is pending. */
  end(): void
}
