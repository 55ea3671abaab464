import { ToldError, type Words } from '../language/sentence.ts'
import type { Channel, FaultScope, NewMessage } from '../messages/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoreKeys } from './encryption.ts'

/**
 * The port of the outbox: where callback and delivery meet. sqlite/outbox.ts and postgres/outbox.ts implement it;
 * test/outbox/contract.ts tests every promise written here.
 *
 *     queued → sending(lease) → sent | refused | expired | superseded | unknown | held
 *
 * A retry goes back to `queued` with a later `dueAt`. Nothing leaves a final state.
 */
export const LIVE_STATES = ['queued', 'sending'] as const
export const FINAL_STATES = ['sent', 'refused', 'expired', 'superseded', 'unknown', 'held'] as const
export type LiveState = (typeof LIVE_STATES)[number]
export type FinalState = (typeof FINAL_STATES)[number]
export type State = LiveState | FinalState

/** The duplicate of a message that ended this long ago or less gets the same answer, and nothing new is stored. */
export const DEDUPE_WINDOW_MS = 45_000

/** Whose fault it is that a message did not arrive, as of a refusal: `ours` is for the operator to mend, `later` the provider's own. */
export const FAULT_VERDICTS = [
  'recipient',
  'content',
  'country',
  'ours',
  'later',
  'limit',
  'ambiguous',
] as const

/** Why a message did not arrive that its provider took, as the provider's table of codes has it. */
export interface ReportFault {
  readonly verdict: (typeof FAULT_VERDICTS)[number]
  /** What else it concerns. */
  readonly scope: FaultScope
  /** In the words of the table, English; null: the table does not have the code. */
  readonly reason: string | null
}

/** A provider's later report on a message that it took. */
export interface DeliveryReport {
  readonly channel: Channel
  /** Absent: the report names our id alone. */
  readonly providerId?: string
  /** Our id of the message, when the report names it: it may come before the provider's id is known here. */
  readonly id?: string
  /** In the provider's words. */
  readonly status: string
  readonly errorCode: string | null
  /** Absent: it arrived, or is on its way. */
  readonly fault?: ReportFault | undefined
  /** Why it did not arrive, in the other side's words, redacted. */
  readonly reply?: string | undefined
  /** When it came about, as the carrier says, ms since the epoch; absent: the carrier does not say. */
  readonly happenedAt?: number | undefined
  /** When it came, ms since the epoch. */
  readonly at: number
  /** Of a mail that came back: hashes of the recipients that the report names. It counts only when the message's is one of them. */
  readonly recipients?: readonly string[]
}

/** What became of a delivery report. */
export type KeptReport =
  /** It is kept with its message. `recipient`: the hash of its recipient. */
  | {
      readonly is: 'recorded'
      readonly kind: string
      readonly masked: string
      readonly recipient: string
      readonly country: string | null
      readonly arrivedAt: number
    }
  /** A later one is known, or no message of ours is meant. */
  | { readonly is: 'stale' | 'unknown' }

/** A claim on a message. Only the holder of the current lease may settle it. */
export interface Lease {
  /** Names the claim: unique for every claim ever made. */
  readonly token: string
  /** ms since the epoch. */
  readonly until: number
  /**
   * The attempt of a message that is accepted under this lease begins at once, so a process that dies may have sent it; absent:
   * it begins only after `Outbox.beginAttempt`.
   */
  readonly begins?: boolean
}

/** One use of a quota: a counter of a window, counted inside the insert's transaction. */
export interface Charge {
  /** The quota's name in answer, metric and log: `recipient-10m`, `sms-prefix-10m`, … */
  readonly quota: string
  /** The owner of the counter, as an HMAC; never a plain recipient. */
  readonly bucket: string
  readonly windowMs: number
  /** The use from which on the caller is told that the limit is near. */
  readonly warnAt?: number
  /**
   * It counts only mails to recipients to whom the store has sent nothing, as far as it remembers, and SMS to numbers to which nothing
   * was delivered on an earlier day (UTC) of the last KNOWN_MS.
   */
  readonly newcomersOnly?: true
  /** The most in any window of `windowMs` (a sliding estimate over two fixed windows) */
  readonly limit: number
}

