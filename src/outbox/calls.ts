import type { Channel } from '../messages/message.ts'
import type {
  Acceptance,
  Accepted,
  DeliveryReport,
  EventQueue,
  ListFilter,
  MessageView,
  Outbox,
  QueuedEvent,
  Settled,
  Settlement,
  StoreLoss,
  Summary,
} from './outbox.ts'

/**
 * The messages between the service's thread and the store's: plain data, copied; many calls in one message each way.
 */

/** Every call with its argument and its result. `now`: ms since the epoch, by the service's clock. */
export interface StoreCalls {
  accept: { takes: { now: number; messages: readonly Acceptance[] }; gives: readonly Accepted[] }
  claim: {
    takes: { now: number; channel: Channel; limit: number; leaseMs: number }
    gives: Awaited<ReturnType<Outbox['claim']>>
  }
  settle: { takes: { now: number; id: string; token: string; settlement: Settlement }; gives: Settled }
  writeReceipt: {
    takes: DeliveryReport
    gives: 'recorded' | 'stale' | 'unknown'
  }
  retryMessage: { takes: { now: number; id: string }; gives: boolean }
  cancelMessage: { takes: { now: number; id: string }; gives: boolean }
  probeCommit: { takes: { now: number }; gives: boolean }
  readSummary: { takes: { since: number; stepMs: number }; gives: Summary }
  listMessages: { takes: { filter: ListFilter }; gives: readonly MessageView[] }
  findMessage: { takes: { id: string }; gives: MessageView | null }
  readMemos: { takes: { names: readonly string[] }; gives: ReadonlyMap<string, string> }
  addEvent: { takes: Pick<QueuedEvent, 'type' | 'at' | 'data'>; gives: null }
  readEvents: { takes: { limit: number }; gives: Awaited<ReturnType<EventQueue['readEvents']>> }
  removeEvents: { takes: { seqs: readonly number[] }; gives: null }
  dropEvents: { takes: { most: number; before: number }; gives: number }
  /** Prunes what is older than the retention, if that was not done for a while. */
  prune: { takes: { now: number }; gives: null }
}

/** A message that the store ended by itself. */
export type SettledByStore = CallResult<'claim'>['settled'][number]

export type CallName = keyof StoreCalls
export type CallArguments<N extends CallName> = StoreCalls[N]['takes']
export type CallResult<N extends CallName> = StoreCalls[N]['gives']

/** A call on its way: its number, what is called, with what. */
export type StoreCall = { [N in CallName]: readonly [number, N, CallArguments<N>] }[CallName]

/** The failure of a call. `unavailable`: nothing was written; `refused`: values of its own; `fault`: a bug. */
export interface CallFailure {
  readonly is: 'unavailable' | 'backlog' | 'refused' | 'fault'
  readonly message: string
  readonly cause?: unknown
}

/** The answer to a call: its number, value, or null and the failure. */
export type StoreReply = readonly [number, unknown, CallFailure?]

/** From the service's thread to the store's. */
export type MessageToWorker = readonly StoreCall[] | 'close' | { readonly backUpTo: string }

/** From the store's thread to the service's. */
export type MessageFromWorker =
  | { readonly is: 'open'; readonly loss: StoreLoss | null }
  | { readonly is: 'unusable'; readonly message: string; readonly cause?: unknown }
  /**
   * The replies to calls that shared a transaction, and how long it took with its commit, ms. `batches`: how many
   * messages from the service's thread are answered with them.
   */
  | {
      readonly is: 'replies'
      readonly replies: readonly StoreReply[]
      readonly ms: number
      readonly batches: number
    }
  /** A failure that concerns no call: of a checkpoint or of pruning. */
  | { readonly is: 'background-failure'; readonly doing: string; readonly message: string }
  /** The copy is made; or why it is not. */
  | { readonly is: 'backed-up'; readonly failure?: string }
  | { readonly is: 'closed' }
