import { say, type Words } from '../language/sentence.ts'
import type { NewMessage, Outgoing } from '../messages/message.ts'
import { isOperatorFault, type Outcome, type Provider, type ScopeNames } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  type CircuitState,
  createHealth,
  type HealthAttempt,
  type HealthChange,
  NO_CARRIER_FITS,
  OVERDUE,
} from './health.ts'
import { createLimiter, type HeldPlaces, isAnswer } from './limiter.ts'
import type { ChannelStatus } from './port.ts'

export interface CarrierOptions {
  readonly clock: Clock
  readonly random: () => number
}

/** Why a carrier is not asked to send a message now. */
export interface Obstacle {
  /** The end of it, ms since the epoch; null: it lasts until the operator has mended something. */
  readonly until: number | null
  readonly code: string
  readonly reply: Words
  /** It concerns all that goes to the destination of the message. */
  readonly isOfDestination?: boolean
}

/** How a carrier stands at a moment, whatever the message. Moments are ms since the epoch. */
export interface Standing {
  /** How many attempts may be under way; 0 during a pause. */
  readonly limit: number
  /** When the latest pause ends, or ended, after the provider refused a request; 0: there was none. */
  readonly pausedUntil: number
  readonly circuit: CircuitState
  /** When an open circuit is tried again; 0: it is closed. */
  readonly openUntil: number
}

/** The report on an attempt that has ended. */
export interface CarrierEnd extends HealthChange {
  /** When it can be sent again is known better here. */
  readonly outcome: Outcome
  readonly tookMs: number
}

/** How much later than the trial a refused message comes back at the earliest, ms: those that only waited try before it. */
const BEHIND_MS = 1500

/** Why a carrier is not asked that takes other messages. */
export const PART_REFUSED = {
  template: 'left alone for a while: it refuses the template of this message',
  sender: 'left alone for a while: it refuses the sender of this message',
  country: 'left alone for a while: it refuses the country of this message',
  domain: 'left alone for a while: mail to the domain of this message hangs, or fails',
} as const
export const PART_REFUSED_CODE = 'part-refused'

export const LEFT_ALONE = {
  code: 'circuit-open',
  reply: 'left alone for a while: it keeps failing, or asked for a pause',
} as const

/** A provider with all that decides whether and when it is asked. */
export interface Carrier {
  readonly provider: Provider
  /** The places of the attempts that are under way. */
  readonly places: HeldPlaces
  /**
   * Says why the carrier is not to be asked now; null: it may be.
   * @param outgoing the message, when it matters whether it fits: a carrier that may have a copy is asked whatever fits.
   */
  mayAsk(outgoing: Outgoing | undefined, now: number): Obstacle | null
  /**
   * Takes a place for an attempt of a message, of another destination if there is no other one. The provider is asked from its `start` on.
   * @param onOverdue called when it has waited for longer than it may: its place may be free though it goes on.
   */
  begin(
    now: number,
    message: Pick<NewMessage, 'kind' | 'destination'>,
    outgoing: Outgoing,
    onOverdue?: (change: HealthChange) => void,
  ): CarrierAttempt
  /** Ends all rests: what failed may be repaired, and the next attempt finds out. */
  allowTrialNow(now: number): void
  /**
   * Looks by a connection without a message whether a provider that is left alone can be reached again. It is tried at once when it
   * can, and could not when this was asked last: a login that is refused is no reason for a trial.
   * @returns whether it is tried now
   */
  isBack(): Promise<boolean>
  /** Asks the provider whether it approves now of a template or sender that it refused. @returns whether a message may try one of them */
  hasApproved(): Promise<boolean>
  standing(now: number): Standing
  /** Reports how the carrier does, for people and metrics. */
  status(now: number): Omit<ChannelStatus, 'waiting' | 'secondIn' | 'destinations'>
  /** How long most attempts take, ms; undefined: none was answered yet. */
  usualMs(): number | undefined
  /** It rests, or a part of it. */
  isTroubled(): boolean
}