/** Lists what a message uses of each quota. @param country ISO 3166, SMS only. */
export type ChargesOf = (message: NewMessage, country: string | undefined) => readonly Charge[]

/** Names the destination of a message. @param country ISO 3166, SMS only. */
export type DestinationOf = (
  message: Pick<NewMessage, 'channel' | 'kind' | 'recipient'>,
  country: string | undefined,
) => string

/** Where a message was counted. It is kept in the message's row, for the refund. */
export type ChargedWindows = readonly (readonly [counter: string, windowStart: number])[]

export interface Acceptance {
  readonly message: NewMessage
  /** HMAC that its duplicates share: whatever says the same to the same recipient. */
  readonly dedupeKey: string
  /** HMAC of channel, recipient, kind and plugin_id; code kinds only. Newer supersedes older within a group. */
  readonly groupKey?: string
  /** HMAC of channel and recipient: how the console finds a recipient's messages. */
  readonly recipientHash: string
  readonly charges: readonly Charge[]
  /** Of its number, ISO 3166; SMS only. It stays with the message, which is counted by it. */
  readonly country?: string | undefined
  /**
   * Store it as `sending`, claimed by us with its first attempt counted, because it is handed over from memory at
   * once; absent: `queued`, due now.
   */
  readonly lease?: Lease
  /** How long after its end a duplicate answers for it, ms; DEDUPE_WINDOW_MS unless given. */
  readonly dedupeWindowMs?: number
  /** Written in the transaction that stores the message, and only if it is stored. */
  readonly memo?: Memo
  /** Nobody may send it: it ends as `held` at once, without its content, counted by no quota and against no limit. */
  readonly held?: true
}

/**
 * A value kept beside the messages, such as who was alarmed about which device. It outlives a restart, is shared by
 * replicas, and holds nothing that must not be read on disk: its name is a keyed hash.
 */
export interface Memo {
  readonly name: string
  readonly value: string
  /** It may be deleted from then on, ms since the epoch. */
  readonly expiresAt: number
}

/** The result of accepting one message. */
export type Accepted =
  /**
   * Stored. `superseded`: ids of older codes that waited and are now final. `nearing`: quotas of which it used up
   * their `warnAt` or more; absent when there is none. `newcomers`: the use of what counts it as a newcomer; absent when nothing does.
   */
  | {
      readonly is: 'stored'
      readonly superseded: readonly string[]
      readonly nearing?: readonly string[]
      readonly newcomers?: number
    }
  /** Its duplicate is live: nothing stored. Wait for `id`. */
  | { readonly is: 'in-progress'; readonly id: string }
  /** Its duplicate ended, and recently so (or was superseded and is still valid): nothing stored, same answer. */
  | { readonly is: 'finished'; readonly id: string; readonly state: FinalState; readonly answer: FinalAnswer }
  /** A quota is used up: nothing stored. */
  | { readonly is: 'over-quota'; readonly quota: string; readonly retryAfterSeconds: number }
  /** The store cannot hold its values and never will: nothing stored. */
  | { readonly is: 'refused' }
  /** Mails to its recipient came back: nothing stored. */
  | { readonly is: 'bounced' }
  /** Stored as what nobody may send, see `Acceptance.held`. */
  | { readonly is: 'held' }

/** The answer for a final message: why it was refused, null for every other state. `limit`: its number may have no more. */
export type FinalAnswer = 'recipient' | 'content' | 'country' | 'limit' | null

/** The claim on a message for an attempt. */
export interface ClaimOfMessage {
  readonly lease: Lease
  /** Attempts so far, this one included. */
  readonly attempts: number
  /** How many copies of it may have been sent. */
  readonly ambiguous: number
  /** The provider that may have sent the latest copy; empty when only a process knew that died. Absent without one. */
  readonly ambiguousAt?: string
  readonly groupKey?: string
}

/** A message claimed for an attempt, with what is needed to render it again. */
export interface ClaimedMessage extends NewMessage, ClaimOfMessage {}

