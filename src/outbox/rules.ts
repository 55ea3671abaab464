import { packWords } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import type { Row } from './message-row.ts'
import type {
  Acceptance,
  Accepted,
  AttemptRecord,
  DeliveryReport,
  FinalAnswer,
  FinalState,
  Lease,
  LiveState,
  Settlement,
  State,
} from './outbox.ts'
import { DEDUPE_WINDOW_MS, LIVE_STATES } from './outbox.ts'

/**
 * The decisions about a message, once for every store; those about quotas are in quota.ts. Pure: a store reads a row,
 * asks here what becomes of it, and writes that.
 */

/** The name of the memo about mails that came back from a recipient. Its value is when they did, ms since the epoch, as JSON. */
export function bounceNote(recipientHash: string): string {
  return `bounced/${recipientHash}`
}

/** The same in SQL. */
export const BOUNCE_NOTE = "'bounced/' || recipient_hash"

/** How long it is known that mails to an address came back: twice the longest refusal, so that two of them count together. */
export const BOUNCES_KEPT_MS = 48 * 60 * 60_000

/** The condition in SQL on memos of addresses that some mails are left out to: for 15 min after one came back, for a day after another. */
export function leftOutAt(now: string): string {
  const since = (ms: number) => `expires_at > ${now} + ${BOUNCES_KEPT_MS - ms}`
  return `name LIKE 'bounced/%' AND ${since(86_400_000)} AND (value LIKE '%,%' OR ${since(900_000)})`
}

/** States that give a message's charges back: nothing was sent. An outage must lock nobody out. */
export const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'superseded', 'refused', 'held'])

export function isLive(state: State): state is LiveState {
  return (LIVE_STATES as readonly State[]).includes(state)
}

/** How many lines of a timeline are kept; the oldest are removed first. */
export const TIMELINE_LINES = 20

/**
 * Appends lines to a timeline, and removes the oldest when there are too many; the line of the latest copy that may have been sent is kept.
 * A carrier that was not asked for the same reason as just before has one line for it.
 */
export function appendToTimeline(
  timeline: readonly AttemptRecord[],
  records: readonly AttemptRecord[],
): readonly AttemptRecord[] {
  const latelySkipped = timeline.findLastIndex(({ outcome }) => outcome !== 'skipped') + 1
  const isSaidAgain = ({ provider, code }: AttemptRecord): boolean =>
    records.some(each => each.outcome === 'skipped' && each.provider === provider && each.code === code)
  const kept = timeline.filter((record, at) => at < latelySkipped || !isSaidAgain(record))
  const all = [...kept, ...records]
  if (records.length === 0 || all.length <= TIMELINE_LINES) return all
  const latest = all.slice(-TIMELINE_LINES)
  const copy = all.findLast(mayHaveSent)
  return copy === undefined || latest.includes(copy) ? latest : [copy, ...latest.slice(1)]
}

function mayHaveSent({ outcome }: AttemptRecord): boolean {
  return outcome === 'ambiguous' || outcome === 'lease-lost'
}

/** Finds the provider that may have sent the latest copy of a message; empty when only a process knew that has died. */
export function providerOfCopy(timeline: readonly AttemptRecord[]): string {
  return timeline.findLast(mayHaveSent)?.provider ?? ''
}

/** The timeline's lines that a store writes itself, about events that were no attempts. */
const STORE_RECORDS = {
  'lease-lost': { outcome: 'lease-lost', code: 'LEASE', reply: '' },
  'not-begun': { outcome: 'released', code: 'NOT-BEGUN', reply: '' },
  reported: {
    outcome: 'reported',
    code: 'REPORT',
    reply: packWords('a delivery report says that it was taken'),
  },
  cancelled: { outcome: 'cancelled', code: 'CANCELLED', reply: '' },
  held: { outcome: 'held', code: 'ONLY_TO', reply: packWords('ONLY_TO does not name its recipient') },
  unreadable: {
    outcome: 'rejected',
    code: 'UNREADABLE',
    reply: packWords('the stored content cannot be read'),
  },
} as const

/** Makes the timeline's line about something that happened in the store. @param at ms since the epoch. */
export function storeRecord(event: keyof typeof STORE_RECORDS, at: number, provider = ''): AttemptRecord {
  return { at, tookMs: 0, provider, ...STORE_RECORDS[event] }
}

/** Makes the line about a message whose lease was lost. @param provider whom its attempt went to, as far as was noted. */
export function lostLeaseRecord(begun: boolean, provider: string | null, at: number): AttemptRecord {
  return begun ? storeRecord('lease-lost', at, provider ?? '') : storeRecord('not-begun', at)
}

/** Codes before everything else: somebody waits in front of a page. */
export function rankOfPurpose(purpose: string): 0 | 1 {
  return purpose === 'code' ? 0 : 1
}

export type ClaimOrder = 'oldest-first' | 'newest-first'

