import { isProviderDown, type Outcome } from '../providers/provider.ts'
import { createBackoff } from '../runtime/backoff.ts'

export interface BreakerOptions {
  /** So many attempts have to fail at least before it opens. */
  readonly threshold?: number
  /** First rest, ms; doubles with every failed trial. */
  readonly openMs?: number
  readonly random?: () => number
}

/** Codes of attempts that this service stopped itself. */
const STOPPED: ReadonlySet<string> = new Set(['aborted', 'closed', 'expired'])
/** Codes of outcomes that this service caused itself, and that say nothing of the provider. */
const OURS: ReadonlySet<string> = new Set([...STOPPED, 'RENDER', 'no-carrier-fits'])

/**
 * It opens when this share of the latest attempts failed. So many count, and none that ended longer ago than this, ms. A
 * provider that still takes one message in three carries more than one that is left alone.
 */
const WINDOW = { attempts: 10, ms: 60_000, share: 0.9 }

/**
 * When a provider has answered any attempt so long after another one began, ms, that other one's failure no longer counts.
 * Otherwise ten swallowed replies, which all reach their limit five minutes later, would open the circuit of a provider that
 * has long been well again.
 */
const OVERTAKEN_MS = 20_000

/** How long the other messages wait while one message tries a provider whose circuit was open, ms. */
const TRIAL_WAIT_MS = 1000
/** A trial that takes longer than this has failed, ms. */
const TRIAL_MS = 5000
const LONGEST_REST_MS = 60_000

/** Says whether an attempt was stopped by this side before the provider had its say: the message's life ended, or this process does. */
export function wasStopped(outcome: Outcome): boolean {
  return (outcome.is === 'retry' || outcome.is === 'ambiguous') && STOPPED.has(outcome.code)
}

/** Says whether an outcome says nothing of the provider, because this service caused it. */
export function isOwnDoing(outcome: Outcome): boolean {
  return (outcome.is === 'retry' || outcome.is === 'ambiguous') && OURS.has(outcome.code)
}

export type CircuitState = 'closed' | 'open' | 'half-open'

/** A provider that keeps failing is left alone for a while, then tried again by one message. */
export function createBreaker(options: BreakerOptions = {}) {
  const { threshold = 5, openMs = 2000, random } = options
  const backoff = createBackoff({ first: openMs, most: LONGEST_REST_MS }, random)
  /** The latest attempts, the oldest first. */
  let latest: { readonly at: number; readonly failed: boolean }[] = []
  let until: number | null = null
  let restsSince = 0
  let trial = false
  let triedAt = 0
  let answeredAt = Number.NEGATIVE_INFINITY

  const isTrial = (begunAt: number): boolean => trial && begunAt >= triedAt

  function restFrom(now: number): void {
    restsSince = now
    until = now + backoff.failed()
    trial = false
  }

  /** Notes how an attempt ended. @returns whether nearly all of the latest have failed */
  function note(failed: boolean, now: number): boolean {
    if (latest.length === WINDOW.attempts) latest.shift()
    latest.push({ at: now, failed })
    let failures = 0
    let counted = 0
    for (const each of latest) {
      if (now - each.at > WINDOW.ms) continue
      counted += 1
      if (each.failed) failures += 1
    }
    return failures >= threshold && failures >= counted * WINDOW.share
  }

  function forgetAttempt(begunAt: number): void {
    if (isTrial(begunAt)) trial = false
  }

  return {
    /**
     * Says until when nothing may begin; null: an attempt may begin now. Half open, that is so while the trial is under way. One
     * that hangs is a failed one, and another follows after a rest: its own end may be minutes away. ms since the epoch.
     */
    restsUntil(now: number): number | null {
      if (trial && now - triedAt >= TRIAL_MS) restFrom(triedAt + TRIAL_MS)
      if (until === null || (now >= until && !trial)) return null
      return now < until ? until : now + TRIAL_WAIT_MS
    },
    /** An attempt begins; while the circuit is open, it is the trial. */
    beginAttempt(now: number): void {
      if (until === null) return
      trial = true
      triedAt = now
    },
    /**
     * Takes the outcome of an attempt that it allowed.
     * @param begunAt when the attempt began, ms since the epoch: one from before the trial is not the trial, however late
     *   it ends.
     * @returns the circuit's state if the outcome has opened or closed it
     */
    record(outcome: Outcome, now: number, begunAt: number): 'open' | 'closed' | null {
      const wasClosed = until === null
      if (isOwnDoing(outcome)) {
        forgetAttempt(begunAt)
        return null
      }
      if (!isProviderDown(outcome)) {
        answeredAt = now
        if (wasClosed) {
          note(false, now)
          return null
        }
        latest = []
        backoff.succeeded()
        trial = false
        until = null
        return 'closed'
      }
      if (wasClosed && answeredAt - begunAt > OVERTAKEN_MS) return null
      if (wasClosed ? !note(true, now) : !isTrial(begunAt)) return null
      restFrom(now)
      return wasClosed ? 'open' : null
    },
    /** An attempt that it allowed never began, or says nothing about the provider. If it was the trial, another one is allowed. */
    forgetAttempt,
    /** Ends the rest: what failed may be repaired, and the next attempt finds out. @param now ms since the epoch. */
    allowTrialNow(now: number): void {
      backoff.succeeded()
      if (until !== null) until = Math.min(until, now)
    },
    /** Lets the rest end at that moment at the latest, but not sooner than the first rest would. @param at ms since the epoch. */
    allowTrialBy(at: number): void {
      if (until !== null) until = Math.min(until, Math.max(at, restsSince + openMs))
    },
    /** `open` until when, ms since the epoch; null when closed. */
    openUntil: (): number | null => until,
    /** @param now ms since the epoch: with it, the circuit of a trial that has taken too long counts as open. */
    state: (now: number = triedAt): CircuitState =>
      until === null ? 'closed' : trial && now - triedAt < TRIAL_MS ? 'half-open' : 'open',
  }
}