/** One line of a message's timeline. */
export interface AttemptRecord {
  /** ms since the epoch. */
  readonly at: number
  readonly tookMs: number
  readonly provider: string
  /**
   * `sent`, `rejected`, `retry`, `limit`, `ambiguous`, and for what never was an attempt: `skipped`, `lease-lost`,
   * `released`, `cancelled`, `held`.
   */
  readonly outcome: string
  /** SMTP or provider's code, or a reason of ours. */
  readonly code: string
  /** By `packWords`. */
  readonly reply: string
  /** Another recipient would not have met it, and the operator has nothing to mend. */
  readonly ofRecipient?: true
}

/** The instruction how to settle a claimed message. `records`: lines for its timeline. */
export type Settlement =
  | {
      readonly to: 'final'
      readonly state: FinalState
      readonly answer: FinalAnswer
      readonly providerId?: string
      /** An SMS that was sent counts as delivered: no report will say so. */
      readonly delivered?: boolean
      readonly records?: readonly AttemptRecord[]
    }
  /**
   * Back to `queued`, due at `dueAt`. If a newer message of its group exists it becomes `superseded` instead; if
   * `dueAt` is not before its expiry, `expired`, or `unknown` if any copy of it may have been sent. `ambiguous`: how
   * many copies of it may have been sent, when that has changed; after the last that may go out it is `unknown`, unless
   * `canBeAsked` says that its provider knows what became of it. `uncounted`: the attempt never began, so it does not count.
   */
  | {
      readonly to: 'queued'
      readonly dueAt: number
      readonly ambiguous?: number
      readonly canBeAsked?: boolean
      readonly uncounted?: boolean
      readonly records?: readonly AttemptRecord[]
    }

/** The result of settling: the message's state now, or `lost` when the lease was no longer ours (nothing was written). */
export type Settled = { readonly state: State; readonly answer: FinalAnswer } | { readonly state: 'lost' }

/** The store cannot commit now: full disk, lock, I/O error, connection lost. Nothing of the call was stored. */
export class StoreUnavailable extends ToldError {
  override readonly name = 'StoreUnavailable'
}
/** MAX_BACKLOG live messages are stored: nothing of the call was stored. */
export class BacklogFull extends Error {
  override readonly name = 'BacklogFull'
}
/** The store cannot be used at all, and what the operator can do about it. Refuses the start. */
export class StoreUnusable extends ToldError {
  override readonly name = 'StoreUnusable'
  /** Whether it is over when the database, or the way to it, is there: whoever starts may wait for that. */
  readonly passes: boolean

  constructor(words: Words, { cause, passes = false }: { cause?: unknown; passes?: boolean } = {}) {
    super(words, { cause })
    this.passes = passes
  }
}

/** Is told of a failure that concerns no call, such as a checkpoint that failed. Never a secret or a recipient. */
export type StoreLog = (event: { readonly doing: string; readonly message: string }) => void

/** The enterprise that a process serves, as its settings have it. */
export interface Enterprise {
  readonly corpId: string
  /** The one that the store is noted to be of, where an operator has said that this is the same one. */
  readonly formerly?: string | undefined
}

export interface StoreOptions {
  readonly clock: Clock
  readonly storeKeys: Pick<StoreKeys, 'payloadKeys'>
  /** Whose messages the store holds; absent: anybody's. */
  readonly enterprise?: Enterprise | undefined
  /** Live messages, of all replicas together, from which on no more are accepted. */
  readonly maxBacklog: number
  /** How long the facts of a final message stay. */
  readonly retentionDays: number
  /** Whether the store queues events for webhooks; false unless given. */
  readonly keepsEvents?: boolean | undefined
  readonly log?: StoreLog
  /** Is told of every commit of accepting and settling: how long it took, ms, and how many calls shared it. */
  readonly onCommit?: (event: { readonly ms: number; readonly calls: number }) => void
}

/** A message that the store ended by itself; `refused`: its content was damaged or exchanged, and cannot be read. */
export interface SettledByStore extends Pick<NewMessage, 'id' | 'channel' | 'kind'> {
  readonly state: FinalState
}

export interface Claim {
  readonly messages: readonly ClaimedMessage[]
  /** What it made final. */
  readonly settled: readonly SettledByStore[]
  /**
   * When to ask again at the latest if nothing new comes; null: nothing waits. What it was to pass over does not count, but
   * where many such messages become due first, it may be too early.
   */
  readonly nextDueAt: number | null
  /** The same of codes alone. */
  readonly nextCodeAt: number | null
}

