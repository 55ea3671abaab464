import type { Channel } from '../messages/message.ts'
import type {
  Acceptance,
  Accepted,
  ListFilter,
  MessageView,
  Outbox,
  Settled,
  Settlement,
  Summary,
} from './outbox.ts'

/**
 * What crosses between the service's thread and the store's. Plain data, copied; many calls in one message each way.
 */

/** Every call, what it takes and what it gives. `now`: ms since the epoch, by the service's clock. */
export interface StoreCalls {
  accept: { takes: { now: number; messages: readonly Acceptance[] }; gives: readonly Accepted[] }
  claim: {
    takes: { now: number; channel: Channel; limit: number; leaseMs: number }
    gives: Awaited<ReturnType<Outbox['claim']>>
  }
  settle: { takes: { now: number; id: string; token: string; settlement: Settlement }; gives: Settled }
  receipt: {
    takes: { channel: Channel; providerId: string; status: string; errorCode: string | null; at: number }
    gives: 'recorded' | 'stale' | 'unknown'
  }
  retry: { takes: { now: number; id: string }; gives: boolean }
  cancel: { takes: { now: number; id: string }; gives: boolean }
  probe: { takes: { now: number }; gives: boolean }
  summary: { takes: { since: number; stepMs: number }; gives: Summary }
  list: { takes: { filter: ListFilter }; gives: readonly MessageView[] }
  find: { takes: { id: string }; gives: MessageView | null }
  notes: { takes: { names: readonly string[] }; gives: ReadonlyMap<string, string> }
  /** Prunes what is older than the retention, if that was not done for a while. */
  tend: { takes: { now: number }; gives: null }
}

/** A message that the store ended by itself. */
export type SettledByStore = CallResult<'claim'>['settled'][number]

export type CallName = keyof StoreCalls
export type CallArguments<N extends CallName> = StoreCalls[N]['takes']
export type CallResult<N extends CallName> = StoreCalls[N]['gives']

/** A call on its way: its number, what is called, with what. */
export type StoreCall = { [N in CallName]: readonly [number, N, CallArguments<N>] }[CallName]

/** What went wrong with a call. `unavailable`: nothing was written; `fault`: a bug. */
export interface CallFailure {
  readonly is: 'unavailable' | 'backlog' | 'fault'
  readonly message: string
  readonly cause?: unknown
}

/** Its answer: number, value, or null and the failure. */
export type StoreReply = readonly [number, unknown, CallFailure?]

/** Service's thread to the store's. */
export type MessageToWorker = readonly StoreCall[] | 'close'

/** Store's thread to the service's. */
export type MessageFromWorker =
  | { readonly is: 'open' }
  | { readonly is: 'unusable'; readonly message: string; readonly cause?: unknown }
  /**
   * The replies to calls that shared a transaction, and how long it took with its commit, ms. `taken`: how many
   * messages were worked off with them.
   */
  | {
      readonly is: 'replies'
      readonly replies: readonly StoreReply[]
      readonly ms: number
      readonly taken: number
    }
  /** A fault that concerns no call: a checkpoint or pruning that failed. */
  | { readonly is: 'trouble'; readonly doing: string; readonly message: string }
  | { readonly is: 'closed' }