/** A class of messages has a backlog once its first one has waited so long, ms. */
const BACKLOG_MS = 1000

/**
 * The order in which the due messages of a class (codes, or everything else) are claimed: first come, first served, until
 * there is a backlog; then newest first, where somebody is still waiting. The same as in memory, see
 * delivery/adaptive-lifo.ts.
 *
 * @param oldestDueAt when the message that came first became due, ms since the epoch.
 */
export function claimOrder(oldestDueAt: number, now: number): ClaimOrder {
  return now - oldestDueAt < BACKLOG_MS ? 'oldest-first' : 'newest-first'
}

/** A due message, as a claim chooses among many. */
export interface DueEntry {
  readonly seq: number
  readonly destination: string
  /** ms since the epoch. */
  readonly dueAt: number
}

/** How many of those that become due are looked at for the first one that is not passed over. */
export const SEEN_LATER = 100

/** What a claim asks its store for: the first of those that are due, or so many of these or of other destinations; the others are further ones each time. */
export interface DueQuestion {
  readonly order: ClaimOrder
  readonly most: number
  readonly whose?: { readonly of: readonly string[] } | { readonly butOf: ReadonlySet<string> }
}

/**
 * Chooses the due messages of a class that a claim takes, and asks its store for them step by step. When more is due than it may take,
 * three quarters of it go in order, whose ever they are; the rest, one at least, to destinations that have none of these.
 * @param only nothing but what goes to these is taken, of each the same; any unless there are some.
 */
export function* chooseDue(
  limit: number,
  now: number,
  passOver: ReadonlySet<string>,
  only: readonly string[],
): Generator<DueQuestion, readonly DueEntry[], readonly DueEntry[]> {
  const isFree = ({ destination }: DueEntry) => !passOver.has(destination)
  // So many are looked at before destinations are looked for one by one.
  const most = limit + SEEN_LATER
  const oldest = yield { order: 'oldest-first', most: passOver.size === 0 ? 1 : most }
  if (oldest.length === 0) return []
  const order = claimOrder(oldest.find(isFree)?.dueAt ?? 0, now)
  if (only.length > 0) return (yield { order, most: limit, whose: { of: only } }).slice(0, limit)
  const read = yield { order, most }
  const due = read.filter(isFree)
  const chosen = new Set(due.slice(0, due.length <= limit ? limit : Math.floor(limit * 0.75)))
  const served = new Set([...chosen].map(({ destination }) => destination))
  for (const each of due) {
    if (chosen.size === limit) break
    if (!served.has(each.destination)) chosen.add(each)
    served.add(each.destination)
  }
  const room = limit - chosen.size
  const others =
    read.length < most || room === 0
      ? []
      : yield { order, most: room, whose: { butOf: served.union(passOver) } }
  const claimed = new Set([...chosen, ...others, ...due])
  return [...claimed]
    .slice(0, limit)
    .sort((a, b) => (order === 'oldest-first' ? a.seq - b.seq : b.seq - a.seq))
}

/** The attempts that a live message has had, the one that ends now included; and how many copies of it may have been sent. */
interface Copies {
  readonly attempts: number
  readonly ambiguous: number
}

/** The same with what decides about a further attempt. */
interface AttemptHistory extends Copies {
  readonly channel: Channel
  readonly expiresAt: number
  readonly reported?: boolean
}

/**
 * How many copies of one message may go out when nobody can say whether the earlier ones did. An SMS is paid for, and
 * most carriers can be asked; a second mail costs nobody anything, and no mail server can be asked.
 */
const MOST_COPIES: Readonly<Record<Channel, number>> = { email: 4, sms: 2 }

/**
 * Says whether a message goes on of which so many copies may have been sent: another one may go out, or the provider can be asked
 * what became of the latest. This is the one bound on copies.
 */
export function mayGoOn(channel: Channel, copies: number, canBeAsked: boolean): boolean {
  return canBeAsked || copies < MOST_COPIES[channel]
}

/** A message after a step. `dueAt` is set for `queued` only. */
export interface MessageState extends Copies {
  readonly state: State
  readonly answer: FinalAnswer
  readonly dueAt: number | null
}

/** The end of a message whose life is over: `unknown` if an attempt was ambiguous, since it may have been sent. */
export function stateAtExpiry(ambiguous: number): FinalState {
  return ambiguous > 0 ? 'unknown' : 'expired'
}

/** A message that is stored: claimed by its lease with the first attempt counted, or queued and due now. */
export function stateAtAcceptance(lease: Lease | undefined, now: number): MessageState {
  if (lease !== undefined) return { state: 'sending', answer: null, attempts: 1, ambiguous: 0, dueAt: null }
  return { state: 'queued', answer: null, attempts: 0, ambiguous: 0, dueAt: now }
}

/** A message that ends outside an attempt. */
export function stateAtEnd(
  { attempts, ambiguous }: Copies,
  state: FinalState,
  answer: FinalAnswer = null,
): MessageState {
  return { state, answer, attempts, ambiguous, dueAt: null }
}