export interface Outbox {
  /**
   * Stores the messages of one callback: all of them durably committed when it resolves, or none.
   * Each is judged by itself (duplicate, quota); calls that come together share one commit. A message whose values the
   * store refuses is `refused`, whatever becomes of the others.
   * @throws StoreUnavailable, BacklogFull
   */
  accept(messages: readonly Acceptance[]): Promise<readonly Accepted[]>
  /**
   * Claims up to `limit` (0: none) due messages of a channel, codes first, each class in the order of `claimOrder`, and
   * counts the attempt. When more are due, a quarter of them (one at least) goes to other destinations than the rest, so that
   * none fills a claim while others wait. Settles on the way, without an attempt, what has expired; takes over what has an
   * outlived lease: as an ambiguous attempt if it had begun (`ambiguous` counts it), as none if it had not.
   * @param passOver destinations of which none is claimed, some hundred at most. However many wait there, they hide no other.
   * @param codesOnly nothing but codes is claimed.
   * @param only destinations beside which none is claimed, some fifty at most; any unless there are some.
   * @throws StoreUnavailable
   */
  claim(
    channel: Channel,
    limit: number,
    leaseMs: number,
    passOver?: readonly string[],
    codesOnly?: boolean,
    only?: readonly string[],
  ): Promise<Claim>
  /**
   * Notes that the attempt of a message begins, before its first byte leaves. From then on a process that dies may have sent it;
   * a message that was claimed and never begun was surely not sent. The note survives the process. After a power cut every
   * claimed message counts as begun. Returns nothing when it was noted at once.
   * @param provider whom it goes to, when its channel has several; at most 32 octets of ASCII. The latest one counts.
   * @returns `outdated` when the claim is no longer ours, or another process has stored a newer code of its group: then the attempt must
   *   not begin either.
   * @throws StoreUnavailable: the attempt must not begin.
   */
  beginAttempt(id: string, lease: Lease, provider?: string): Promise<'outdated' | void> | void
  /**
   * Writes the end of an attempt, if `lease` is still the current one. Content and recipient are gone from the row
   * with its final state; charges of a message that was not sent (expired, superseded, refused, held) are given back.
   * Records that the store refuses are dropped, and a line of the log says so; never the settlement.
   * @throws StoreUnavailable: nothing was written; ask again.
   */
  settle(id: string, lease: Lease, settlement: Settlement): Promise<Settled>
  /**
   * Keeps a provider's delivery report with its message, whatever its state; one of no message of ours is ignored. It
   * proves that the provider took the message: one that waits after an ambiguous attempt is `sent` by it, and one that
   * is being sent when its attempt ends ambiguous. It never causes a send, and nothing leaves a final state.
   * @throws StoreUnavailable
   */
  writeReceipt(report: DeliveryReport): Promise<KeptReport>
  /** Leases on a store that several processes share; absent in one that a process has for itself. */
  readonly sharedLeases?: SharedLeases
  /** Values kept beside the messages. */
  readonly memos: MemoStore
  /** The queue of events for other machines; absent when there are no webhooks. */
  readonly events?: EventQueue
  /** The queries of people: counts, lists, timelines. */
  readonly queries: AdminQueries
  /** The actions of people on a message that waits. */
  readonly actions: OperatorActions
  /**
   * The loss that the store noticed at its start, within the last day; null: none that it knows of. `messages` is 0
   * when only ends of messages are gone. Absent in a store that refuses its start then.
   */
  loss?(): StoreLoss | null
  /**
   * Copies the store into a file, which is overwritten, while the store works on. Absent in a store that has backup tools of
   * its own.
   * @throws StoreUnavailable: the copy failed, and the file is of no use.
   */
  backUp?(file: string): Promise<void>
  /** Commits what is queued and lets go of the store. */
  close(): Promise<void>
}

export interface SharedLeases {
  /** Names a claim that this process makes itself, see `Acceptance.lease`; unique for every claim ever made. */
  newLeaseToken(): string
  /**
   * Says whether a claim of this process surely is its own still. It becomes false when this process was out of touch with the
   * store for so long that another one may take the message over, and then stays false. No attempt may begin under such a
   * lease: settle it, and the result says what became of the message.
   */
  isHeld(lease: Lease): boolean
}

