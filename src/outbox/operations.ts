import type { Channel } from '../messages/message.ts'
import type {
  Acceptance,
  Accepted,
  DeliveryReport,
  EventQueue,
  KeptReport,
  ListFilter,
  Memo,
  MessageView,
  Outbox,
  QueuedEvent,
  Settled,
  Settlement,
  Summary,
} from './outbox.ts'

/**
 * The store's operations: plain data in and out, so that a call can go to another thread. `now`: ms since the epoch, by the
 * service's clock.
 */
export interface Operations {
  accept: { takes: { now: number; messages: readonly Acceptance[] }; gives: readonly Accepted[] }
  claim: {
    takes: { now: number; channel: Channel; limit: number; leaseMs: number }
    gives: Awaited<ReturnType<Outbox['claim']>>
  }
  settle: { takes: { now: number; id: string; token: string; settlement: Settlement }; gives: Settled }
  writeReceipt: { takes: DeliveryReport; gives: KeptReport }
  retryMessage: { takes: { now: number; id: string }; gives: boolean }
  cancelMessage: { takes: { now: number; id: string }; gives: boolean }
  allowAgain: { takes: { now: number; id: string }; gives: boolean }
  forgetRecipient: { takes: { recipientHash: string }; gives: number }
  probeCommit: { takes: { now: number }; gives: boolean }
  addEvent: { takes: Pick<QueuedEvent, 'type' | 'at' | 'data'>; gives: void }
  removeEvents: { takes: { seqs: readonly number[] }; gives: void }
  dropEvents: { takes: { most: number; before: number }; gives: number }
  readEvents: { takes: { limit: number }; gives: Awaited<ReturnType<EventQueue['readEvents']>> }
  writeMemo: { takes: Memo; gives: void }
  readMemos: { takes: { names: readonly string[] }; gives: ReadonlyMap<string, string> }
  readSummary: { takes: { now: number; since: number; stepMs: number }; gives: Omit<Summary, 'bounced'> }
  listMessages: { takes: { filter: ListFilter }; gives: readonly MessageView[] }
  findMessage: { takes: { id: string }; gives: MessageView | null }
}

export type OperationName = keyof Operations
export type Takes<N extends OperationName> = Operations[N]['takes']
export type Gives<N extends OperationName> = Operations[N]['gives']

/**
 * The store refuses values of this very call, such as a text that it cannot hold: trying again would not help. Nothing
 * of the call was written. The message names the kind of fault, never a value.
 */
export class ValuesRefused extends Error {
  override readonly name = 'ValuesRefused'
}

/** Calls one operation of a store. */
export type CallStore = <N extends OperationName>(name: N, takes: Takes<N>) => Promise<Gives<N>>

/**
 * What each operation is. A store that one process has for itself writes everything that comes together in one commit; on a shared
 * one, only calls of one kind share it, and only where `sharesCommit` says so: the others are rare.
 */
export const STORE_OPERATIONS = {
  accept: { writes: true, sharesCommit: true },
  claim: { writes: true, sharesCommit: true },
  settle: { writes: true, sharesCommit: true },
  writeReceipt: { writes: true, sharesCommit: true },
  retryMessage: { writes: true, sharesCommit: false },
  cancelMessage: { writes: true, sharesCommit: false },
  allowAgain: { writes: true, sharesCommit: false },
  forgetRecipient: { writes: true, sharesCommit: false },
  probeCommit: { writes: true, sharesCommit: false },
  addEvent: { writes: true, sharesCommit: false },
  removeEvents: { writes: true, sharesCommit: false },
  dropEvents: { writes: true, sharesCommit: false },
  writeMemo: { writes: true, sharesCommit: false },
  readEvents: { writes: false, sharesCommit: false },
  readMemos: { writes: false, sharesCommit: false },
  readSummary: { writes: false, sharesCommit: false },
  listMessages: { writes: false, sharesCommit: false },
  findMessage: { writes: false, sharesCommit: false },
} as const satisfies Record<OperationName, { writes: boolean; sharesCommit: boolean }>

type Table = typeof STORE_OPERATIONS
/** The operations of which calls share a commit on a shared store, and the others. */
export type SharedName = {
  [N in OperationName]: Table[N]['sharesCommit'] extends true ? N : never
}[OperationName]
export type OwnName = Exclude<OperationName, SharedName>

export function sharesCommit(name: OperationName): name is SharedName {
  return STORE_OPERATIONS[name].sharesCommit
}