/** An attempt of a message with a carrier, in a place of it. */
export interface CarrierAttempt {
  /** The provider is asked now: its patience and its time begin. What the store takes before is no fault of it. */
  start(): void
  /** The attempt never began. */
  forget(): void
  end(said: Outcome): CarrierEnd
}

/** Makes a provider with its health, its limit, and what it said to whom. */
export function createCarrier(provider: Provider, { clock, random }: CarrierOptions): Carrier {
  const health = createHealth(random)
  const limiter = createLimiter(provider.concurrency)
  const patience = createPatience()
  /** How many attempts have begun. */
  let begun = 0
  let isProbing = false
  /** The way to it was closed when that was looked for last. */
  let wasDown = false

  /** Makes the function that names what a message would use here; nothing of one that does not fit. */
  function namesOf(outgoing: Outgoing): HealthAttempt['names'] {
    const domain = outgoing.channel === 'email' ? { domain: placeOf(outgoing) } : {}
    let names: ScopeNames | undefined
    return () => {
      try {
        return { ...(names ??= provider.scopesOf?.(outgoing) ?? {}), ...domain }
      } catch {
        return domain
      }
    }
  }

  /** Takes the outcome of an attempt. Whatever is not charged to the carrier shows that it answers. The limiter has been told already. */
  function charge(outcome: Outcome, attempt: HealthAttempt, now: number): Omit<CarrierEnd, 'tookMs'> {
    // A provider that refuses one more, and takes those that are under way, is not down.
    if (outcome.is === 'retry' && outcome.overload !== undefined && limiter.counted() > 0) {
      health.forgetTrial(attempt)
      return { outcome, circuit: null, faults: [] }
    }
    const change = health.record(outcome, attempt, now)
    const fault = isOperatorFault(outcome) ? health.findFault(attempt.names, now) : null
    // It waits for the part's next trial, behind those that were not refused yet.
    if (fault === null || outcome.is !== 'retry') return { ...change, outcome }
    return { ...change, outcome: { ...outcome, retryAfterMs: fault.until - now + BEHIND_MS } }
  }

  return {
    provider,
    places: limiter,
    mayAsk(outgoing, now) {
      const misfit = outgoing === undefined ? null : findMisfit(provider, outgoing)
      if (misfit !== null) return { until: null, ...misfit }
      const fault = outgoing === undefined ? null : health.findFault(namesOf(outgoing), now)
      if (fault !== null) {
        const { scope, until } = fault
        const isOfDestination = scope === 'country' || scope === 'domain'
        return { until, code: PART_REFUSED_CODE, reply: PART_REFUSED[scope], isOfDestination }
      }
      const until = health.restsUntil(now) ?? limiter.standing(now).pausedUntil
      return until <= now ? null : { until, ...LEFT_ALONE, isOfDestination: true }
    },
    begin(takenAt, { kind, destination }, outgoing, onOverdue) {
      const place = placeOf(outgoing)
      const isStrange = !limiter.wasAnswered(destination)
      const attempt = {
        kind,
        names: namesOf(outgoing),
        place,
        isStrange,
        startedAt: takenAt,
        nth: (begun += 1),
      }
      health.begin(attempt, takenAt)
      const held = limiter.take(takenAt, destination)
      let timer: NodeJS.Timeout | undefined

      /** It has waited for longer than it may: it counts as failed. */
      function noteOverdue(): void {
        limiter.stopWaiting(held)
        onOverdue?.(health.record(OVERDUE, attempt, clock.now()))
      }

      function awaitLastMoment(): void {
        timer = setTimeout(noteOverdue, LAST_MOMENT_MS).unref()
      }

      function release(said: Outcome | undefined, now: number): void {
        clearTimeout(timer)
        limiter.release(held, said, now)
      }

      return {
        start() {
          attempt.startedAt = clock.now()
          timer = setTimeout(awaitLastMoment, patience.ms() - LAST_MOMENT_MS).unref()
        },
        forget() {
          release(undefined, clock.now())
          health.forgetTrial(attempt)
        },
        end(said) {
          const now = clock.now()
          const tookMs = now - attempt.startedAt
          release(said, now)
          if (isAnswer(said)) patience.noteAnswer(tookMs)
          return { ...charge(said, attempt, now), tookMs }
        },
      }
    },
    allowTrialNow: health.allowTrialNow,
    async isBack() {
      if (isProbing || provider.probe === undefined || health.state() !== 'open') return false
      isProbing = true
      const found = await provider.probe().catch(() => 'down' as const)
      isProbing = false
      const isBack = wasDown && found === 'up'
      wasDown = found === 'down'
      if (isBack) health.allowTrialNow(clock.now())
      return isBack
    },
    async hasApproved() {
      if (provider.findHindrance === undefined) return false
      let hasApproved = false
      for (const { scope, name } of health.takeForLook(clock.now())) {
        const hindrance = await provider.findHindrance(scope, name).catch(() => undefined)
        if (hindrance === undefined) continue
        if (health.noteLook(scope, name, hindrance, clock.now())) hasApproved = true
      }
      return hasApproved
    },
    standing(now) {
      const openUntil = health.restsUntil(now) ?? health.openUntil() ?? 0
      return { ...limiter.standing(now), circuit: health.state(), openUntil }
    },
    status(now) {
      const { reason, why } = limiter.explain(now)
      return {
        channel: provider.channel,
        provider: provider.name,
        inFlight: limiter.counted() + limiter.uncounted(),
        awaitingReply: limiter.uncounted(),
        limit: limiter.standing(now).limit,
        limitReason: reason,
        limitWhy: why,
        breaker: health.state(),
        breakerUntil: health.openUntil(),
        fault: health.fault(),
        partialFaults: health.faults(),
      }
    },
    usualMs: patience.usualMs,
    isTroubled: health.isTroubled,
  }
}