export interface MemoStore {
  /** Reads the values of the memos with these names; a name without a memo is left out. @throws StoreUnavailable */
  readMemos(names: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Writes a memo in the place of the one of its name, where no message is stored with it. @throws StoreUnavailable */
  writeMemo(memo: Memo): Promise<void>
  /**
   * Takes or renews a leader lease, which only one of several processes on the store may have, for `ttlMs` from now; 0
   * gives it up. False: another has it. Absent in a store that one process holds.
   * @throws StoreUnavailable
   */
  readonly takeLeaderLease?: (name: string, owner: string, ttlMs: number) => Promise<boolean>
}

/** The types of events that webhooks send to other machines. */
export type QueuedEventType = 'message.ended' | 'message.reported' | 'provider.up' | 'provider.down'

/** An event that is to be queued. */
export interface NewEvent {
  readonly type: QueuedEventType
  /** ms since the epoch. */
  readonly at: number
  /** Id of the message that it is about; absent: it is about none. */
  readonly message?: string
  /** Further facts, such as a delivery report. */
  readonly data?: Readonly<Record<string, unknown>> | null
}

export interface EventBatch {
  readonly events: readonly QueuedEvent[]
  /** How many wait in all, about. */
  readonly waiting: number
}

/** An event that waits to be sent to another machine. */
export interface QueuedEvent {
  readonly seq: number
  readonly type: QueuedEventType
  /** ms since the epoch. */
  readonly at: number
  /** The message that it is about, as it is now; null: about none, or it has been pruned. */
  readonly message: MessageView | null
  /** Further facts, such as a delivery report. */
  readonly data: Readonly<Record<string, unknown>> | null
}

/**
 * The queue of events for other machines, in the order in which they happened. An event about a message is written in the
 * transaction that ends the message (`message.ended`) or keeps its delivery report (`message.reported`), so neither is there
 * without the other. An event stays until it is removed.
 */
export interface EventQueue {
  /** Adds an event that is about no message. @throws StoreUnavailable, as all of these */
  addEvent(event: NewEvent): Promise<void>
  /** Reads the oldest ones. */
  readEvents(limit: number): Promise<EventBatch>
  /** Removes those that were sent. */
  removeEvents(seqs: readonly number[]): Promise<void>
  /** Drops some of the oldest: those beyond the newest `most`, and those from before `before`, ms since the epoch. @returns how many. */
  dropEvents(most: number, before: number): Promise<number>
}

/** A message as the console, the logs and the command line may see it. */
export interface MessageView extends Omit<NewMessage, 'recipient' | 'masked' | 'destination' | 'content'> {
  readonly maskedRecipient: string
  readonly state: State
  readonly answer: FinalAnswer
  readonly attempts: number
  readonly ambiguous: number
  readonly dueAt: number | null
  readonly finalAt: number | null
  readonly providerId: string | null
  readonly receipt: Pick<
    DeliveryReport,
    'status' | 'errorCode' | 'fault' | 'reply' | 'happenedAt' | 'at'
  > | null
  readonly timeline: readonly AttemptRecord[]
}

/** A message that has ended. `recipient`: the hash by which two are to the same one. */
export type EndedMessage = MessageView & { readonly recipient: string; readonly finalAt: number }

/** How many messages ended in a way on one of two days, which is counted by when they arrived. */
export interface EndedCount {
  readonly channel: Channel
  readonly kind: string
  /** The provider that decided; `-`: none was asked. */
  readonly carrier: string
  /** ISO 3166; `-`: it has none. */
  readonly country: string
  /** `undelivered` messages are among those that were sent. */
  readonly outcome: FinalState | 'undelivered'
  readonly today: number
  readonly dayBefore: number
}

/** The time that one count of a figure covers: every time zone's days begin and end with one. */
export const QUARTER_MS = 15 * 60_000
/** How long figures stay, ms: two days, and the hours by which days are longer when clocks change. */
export const FIGURES_KEPT_MS = 50 * 3600_000

export interface ListFilter {
  readonly channel?: Channel
  /** `undelivered`: it was taken, and the latest report says that it did not arrive. */
  readonly state?: State | 'undelivered'
  readonly kind?: string
  readonly recipientHash?: string
  /** Only messages that arrived then or later, ms since the epoch. */
  readonly since?: number
  /** Only messages that arrived before this, ms since the epoch: for paging. */
  readonly before?: number
  readonly limit: number
}

/** Messages, the newest first. */
export interface MessageList {
  readonly messages: readonly MessageView[]
  /**
   * When fewer were found than asked for among the newest LOOKED_THROUGH: the arrival of the oldest that was looked at, ms since the
   * epoch; older ones may follow. Null: nothing was left out.
   */
  readonly lookedFrom: number | null
}

/** How many messages are looked through for those of a kind, or of a channel: the embedded store commits nothing meanwhile. */
export const LOOKED_THROUGH = 10_000

export interface Summary {
  /** Live messages by channel. */
  readonly backlog: Readonly<Record<Channel, number>>
  /** Arrival of the oldest live message by channel, ms since the epoch. */
  readonly oldest: Readonly<Record<Channel, number | null>>
  /** Different recipients of the oldest live messages, of LOOKED_AT of each channel and state at most: one person's full mailbox is one. */
  readonly waitingRecipients: Readonly<Record<Channel, number>>
  /** Messages that arrived since the given moment, by channel, kind and state. */
  readonly counts: readonly {
    readonly channel: Channel
    readonly kind: string
    readonly state: State
    readonly count: number
  }[]
  /** Of each channel the messages that ended, 50 at most of the 2,000 that came last, whenever that was. */
  readonly ended: readonly EndedMessage[]
  /** How many mails came back since that moment. */
  readonly bounced: number
  /** Addresses that mails came back from lately: as many as some mails may be left out to now. */
  readonly leftOut: number
  /** Bytes on disk, where the store knows. */
  readonly bytes: number | null
}

/** The state under which the counts by the minute hold mails that came back, by whose fault it is, at the time of the report. */
export const BOUNCED = 'bounced'

/** How many messages are looked at to tell whether one recipient waits or many. */
export const LOOKED_AT = 200

/** Octets that a probe writes, as many as a callback with several recipients: a disk with room for less is as good as full. */
export const PROBE_BYTES = 64 * 1024

/** Messages that were stored and are not on record any more, though the store can be used. */
export interface StoreLoss {
  readonly messages: number
  /** They were stored between these moments, ms since the epoch; null: not known. */
  readonly from: number | null
  readonly until: number
  readonly noticedAt: number
}

/** What waits for a destination. */
export interface WaitingDestination {
  readonly destination: string
  /** How many messages, MOST_COUNTED at most. */
  readonly count: number
  /** When the first of them became due, or becomes, ms since the epoch. */
  readonly dueAt: number
}

export const MOST_COUNTED = 1000
/** Destinations that are counted, to list as many as people look at. */
export const COUNTED_DESTINATIONS = 100
export const LISTED_DESTINATIONS = 10

export interface AdminQueries {
  /**
   * Lists the destinations of a channel that messages wait for, those that have waited the longest first, ten at most.
   * @param known some that are counted in any case; others are found where their messages are the oldest that are due.
   */
  readWaiting(channel: Channel, known: readonly string[]): Promise<readonly WaitingDestination[]>
  readSummary(since: number): Promise<Summary>
  listMessages(filter: ListFilter): Promise<MessageList>
  /** Reads how the messages of two days ended. @param dayBefore when the first day began, and `today` the second one, ms since the epoch */
  readEnded(dayBefore: number, today: number): Promise<readonly EndedCount[]>
  findMessage(id: string): Promise<MessageView | null>
  /** Says whether a commit works right now: writes random bytes (PROBE_BYTES), and commits them. */
  probeCommit(): Promise<boolean>
}

export interface OperatorActions {
  /** Makes a queued message due now. False when it does not wait. */
  retryMessage(id: string): Promise<boolean>
  /** Makes a queued message final (`superseded`, timeline says cancelled). False when it does not wait. */
  cancelMessage(id: string): Promise<boolean>
  /** Forgets that mails to the recipient of this message came back. False when nothing was known. */
  allowAgain(id: string): Promise<boolean>
  /** Removes a recipient's messages that have ended, and what is noted of mails that came back, of alarms, and of a known number. @returns how many messages */
  forgetRecipient(recipientHash: string): Promise<number>
}
