import type { NewMessage, Outgoing } from '../messages/message.ts'
import {
  faultScopeOf,
  isOperatorFault,
  MOST_AWAITING_REPLY,
  type Outcome,
  type Provider,
  type ScopeNames,
} from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { createObjectSet } from '../runtime/collections.ts'
import { type BreakerOptions, createBreaker, isOwnDoing } from './breaker.ts'
import { type AttemptedPart, createCircuits, createSuspicion, type PartialFaultChange } from './circuits.ts'
import { type AttemptEnd, createLimiter, type Limiter, type LimiterStanding } from './limiter.ts'
import type { ChannelStatus } from './port.ts'

export interface CarrierOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly limiter?: Limiter
  readonly breaker?: Omit<BreakerOptions, 'random'>
  /** How long a final reply may take before its attempt counts against no limit, ms; REPLY_PATIENCE_MS unless given. */
  readonly replyPatienceMs?: number | undefined
}

/** Why a carrier is not asked to send a message now. */
export interface Obstacle {
  /** The end of it, ms since the epoch; null: it lasts until the operator has mended something. */
  readonly until: number | null
  readonly code: string
  readonly reply: string
}

/** How a carrier stands at a moment, whatever the message. Moments are ms since the epoch. */
export interface Standing extends LimiterStanding {
  readonly inFlight: number
  readonly circuit: ChannelStatus['breaker']
  /** When an open circuit is tried again; null: it is closed. */
  readonly openUntil: number | null
}

/** The report on an attempt that has ended. */
export interface CarrierEnd {
  /** The outcome, judged by what this carrier has said to other messages. */
  readonly outcome: Outcome
  readonly tookMs: number
  /** The circuit's state when the attempt has opened or closed it. */
  readonly circuit: 'open' | 'closed' | null
  /** The faults of a part of it that the attempt has begun or ended. */
  readonly faults: readonly PartialFaultChange[]
  /** The message waits until a part of the carrier is tried again, or until somebody mends what concerns this message alone. */
  readonly waitsFor?: 'part' | 'repair' | undefined
}

/**
 * An attempt that has waited so long for its final reply, ms, no longer counts against the limit: a server that scans
 * may take minutes for it (RFC 5321 4.5.3.2.6), and ten such replies would stop all other mail.
 */
export const REPLY_PATIENCE_MS = 20_000

/** How much later than the trial a refused message comes back at the earliest, ms: those that only waited try before it. */
const BEHIND_MS = 1500

/** Why a carrier is not asked that takes other messages. */
export const PART_REFUSED = {
  template: 'left alone for a while: it refuses the template of this message',
  sender: 'left alone for a while: it refuses the sender of this message',
  country: 'left alone for a while: it refuses the country of this message',
} as const
export const PART_REFUSED_CODE = 'part-refused'

/**
 * An attempt hangs that takes so many times as long as is usual there, and so many ms at least. It keeps no place from others once a
 * later one was answered; while all hang, one place becomes free in each such time.
 */
const HANGS = { times: 10, ms: 2000 }
/** How often attempts that hang are looked for, ms. */
const LOOK_MS = 250
/** How long an attempt is taken to last before one was answered, ms. */
const FIRST_USUAL_MS = 500
/** The weight of the latest attempt in what is usual. */
const LATEST = 0.1

export const LEFT_ALONE = {
  code: 'circuit-open',
  reply: 'left alone for a while: it keeps failing, or asked for a pause',
} as const

/** The outcome of a look-up that finds nothing yet, which says nothing of its carrier. */
export const NOT_KNOWN_YET = {
  is: 'retry',
  whose: 'later',
  code: 'not-known-yet',
  reply: 'the provider does not know yet what became of it',
} as const satisfies Outcome

export type Carrier = ReturnType<typeof createCarrier>

