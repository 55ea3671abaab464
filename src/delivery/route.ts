import type { NewMessage, Outgoing } from '../messages/message.ts'
import { isOperatorFault, type Outcome, type Provider } from '../providers/provider.ts'
import type { Breaker } from './breaker.ts'
import type { Limiter } from './limiter.ts'

/** A provider of a channel, with the breaker and the limiter that are for it alone. */
export interface Carrier {
  readonly provider: Provider
  readonly breaker: Breaker
  readonly limiter: Limiter
}

/** The carriers that a message may go to, in the order in which they are asked; often there is one. */
export type Route = (message: NewMessage) => readonly Carrier[]

export type CarrierPool = ReturnType<typeof poolCarriers>

/** The breakers and limiters of all carriers of a channel, as one: the scheduler asks them whether anything may begin at all. */
export function poolCarriers(carriers: readonly Carrier[]) {
  return {
    /** Says how many attempts may be under way, with all of them together; 0 while all have asked for a pause. */
    limit(now: number): number {
      let sum = 0
      for (const { limiter } of carriers) sum += limiter.limit(now)
      return sum
    },
    get inFlight() {
      let sum = 0
      for (const { limiter } of carriers) sum += limiter.inFlight
      return sum
    },
    /** Says when the first pause ends; null: one of them has asked for none. ms since the epoch. */
    pausedUntil: (now: number): number | null =>
      earliest(carriers.map(({ limiter }) => limiter.pausedUntil(now))),
    /** Says when one of them opens a place by itself; see Limiter. ms since the epoch. */
    risesAt(now: number): number | null {
      const moments = carriers.map(({ limiter }) => limiter.risesAt(now)).filter(at => at !== null)
      return moments.length === 0 ? null : Math.min(...moments)
    },
    /** Says when the first circuit is tried again; null: one of them is closed. ms since the epoch. */
    openUntil: (): number | null => earliest(carriers.map(({ breaker }) => breaker.openUntil())),
    breakerState(now?: number): ReturnType<Breaker['state']> {
      const states = carriers.map(({ breaker }) => breaker.state(now))
      return states.find(state => state === 'closed') ?? states.find(state => state === 'open') ?? 'half-open'
    },
  }
}

/** Finds the first moment; null when one of them is null. */
function earliest(moments: readonly (number | null)[]): number | null {
  return moments.reduce((first, each) => (first === null || each === null ? null : Math.min(first, each)))
}

/** How long the other messages wait while one message tries a carrier whose circuit was open, ms. */
const TRIAL_MS = 1000

/** Says until when a carrier is not to be asked; null: it may be now. ms since the epoch. */
export function pausedUntil({ breaker, limiter }: Carrier, now: number): number | null {
  const openUntil = breaker.openUntil()
  if (openUntil !== null && openUntil > now) return openUntil
  if (breaker.state(now) === 'half-open') return now + TRIAL_MS
  return limiter.pausedUntil(now)
}

export const LEFT_ALONE = {
  code: 'circuit-open',
  reply: 'left alone for a while: it keeps failing, or asked for a pause',
} as const

/** Says whether a message has a place with the first carrier of its route that may be asked. */
export function hasPlaceAtCarrier(route: readonly Carrier[], now: number): boolean {
  const first = route.find(carrier => pausedUntil(carrier, now) === null)
  return first === undefined || first.limiter.inFlight < first.limiter.limit(now)
}

export const NO_CARRIER_FITS = 'no-carrier-fits'

/** Says why a provider cannot send a message at all; null: it can. */
export function findMisfit(
  provider: Provider,
  outgoing: Outgoing,
): { readonly code: string; readonly reply: string } | null {
  try {
    const why = provider.fits?.(outgoing) ?? null
    return why === null ? null : { code: NO_CARRIER_FITS, reply: why }
  } catch (error) {
    return describeRenderFault(error)
  }
}

/** Describes why a message could not be rendered. */
export function describeRenderFault(error: unknown): { readonly code: string; readonly reply: string } {
  const name = error instanceof Error ? error.name : 'unknown fault'
  return { code: 'RENDER', reply: `cannot be rendered: ${name}; look at the templates` }
}

/** Codes of outcomes that this service caused itself: with the next carrier the outcome would be the same. */
const OUR_END: ReadonlySet<string> = new Set(['aborted', 'closed', 'expired'])

/**
 * Says whether the next carrier may be asked in the same attempt: when this one has surely not sent the message, and the end
 * says nothing of the recipient. That an account may not send to a country says nothing of another account.
 */
export function mayAskNext(outcome: Outcome): boolean {
  if (outcome.is === 'rejected') return outcome.why === 'country'
  return outcome.is === 'limit' || (outcome.is === 'retry' && !OUR_END.has(outcome.code))
}

/**
 * Decides the outcome of an attempt in which no carrier took the message. First comes a fault that the operator has to mend,
 * then one that may pass; the message is refused only when all carriers refused it.
 * @param outcomes of the carriers that were asked, at least one, none of them sent or ambiguous.
 */
export function combineOutcomes(outcomes: readonly Outcome[]): Outcome {
  const decisive =
    outcomes.find(isOperatorFault) ??
    outcomes.findLast(({ is }) => is === 'retry') ??
    outcomes.find(({ is }) => is === 'limit') ??
    outcomes.at(-1)
  if (decisive === undefined) throw new TypeError('no carrier was asked')
  if (outcomes.length === 1 || (decisive.is !== 'retry' && decisive.is !== 'limit')) return decisive
  // The first of them that may be asked again decides when.
  const waits = outcomes.flatMap(each =>
    each.is === 'retry' || each.is === 'limit' ? [each.retryAfterMs ?? null] : [],
  )
  const retryAfterMs = earliest(waits)
  if (decisive.is === 'limit' && retryAfterMs !== null) return { ...decisive, retryAfterMs }
  const { code, reply } = decisive
  const untouched = outcomes.every(each => each.is === 'retry' && each.untouched === true)
  return {
    is: 'retry',
    whose: isOperatorFault(decisive) ? 'ours' : 'later',
    code,
    reply,
    ...(retryAfterMs !== null && { retryAfterMs }),
    ...(untouched && { untouched }),
  }
}
