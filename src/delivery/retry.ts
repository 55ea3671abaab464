import type { Channel, FaultScope, Purpose } from '../messages/message.ts'
import type { FinalAnswer, Settlement } from '../outbox/outbox.ts'
import {
  type Fault,
  faultScopeOf,
  isCalledOurs,
  isOperatorFault,
  isProviderDown,
  type Outcome,
} from '../providers/provider.ts'
import { wasStopped } from './health.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** Upper bounds of the wait after the n-th attempt, ms; the last one goes on. Full jitter picks below the bound. */
const CODE_SCHEDULE = [1, 2, 4, 8, 15, 30].map(each => each * SECOND)
const SLOW_SCHEDULE = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE]

/** What meets a fault that is tried apart from it waits as after so many attempts at most, by whether it is a code. */
const SOON_TRIES = { code: 2, other: 1 }
/** It is due so long before its life ends at the latest, ms: what it waits for may be there sooner than it seems now. */
const LAST_DUE_MS = 1000

/**
 * Pauses before a message goes out again that may have been sent n times, ms. Each outlasts a hiccup: of 40 codes
 * under a hiccup of 3 s, 31 to 36 met it twice when the second attempt followed within a second.
 */
const CODE_PAUSES = [5 * SECOND, 20 * SECOND, MINUTE] as const
/** A code that is with a mail server which does not answer is given up so long after its patience, ms: the pause before its copy is over then. */
export const GIVE_UP_MS = CODE_PAUSES[0]
const SLOW_PAUSES = [MINUTE, 10 * MINUTE, 30 * MINUTE]
/** A message whose life would end within its pause goes out again after half of what is left. No sooner than this, ms. */
const SHORTEST_PAUSE = SECOND

/**
 * Says whether the next carrier may be asked in the same attempt: when this one has surely not sent the message, and the end
 * says nothing of the recipient: what this service stopped would end alike with the next one. A country, words or a template that one
 * carrier refuses another one may take, and a number that it cannot reach another one may; a mail that one server refuses for good only
 * where it lacks what the mail needs.
 */
export function mayAskNext(outcome: Outcome, channel: Channel): boolean {
  if (outcome.is === 'rejected')
    return outcome.incapable === true || (channel === 'sms' && outcome.scope !== 'recipient')
  return outcome.is === 'limit' || (outcome.is === 'retry' && !wasStopped(outcome))
}

/**
 * Decides the outcome of an attempt in which no carrier took the message. First comes a fault that the operator has to mend, or
 * may have to, then one that may pass; the message is refused only when all carriers refused it, for what the last one said that could have sent it.
 * @param outcomes of the carriers that were asked, at least one, none of them sent or ambiguous.
 */
export function combineOutcomes(outcomes: readonly Outcome[]): Outcome {
  const decisive =
    outcomes.find(isOperatorFault) ??
    outcomes.find(isCalledOurs) ??
    outcomes.findLast(({ is }) => is === 'retry') ??
    outcomes.find(({ is }) => is === 'limit') ??
    outcomes.findLast(each => each.is === 'rejected' && each.incapable !== true) ??
    outcomes.at(-1)
  if (decisive === undefined) throw new TypeError('no carrier was asked')
  if (decisive.is !== 'retry' && decisive.is !== 'limit') return decisive
  // The first of them that may be asked again decides when.
  const waits = outcomes.flatMap(each =>
    each.is === 'retry' || each.is === 'limit' ? [each.retryAfterMs ?? null] : [],
  )
  const retryAfterMs = waits.reduce((first, each) =>
    first === null || each === null ? null : Math.min(first, each),
  )
  if (decisive.is === 'limit' && retryAfterMs !== null) return { ...decisive, retryAfterMs }
  const { code, reply } = decisive
  // What one carrier refuses of a single message says nothing of when another one, which is down, may take it.
  const down = outcomes.find((each): each is Fault => isProviderDown(each))
  const untouched = outcomes.every(each => each.is === 'retry' && each.untouched === true)
  return {
    is: 'retry',
    whose: isCalledOurs(decisive) ? 'ours' : 'later',
    scope: faultScopeOf(down ?? decisive),
    code,
    reply,
    ...(retryAfterMs !== null && { retryAfterMs }),
    ...(untouched && { untouched }),
  }
}

export interface AttemptedMessage {
  readonly purpose: Purpose
  /** Attempts so far, this one included. */
  readonly attempts: number
  /** How many copies of it may have been sent before this attempt. */
  readonly ambiguous: number
  /** ms since the epoch. */
  readonly expiresAt: number
  /** Whether its provider can be asked later what became of it. */
  readonly canBeAsked: boolean
  /** Since when this attempt was no longer expected to be answered, ms since the epoch: the pause before a copy began then. */
  readonly overdueAt?: number | undefined
}

