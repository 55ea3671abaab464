import type { Channel } from '../messages/message.ts'
import type {
  Acceptance,
  Accepted,
  Claim,
  DeliveryReport,
  EndedCount,
  EventBatch,
  KeptReport,
  ListFilter,
  Memo,
  MessageList,
  MessageView,
  NewEvent,
  Settled,
  Settlement,
  Summary,
  WaitingDestination,
} from './outbox.ts'

/**
 * The store's operations: plain data in and out, so that a call can go to another thread. `now`: ms since the epoch, by the
 * service's clock.
 */
export interface Operations {
  accept: { takes: { now: number; messages: readonly Acceptance[] }; gives: readonly Accepted[] }
  claim: {
    takes: {
      now: number
      channel: Channel
      limit: number
      leaseMs: number
      passOver: readonly string[]
      codesOnly: boolean
      only: readonly string[]
    }
    gives: Claim
  }
  beginAttempt: {
    takes: { id: string; token: string; provider?: string | undefined }
    gives: 'outdated' | undefined
  }
  settle: { takes: { now: number; id: string; token: string; settlement: Settlement }; gives: Settled }
  writeReceipt: { takes: DeliveryReport; gives: KeptReport }
  retryMessage: { takes: { now: number; id: string }; gives: boolean }
  cancelMessage: { takes: { now: number; id: string }; gives: boolean }
  allowAgain: { takes: { now: number; id: string }; gives: boolean }
  forgetRecipient: { takes: { recipientHash: string }; gives: number }
  probeCommit: { takes: { now: number }; gives: boolean }
  addEvent: { takes: NewEvent; gives: void }
  removeEvents: { takes: { seqs: readonly number[] }; gives: void }
  dropEvents: { takes: { most: number; before: number }; gives: number }
  readEvents: { takes: { limit: number }; gives: EventBatch }
  writeMemo: { takes: Memo; gives: void }
  readMemos: { takes: { names: readonly string[] }; gives: ReadonlyMap<string, string> }
  readSummary: { takes: { now: number; since: number }; gives: Omit<Summary, 'bounced'> }
  readWaiting: { takes: { channel: Channel; known: readonly string[] }; gives: readonly WaitingDestination[] }
  listMessages: { takes: { filter: ListFilter }; gives: MessageList }
  readEnded: { takes: { dayBefore: number; today: number }; gives: readonly EndedCount[] }
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

/** Those that only read. A store that one process has for itself writes everything else that comes together in one commit. */
const READING: ReadonlySet<OperationName> = new Set([
  'readEvents',
  'readMemos',
  'readSummary',
  'readWaiting',
  'listMessages',
  'readEnded',
  'findMessage',
])

export function isWriting(name: OperationName): boolean {
  return !READING.has(name)
}

/** The operations of which calls of one kind share a commit on a shared store; the others are rare. */
export type SharedName = 'accept' | 'beginAttempt' | 'claim' | 'settle' | 'writeReceipt'
export type OwnName = Exclude<OperationName, SharedName>
