import type { AttemptRecord, FinalAnswer, FinalState, Settlement, State } from './outbox.ts'
import { DEDUPE_WINDOW_MS } from './outbox.ts'

/**
 * The rules by which a message's state changes, once for every store. Pure: a store reads a row, asks here what
 * becomes of it, and writes that.
 */

/** Every change of state there is. docs/states.md draws the same, and a test compares the two. */
export const TRANSITIONS: readonly {
  readonly from: State | 'new'
  readonly to: State
  readonly when: string
}[] = [
  { from: 'new', to: 'sending', when: 'accepted, handed over from memory' },
  { from: 'new', to: 'queued', when: 'accepted, memory is full' },
  { from: 'queued', to: 'sending', when: 'claimed' },
  { from: 'queued', to: 'expired', when: 'its life ended' },
  { from: 'queued', to: 'unknown', when: 'its life ended after an ambiguous attempt' },
  { from: 'queued', to: 'superseded', when: 'a newer code came, or an operator cancelled it' },
  { from: 'queued', to: 'refused', when: 'its content cannot be read any more' },
  { from: 'sending', to: 'sent', when: 'the provider accepted it' },
  { from: 'sending', to: 'refused', when: 'the provider refused it for good' },
  { from: 'sending', to: 'queued', when: 'to be tried again, or its lease was lost' },
  { from: 'sending', to: 'expired', when: 'to be tried again, but its life ends before' },
  { from: 'sending', to: 'superseded', when: 'to be tried again, but there is a newer code' },
  { from: 'sending', to: 'unknown', when: 'ambiguous twice, or ambiguous and its life ended' },
]

/** States that give a message's charges back: nothing was sent. An outage must lock nobody out. */
const REFUNDED: ReadonlySet<State> = new Set<State>(['expired', 'superseded', 'refused'])

export function refundsQuota(state: State): boolean {
  return REFUNDED.has(state)
}

/** How many lines of a timeline are kept; the oldest go first. */
export const TIMELINE_LINES = 20

export function appendToTimeline(
  timeline: readonly AttemptRecord[],
  record: AttemptRecord | undefined,
): readonly AttemptRecord[] {
  return record === undefined ? timeline : [...timeline, record].slice(-TIMELINE_LINES)
}

/** Codes before everything else: somebody waits in front of a page. */
export function rankOfPurpose(purpose: string): 0 | 1 {
  return purpose === 'code' ? 0 : 1
}

/** What a live message has behind it. */
export interface AttemptHistory {
  /** Attempts, the one that ends now included. */
  readonly attempts: number
  /** How many earlier ones ended ambiguous. */
  readonly ambiguous: number
  /** ms since the epoch. */
  readonly expiresAt: number
}

/** Where a message stands after a step. `dueAt` is set for `queued` only. */
export interface MessageState {
  readonly state: State
  readonly answer: FinalAnswer
  readonly attempts: number
  readonly ambiguous: number
  readonly dueAt: number | null
}

/** The end of a message whose life is over: `unknown` if an attempt was ambiguous, since it may have been sent. */
export function stateAtExpiry(ambiguous: number): FinalState {
  return ambiguous > 0 ? 'unknown' : 'expired'
}

/**
 * What a settlement makes of a message that is being sent.
 * @param outdated whether a newer code of its group came since, whatever became of that one.
 */
export function afterSettlement(
  tried: AttemptHistory,
  settlement: Settlement,
  outdated: boolean,
): MessageState {
  const { attempts, ambiguous } = tried
  if (settlement.to === 'final') {
    return { state: settlement.state, answer: settlement.answer, attempts, ambiguous, dueAt: null }
  }
  const counted = settlement.uncounted === true ? attempts - 1 : attempts
  const unsure = settlement.ambiguous === true ? ambiguous + 1 : ambiguous
  return backInQueue(tried.expiresAt, settlement.dueAt, counted, unsure, outdated)
}

/**
 * What becomes of a message whose lease ran out, or whose process died: nobody knows whether it was sent, so this
 * was an ambiguous attempt. Due at once, if it may be tried again at all.
 */
export function afterLostLease(tried: AttemptHistory, now: number, outdated: boolean): MessageState {
  return backInQueue(tried.expiresAt, now, tried.attempts, tried.ambiguous + 1, outdated)
}

function backInQueue(
  expiresAt: number,
  dueAt: number,
  attempts: number,
  ambiguous: number,
  outdated: boolean,
): MessageState {
  const at = (state: State, due: number | null): MessageState => ({
    state,
    answer: null,
    attempts,
    ambiguous,
    dueAt: due,
  })
  // Twice without knowing: a third attempt could make a third copy.
  if (ambiguous > 1) return at('unknown', null)
  if (outdated) return at('superseded', null)
  if (dueAt >= expiresAt) return at(stateAtExpiry(ambiguous), null)
  return at('queued', dueAt)
}

/** The newest message that said the same. */
export interface Duplicate {
  readonly state: State
  /** ms since the epoch; null while it lives. */
  readonly finalAt: number | null
  /** ms since the epoch. */
  readonly expiresAt: number
}

/**
 * What a message's twin means for it.
 *
 * - `live`: join it
 * - `outlived`: it waits, but its life is over and nobody has noticed: it ends now, and the new one is stored
 * - `recent`: final within the window, or superseded and its life not over: the same answer
 * - `past`: somebody asked again, or a new event: a new message
 */
export function judgeDuplicate(
  twin: Duplicate,
  now: number,
  windowMs: number = DEDUPE_WINDOW_MS,
): 'live' | 'outlived' | 'recent' | 'past' {
  if (twin.state === 'sending') return 'live'
  if (twin.state === 'queued') return twin.expiresAt > now ? 'live' : 'outlived'
  if (twin.state === 'superseded' && twin.expiresAt > now) return 'recent'
  // Both ways: replicas' clocks differ a little, and a clock that was set back must not swallow messages for an hour.
  return Math.abs(now - (twin.finalAt ?? now)) <= windowMs ? 'recent' : 'past'
}
