import type { Purpose } from '../messages/message.ts'
import type { AttemptRecord, Settlement } from '../outbox/outbox.ts'
import type { Outcome } from '../providers/provider.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** Upper bounds of the wait after the n-th attempt, ms; the last one goes on. Full jitter picks below the bound. */
const CODE_SCHEDULE = [1, 2, 4, 8, 15, 30].map(each => each * SECOND)
const SLOW_SCHEDULE = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE]

/** What retrying needs to know of a message. */
export interface EndedAttempt {
  readonly purpose: Purpose
  /** Attempts so far, this one included. */
  readonly attempts: number
  /** How many earlier attempts ended ambiguous. */
  readonly ambiguous: number
  /** ms since the epoch. */
  readonly expiresAt: number
}

/**
 * Decides what an attempt's outcome means for its message. Pure.
 *
 * @param now ms since the epoch.
 * @param random 0 ≤ x < 1; full jitter, so that what failed together does not come back together.
 * @param record the attempt's line in the timeline.
 */
export function settlementOf(
  outcome: Outcome,
  tried: EndedAttempt,
  now: number,
  random: () => number,
  record: AttemptRecord,
): Settlement {
  switch (outcome.is) {
    case 'sent':
      return outcome.providerId === undefined
        ? { to: 'final', state: 'sent', answer: null, record }
        : { to: 'final', state: 'sent', answer: null, providerId: outcome.providerId, record }
    case 'rejected':
      return { to: 'final', state: 'refused', answer: outcome.why, record }
    case 'ambiguous': {
      const dueAt = now + backoff(tried.purpose, tried.attempts, random)
      // Once more and no more, and not past its life: then nobody will ever know, and it is said so.
      if (tried.ambiguous > 0 || dueAt >= tried.expiresAt)
        return { to: 'final', state: 'unknown', answer: null, record }
      return { to: 'queued', dueAt, ambiguous: true, record }
    }
    case 'retry': {
      const wait = backoff(tried.purpose, tried.attempts, random)
      const asked = outcome.retryAfterMs
      // Retry-After is a floor: the jitter goes on top, or everybody would be back at the same moment.
      const dueAt = now + (asked === undefined ? wait : asked + Math.min(wait, MINUTE))
      return { to: 'queued', dueAt, record }
    }
  }
}

/**
 * The wait before the next attempt, ms, full jitter: uniform below the schedule's bound for this attempt.
 * @param attempts attempts so far, at least 1.
 */
export function backoff(purpose: Purpose, attempts: number, random: () => number): number {
  const schedule = purpose === 'code' ? CODE_SCHEDULE : SLOW_SCHEDULE
  const bound = schedule[Math.min(Math.max(attempts, 1), schedule.length) - 1] ?? SECOND
  return Math.round(random() * bound)
}