/** Makes a provider with all that decides whether and when it is asked: its circuit, its limit, and what it said to whom. */
export function createCarrier(provider: Provider, options: CarrierOptions) {
  const { clock, random, replyPatienceMs = REPLY_PATIENCE_MS } = options
  const breaker = createBreaker({ ...options.breaker, random })
  const limiter = options.limiter ?? createLimiter({ most: provider.concurrency })
  const circuits = createCircuits(random)
  const suspicion = createSuspicion()
  /** Attempts that have waited for their final reply for so long that they count against no limit any more. */
  let awaitingReply = 0
  let onPlaceFree: (() => void) | undefined
  /** Those that count. */
  const counted = createObjectSet<{ readonly startedAt: number; readonly stopCounting: () => void }>()
  /** The mean duration of an attempt that was answered, and from which one on it hangs, ms. */
  let usualMs = FIRST_USUAL_MS
  let hangMs = HANGS.times * FIRST_USUAL_MS
  let hangTimer: NodeJS.Timeout | undefined
  /** When attempts that hang are looked for again, ms since the epoch. */
  let lookAgainAt = Number.NEGATIVE_INFINITY

  /** Frees places of attempts that hang. @param before only of those that began before, ms since the epoch. */
  function freeHanging(before: number, most: number): void {
    const began = Math.min(before - 1, clock.now() - hangMs)
    const spare = provider.concurrency - limiter.inFlight - awaitingReply
    let free = Math.min(most, spare, MOST_AWAITING_REPLY - awaitingReply)
    for (const { startedAt, stopCounting } of counted) {
      if (startedAt > began) continue
      if (free <= 0) return
      stopCounting()
      free -= 1
    }
  }

  /** While all hang, one of them makes room for another: nobody else would find out that the provider is well again. */
  function watchHanging(): void {
    hangTimer ??= setTimeout(() => {
      hangTimer = undefined
      if (limiter.inFlight === 0) return
      watchHanging()
      if (limiter.inFlight < limiter.standing(clock.now()).limit) return
      freeHanging(Infinity, 1)
      onPlaceFree?.()
    }, hangMs).unref()
  }

  let isProbing = false
  /** The way to it was closed when that was looked for last. */
  let wasDown = false

  /** Makes the function that names what a message would use here; nothing of one that does not fit. */
  function namesOf(outgoing: Outgoing): () => ScopeNames {
    let names: ScopeNames | undefined
    return () => {
      try {
        return (names ??= provider.scopesOf?.(outgoing) ?? {})
      } catch {
        return {}
      }
    }
  }

  /**
   * Charges an outcome to what it concerns: the carrier's own circuit (account, transport), the circuit of a template, a sender or
   * a country, or its message alone. Whatever is not charged to the carrier shows that it answers. The limiter has been told already.
   */
  function chargeCircuit(
    said: Outcome,
    part: AttemptedPart,
    startedAt: number,
    now: number,
  ): Omit<CarrierEnd, 'tookMs'> {
    // A provider that refuses one more, and takes those that are under way, is not down.
    if (said.is === 'retry' && said.overload !== undefined && limiter.inFlight > 0) {
      breaker.forgetAttempt(startedAt)
      circuits.forgetTrial(part)
      return { outcome: said, circuit: null, faults: [] }
    }
    const { outcome, change: suspected } = suspicion.judge(said, part, now)
    const faults = [...circuits.record(outcome, part, now), ...(suspected === null ? [] : [suspected])]
    const circuit = breaker.record(outcome, now, startedAt)
    const fault = isOperatorFault(outcome) ? circuits.findFault(part, now) : null
    const isOfOneMessage = said.is === 'retry' && ['message', 'recipient'].includes(faultScopeOf(said))
    const repair = isOfOneMessage && isOperatorFault(said) ? 'repair' : undefined
    const change = { circuit, faults, waitsFor: fault === null ? repair : 'part' } as const
    // It waits for the part's next trial, behind those that were not refused yet.
    if (fault === null || outcome.is !== 'retry') return { outcome, ...change }
    return { outcome: { ...outcome, retryAfterMs: fault.until - now + BEHIND_MS }, ...change }
  }

  return {
    provider,
    /**
     * Says why the carrier is not to be asked now; null: it may be.
     * @param outgoing the message, when it matters whether it fits: a carrier that may have a copy is asked whatever fits.
     */
    mayAsk(outgoing: Outgoing | undefined, now: number): Obstacle | null {
      const misfit = outgoing === undefined ? null : findMisfit(provider, outgoing)
      if (misfit !== null) return { until: null, ...misfit }
      const fault = outgoing === undefined ? null : circuits.findFault({ names: namesOf(outgoing) }, now)
      if (fault !== null)
        return { until: fault.until, code: PART_REFUSED_CODE, reply: PART_REFUSED[fault.scope] }
      const until = breaker.restsUntil(now) ?? limiter.standing(now).pausedUntil
      return until === null ? null : { until, ...LEFT_ALONE }
    },
    /** Has a function called whenever a place is free though its attempt goes on. */
    onPlaceFree(begin: () => void): void {
      onPlaceFree = begin
    },
    /** Takes a place for an attempt of a message. */
    begin(
      startedAt: number,
      { kind, recipient }: Pick<NewMessage, 'kind' | 'recipient'>,
      outgoing: Outgoing,
    ) {
      const part: AttemptedPart = { kind, recipient, names: namesOf(outgoing) }
      breaker.beginAttempt(startedAt)
      circuits.beginAttempt(part, startedAt)
      const place = limiter.takePlace(startedAt)
      let isCounted = true
      let isOver = false
      let timer: NodeJS.Timeout | undefined
      const forgetCounted = counted.add({ startedAt, stopCounting })
      watchHanging()

      function stopCounting(): void {
        isCounted = false
        awaitingReply += 1
        forgetCounted()
        limiter.releasePlace(place, { is: 'void' }, clock.now())
      }

      function giveUpWaiting(stopCountingThere: () => void): void {
        if (isCounted && awaitingReply >= MOST_AWAITING_REPLY) return
        stopCountingThere()
        if (isCounted) stopCounting()
        onPlaceFree?.()
      }

      function releasePlace(end: AttemptEnd, now: number): void {
        clearTimeout(timer)
        isOver = true
        if (isCounted) limiter.releasePlace(place, end, now)
        else awaitingReply -= 1
        forgetCounted()
        if (end.is !== 'answered') return
        usualMs += (now - startedAt - usualMs) * LATEST
        hangMs = Math.max(HANGS.ms, HANGS.times * usualMs)
        if (now < lookAgainAt) return
        lookAgainAt = now + LOOK_MS
        freeHanging(startedAt, Infinity)
      }

      return {
        /** See Provider.send: called once for each server that the message is with; after the reply of the first there may be a fallback. */
        awaitReply(stopCountingThere: () => void): void {
          clearTimeout(timer)
          if (!isOver) timer = setTimeout(() => giveUpWaiting(stopCountingThere), replyPatienceMs).unref()
        },
        /** The attempt never began. */
        forget(): void {
          releasePlace({ is: 'void' }, clock.now())
          breaker.forgetAttempt(startedAt)
          circuits.forgetTrial(part)
        },
        end(said: Outcome): CarrierEnd {
          const now = clock.now()
          releasePlace(limiterEndOf(said), now)
          return { ...chargeCircuit(said, part, startedAt, now), tookMs: now - startedAt }
        },
      }
    },
    /** Ends the rests of all circuits: what failed may be repaired, and the next attempt finds out. */
    allowTrialNow(now: number): void {
      breaker.allowTrialNow(now)
      circuits.allowTrialNow(now)
    },
    /** Lets the circuit's rest end at that moment at the latest, ms since the epoch. */
    allowTrialBy: breaker.allowTrialBy,
    /**
     * Looks by a connection without a message whether a provider that is left alone can be reached again.
     * @returns whether it can, and could not when this was asked last: a login that is refused is no reason for a trial
     */
    async isBack(): Promise<boolean> {
      if (isProbing || provider.probe === undefined || breaker.state(clock.now()) !== 'open') return false
      isProbing = true
      const found = await provider.probe().catch(() => 'down' as const)
      isProbing = false
      const isBack = wasDown && found === 'up'
      wasDown = found === 'down'
      return isBack
    },
    /** Asks the provider whether it approves now of a template or sender that it refused. @returns whether a message may try one of them */
    async hasApproved(): Promise<boolean> {
      if (provider.findHindrance === undefined) return false
      let hasApproved = false
      for (const { scope, name } of circuits.takeForLook(clock.now())) {
        const hindrance = await provider.findHindrance(scope, name).catch(() => undefined)
        if (hindrance === undefined) continue
        if (circuits.noteLook(scope, name, hindrance, clock.now())) hasApproved = true
      }
      return hasApproved
    },
    standing(now: number): Standing {
      const { limit, pausedUntil, risesAt } = limiter.standing(now)
      const circuit = breaker.state(now)
      const openUntil = circuit === 'closed' ? null : breaker.openUntil()
      return { limit, inFlight: limiter.inFlight, circuit, openUntil, pausedUntil, risesAt }
    },
    /** Reports how the carrier does, for people and metrics. */
    status(now: number): Omit<ChannelStatus, 'waiting' | 'isSecond'> {
      const { reason, why } = limiter.explain(now)
      const suspected = suspicion.fault()
      return {
        channel: provider.channel,
        provider: provider.name,
        inFlight: limiter.inFlight + awaitingReply,
        awaitingReply,
        limit: limiter.standing(now).limit,
        limitReason: reason,
        limitWhy: why,
        breaker: breaker.state(),
        breakerUntil: breaker.openUntil(),
        partialFaults: suspected === null ? circuits.faults() : [...circuits.faults(), suspected],
      }
    },
  }
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

/** Says what an outcome tells the limiter about the number of attempts at once. */
export function limiterEndOf(outcome: Outcome): AttemptEnd {
  if (outcome.overload === 'connections') return { is: 'refused-connection', accepted: outcome.accepted }
  const retryAfterMs = outcome.is === 'retry' ? outcome.retryAfterMs : undefined
  if (outcome.overload === 'requests') return { is: 'throttled', retryAfterMs }
  if (isOwnDoing(outcome)) return { is: 'void' }
  if (outcome.is === 'ambiguous') return { is: 'failed' }
  if (outcome.is === 'limit') return { is: outcome.scope === 'recipient' ? 'answered' : 'void' }
  if (outcome.is !== 'retry') return { is: 'answered' }
  // A wrong password is no sign of too many at once, nor is what a look-up does not find yet.
  if (outcome.whose === 'ours' || outcome.code === NOT_KNOWN_YET.code) return { is: 'void' }
  return outcome.untouched === true || outcome.code.endsWith('-limit') ? { is: 'failed' } : { is: 'answered' }
}