/** An attempt is waited for four times as long as most took, within these bounds, ms; and as long as `first` before one was answered. */
const PATIENCE = { times: 4, least: 2000, most: 20_000, first: 5000 }
/** The number of the latest answered attempts that say how long most take. */
const LATEST_ANSWERED = 50
/** The last moment of it, ms, is waited for apart: when this process stood still, an answer that came meanwhile is read in it. */
const LAST_MOMENT_MS = 50

/** Knows how long an attempt is waited for: patience grows only when half of the latest were slow. */
function createPatience() {
  const latest: number[] = []
  /** The same, the shortest first. */
  const sorted: number[] = []
  return {
    /** How long most took, ms; undefined: none was answered yet. */
    usualMs: (): number | undefined => sorted[sorted.length >> 1],
    ms(): number {
      const median = sorted[sorted.length >> 1]
      if (median === undefined) return PATIENCE.first
      return Math.min(Math.max(PATIENCE.times * median, PATIENCE.least), PATIENCE.most)
    },
    noteAnswer(tookMs: number): void {
      latest.push(tookMs)
      const oldest = latest.length > LATEST_ANSWERED ? latest.shift() : undefined
      if (oldest !== undefined) sorted.splice(sorted.indexOf(oldest), 1)
      const at = sorted.findIndex(each => each > tookMs)
      sorted.splice(at < 0 ? sorted.length : at, 0, tookMs)
    },
  }
}

/** Says where a message goes: to a country, or to the domain of a mailbox. */
function placeOf(outgoing: Outgoing): string {
  if (outgoing.channel === 'sms') return outgoing.country
  return outgoing.to.slice(outgoing.to.lastIndexOf('@') + 1).toLowerCase()
}

/** Says why a provider cannot send a message at all; null: it can. */
export function findMisfit(
  provider: Provider,
  outgoing: Outgoing,
): { readonly code: string; readonly reply: Words } | null {
  try {
    const why = provider.fits?.(outgoing) ?? null
    return why === null ? null : { code: NO_CARRIER_FITS, reply: why }
  } catch (error) {
    return describeRenderFault(error)
  }
}

/** Describes why a message could not be rendered. */
export function describeRenderFault(error: unknown): { readonly code: string; readonly reply: Words } {
  const name = error instanceof Error ? error.name : 'unknown fault'
  return { code: 'RENDER', reply: say('cannot be rendered: {name}; look at the templates', { name }) }
}