/**
 * Decides what an attempt's outcome means for its message. Pure.
 *
 * @param now ms since the epoch.
 * @param random 0 ≤ x < 1; full jitter, so that what failed together does not come back together.
 * @param repeatPausesMs pauses before a message goes out again that may have been sent, when not the usual ones.
 */
export function decideSettlement(
  outcome: Outcome,
  message: AttemptedMessage,
  now: number,
  random: () => number,
  repeatPausesMs?: readonly number[],
): Settlement {
  switch (outcome.is) {
    case 'sent':
      return { to: 'final', state: 'sent', answer: null, providerId: outcome.providerId }
    case 'rejected':
      return { to: 'final', state: 'refused', answer: answerOf(outcome.scope) }
    case 'ambiguous':
      return afterAmbiguous(message, now, random, repeatPausesMs)
    case 'limit':
      return afterLimit(outcome, message, now, random)
    case 'retry': {
      // A carrier, or a part of it, that fails is left alone, and its health knows when it is back: what it holds up comes back soon.
      const { purpose, attempts, expiresAt } = message
      const isTriedApart = isProviderDown(outcome) || (isOperatorFault(outcome) && isOfPart(outcome.scope))
      const most = isTriedApart ? SOON_TRIES[purpose === 'code' ? 'code' : 'other'] : Infinity
      const wait = backoff(purpose, Math.min(attempts, most), random)
      const asked = outcome.retryAfterMs
      // Retry-After is a floor: the jitter goes on top, or everybody would be back at the same moment.
      const after = now + (asked === undefined ? wait : asked + Math.min(wait, MINUTE))
      const dueAt = isTriedApart ? dueBeforeEnd(after, expiresAt, now) : after
      return { to: 'queued', dueAt, ambiguous: message.ambiguous }
    }
  }
}

const isOfPart = (scope?: FaultScope): boolean =>
  scope === 'template' || scope === 'sender' || scope === 'country'

/** Lets a message come again before its life ends. @param dueAt when it would come otherwise, ms since the epoch, as all of them */
export function dueBeforeEnd(dueAt: number, expiresAt: number, now: number): number {
  return Math.min(dueAt, Math.max(expiresAt - LAST_DUE_MS, now + LAST_DUE_MS))
}

/** Says why a message was refused, as it is kept and answered. */
function answerOf(scope: FaultScope): FinalAnswer {
  return scope === 'recipient' || scope === 'country' ? scope : 'content'
}

/**
 * Decides what follows a refusal for a limit. A number that may have no more is refused when its message ends before the next one
 * is due, so that a caller who still waits learns of it. A limit of our account waits like anything else that the operator has to mend.
 */
function afterLimit(
  { scope, retryAfterMs }: Outcome & { is: 'limit' },
  { purpose, attempts, ambiguous, expiresAt }: AttemptedMessage,
  now: number,
  random: () => number,
): Settlement {
  const dueAt = now + retryAfterMs + Math.min(backoff(purpose, attempts, random), MINUTE)
  if (scope === 'recipient' && ambiguous === 0 && dueAt >= expiresAt)
    return { to: 'final', state: 'refused', answer: 'limit' }
  return { to: 'queued', dueAt, ambiguous }
}

/**
 * Decides what follows an ambiguous attempt: the message goes out again after a pause, or is asked for; `unknown` without the time for
 * that. How many copies may go out the outbox knows.
 */
function afterAmbiguous(
  message: AttemptedMessage,
  now: number,
  random: () => number,
  pausesMs: readonly number[] = message.purpose === 'code' ? CODE_PAUSES : SLOW_PAUSES,
): Settlement {
  const { ambiguous, expiresAt, canBeAsked, overdueAt = now } = message
  const copies = ambiguous + 1
  const usual = pausesMs[Math.min(copies, pausesMs.length) - 1] ?? MINUTE
  const pause = Math.min(usual * (1 + random() / 5), (expiresAt - overdueAt) / 2)
  if (pause < SHORTEST_PAUSE) return { to: 'final', state: 'unknown', answer: null }
  return { to: 'queued', dueAt: overdueAt + Math.round(pause), ambiguous: copies, canBeAsked }
}

/**
 * The wait before the next attempt, ms, full jitter: uniform below the schedule's bound for this attempt.
 * @param attempts attempts so far, at least 1.
 */
export function backoff(purpose: Purpose, attempts: number, random: () => number): number {
  const schedule = purpose === 'code' ? CODE_SCHEDULE : SLOW_SCHEDULE
  const bound = schedule[Math.min(attempts, schedule.length) - 1] ?? SECOND
  return Math.round(random() * bound)
}