/** Computes the column that makes claims quick: 1 queued and due, 0 queued for later, null for everything else. */
export function readinessOf(state: State, dueAt: number | null, now: number): 0 | 1 | null {
  if (state !== 'queued') return null
  return (dueAt ?? now) <= now ? 1 : 0
}

/**
 * The change that a settlement makes to a message that is being sent.
 * @param outdated whether a newer code of its group came since, whatever became of that one.
 */
export function afterSettlement(
  tried: AttemptHistory,
  settlement: Settlement,
  outdated: boolean,
): MessageState {
  const { attempts, ambiguous, reported = false } = tried
  if (settlement.to === 'final') {
    const state = settlement.state === 'unknown' && reported ? 'sent' : settlement.state
    return stateAtEnd(tried, state, settlement.answer)
  }
  const counted = settlement.uncounted === true ? attempts - 1 : attempts
  const copies = settlement.ambiguous ?? ambiguous
  const goesOn = copies <= ambiguous || mayGoOn(tried.channel, copies, settlement.canBeAsked === true)
  return stateAtRequeue(
    { ...tried, attempts: counted, ambiguous: copies },
    settlement.dueAt,
    outdated,
    goesOn,
  )
}

/** Says whether a report tells that its message did not arrive: a complaint is of one that did, and what its carrier does not know yet may. */
export function isUndelivered({ status, fault }: Pick<DeliveryReport, 'status' | 'fault'>): boolean {
  return status !== 'complained' && fault !== undefined && fault.verdict !== 'ambiguous'
}

/** The pause before a message goes out again that a dead process may have sent, ms. */
export const LOST_LEASE_PAUSE_MS = 5000

/**
 * The change to a message whose lease ran out, or whose process died.
 *
 * @param history `begun`: its attempt had begun, so that nobody knows whether it was sent. Otherwise it surely was not:
 *   it waited in the memory of the process, and its attempt does not count.
 */
export function afterLostLease(
  { begun, ...history }: AttemptHistory & { readonly begun: boolean },
  now: number,
  outdated: boolean,
): MessageState {
  const { channel, attempts, ambiguous } = history
  if (!begun) return stateAtRequeue({ ...history, attempts: attempts - 1 }, now, outdated)
  const copies = ambiguous + 1
  // Perhaps its carrier can be asked: the delivery knows, and ends what cannot. No mail server can be.
  const goesOn = mayGoOn(channel, copies, channel === 'sms')
  return stateAtRequeue({ ...history, ambiguous: copies }, now + LOST_LEASE_PAUSE_MS, outdated, goesOn)
}

function stateAtRequeue(
  { attempts, ambiguous, expiresAt, reported = false }: AttemptHistory,
  dueAt: number,
  outdated: boolean,
  goesOn = true,
): MessageState {
  const endAs = (state: FinalState) => stateAtEnd({ attempts, ambiguous }, state)
  if (reported && ambiguous > 0) return endAs('sent')
  if (outdated) return endAs('superseded')
  if (dueAt >= expiresAt || !goesOn) return endAs(stateAtExpiry(ambiguous))
  return { state: 'queued', answer: null, attempts, ambiguous, dueAt }
}

/**
 * Answers for a new message because of the newest one with its dedupe key: both callers wait for the same end, or it has ended recently
 * (or was superseded, and its life is not over).
 * @returns `outlived`: that one waits, but its life is over and nobody has noticed: it ends now; null: somebody asked again, it expired
 *   unsent, or it is a new event. Then the new one is stored.
 */
export function answerForDuplicate(
  { id, state, answer, finalAt, expiresAt }: Readonly<Row>,
  now: number,
  { dedupeWindowMs = DEDUPE_WINDOW_MS, held }: Partial<Acceptance> = {},
): Accepted | 'outlived' | null {
  if (state === 'queued' && expiresAt <= now) return 'outlived'
  if (state === 'queued' || state === 'sending') return { is: 'in-progress', id }
  const finished = { is: 'finished', id, state, answer } as const
  // What was held answers for what is held, and for nothing that may be sent since; what was not, for nothing that is held.
  if ((state === 'held') !== (held === true)) return null
  if (state === 'superseded' && expiresAt > now) return finished
  // Nothing was sent and nobody tries any more: its repetition must not be told that all is well.
  if (state === 'expired') return null
  // The distance counts in both directions: replicas' clocks differ a little, and after a clock was set back by an hour the end
  // of a duplicate must not answer for new messages all that time.
  return Math.abs(now - (finalAt ?? now)) <= dedupeWindowMs ? finished : null
}

/** A newer code ends an older one of its group that waits, and marks one that is being sent; null: it has ended already. */
export function afterNewerCode(older: State): 'superseded' | 'outdated' | null {
  if (older === 'queued') return 'superseded'
  return older === 'sending' ? 'outdated' : null
}
