import type { Outgoing } from '../messages/message.ts'
import {
  faultScopeOf,
  isOperatorFault,
  isUnanswered,
  MOST_AWAITING_REPLY,
  type Outcome,
  type Provider,
  type ScopeNames,
} from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  createHealth,
  type HealthAttempt,
  type HealthChange,
  type HealthOptions,
  isOwnDoing,
  type MessageOfAttempt,
  NO_CARRIER_FITS,
  NOT_KNOWN_YET,
  OVERDUE,
  UNCHANGED,
} from './health.ts'
import { type AttemptEnd, createLimiter, type Limiter, type LimiterStanding } from './limiter.ts'
import type { ChannelStatus } from './port.ts'

export interface CarrierOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly limiter?: Limiter
  readonly health?: HealthOptions
  /** How long an attempt is waited for before it counts as failed, ms, when that does not follow from how long the others took. */
  readonly patienceMs?: number | undefined
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
export interface CarrierEnd extends HealthChange {
  /** The outcome, judged by what this carrier has said to other messages. */
  readonly outcome: Outcome
  readonly tookMs: number
  /** The message waits until a part of the carrier is tried again, or until somebody mends what concerns this message alone. */
  readonly waitsFor?: 'part' | 'repair' | undefined
}

/** How much later than the trial a refused message comes back at the earliest, ms: those that only waited try before it. */
const BEHIND_MS = 1500

/** Why a carrier is not asked that takes other messages. */
export const PART_REFUSED = {
  template: 'left alone for a while: it refuses the template of this message',
  sender: 'left alone for a while: it refuses the sender of this message',
  country: 'left alone for a while: it refuses the country of this message',
} as const
export const PART_REFUSED_CODE = 'part-refused'

export const LEFT_ALONE = {
  code: 'circuit-open',
  reply: 'left alone for a while: it keeps failing, or asked for a pause',
} as const

/** An attempt of a message with a carrier, in a place of it. */
export interface CarrierAttempt {
  /** See Provider.send. */
  awaitReply(stopCounting: () => void): void
  /** Has a function called when it has waited for longer than it may. @param tell is told whether all of the message is with the provider */
  whenOverdue(tell: (isHandedOver: boolean) => void): void
  /** The attempt never began. */
  forget(): void
  end(said: Outcome): CarrierEnd
}

/** A provider with all that decides whether and when it is asked. */
export interface Carrier {
  readonly provider: Provider
  /**
   * Says why the carrier is not to be asked now; null: it may be.
   * @param outgoing the message, when it matters whether it fits: a carrier that may have a copy is asked whatever fits.
   */
  mayAsk(outgoing: Outgoing | undefined, now: number): Obstacle | null
  /**
   * Takes a place for an attempt of a message.
   * @param onOverdue called when it has waited for longer than it may: its place may be free though it goes on.
   */
  begin(
    startedAt: number,
    message: MessageOfAttempt,
    outgoing: Outgoing,
    onOverdue?: (change: HealthChange) => void,
  ): CarrierAttempt
  /** Ends all rests: what failed may be repaired, and the next attempt finds out. */
  allowTrialNow(now: number): void
  /** Lets rests end at that moment at the latest, ms since the epoch. */
  allowTrialBy(at: number): void
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
  status(now: number): Omit<ChannelStatus, 'waiting' | 'isSecond'>
}

/** Makes a provider with its health, its limit, and what it said to whom. */
export function createCarrier(provider: Provider, options: CarrierOptions): Carrier {
  const { clock, random } = options
  const health = createHealth(random, options.health)
  const limiter = options.limiter ?? createLimiter({ most: provider.concurrency })
  const patience = createPatience(options.patienceMs)
  /** How many attempts have begun. */
  let begun = 0
  /** Attempts that go on and have no place any more: they count against no limit. */
  let awaitingReply = 0
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
   * Charges an outcome to what it concerns: the carrier (account, transport), a template, a sender or a country of it, or its message
   * alone. Whatever is not charged to the carrier shows that it answers. The limiter has been told already.
   */
  function charge(said: Outcome, attempt: HealthAttempt, now: number): Omit<CarrierEnd, 'tookMs'> {
    // A provider that refuses one more, and takes those that are under way, is not down.
    if (said.is === 'retry' && said.overload !== undefined && limiter.inFlight > 0) {
      health.forgetTrial(attempt)
      return { outcome: said, circuit: null, faults: [] }
    }
    const { outcome, change: suspected } = health.judge(said, attempt, now)
    const { circuit, faults } = health.record(outcome, attempt, now)
    const fault = isOperatorFault(outcome) ? health.findFault(attempt.names, now) : null
    const isOfOneMessage = said.is === 'retry' && ['message', 'recipient'].includes(faultScopeOf(said))
    const repair = isOfOneMessage && isOperatorFault(said) ? 'repair' : undefined
    const change = {
      circuit,
      faults: suspected === null ? faults : [...faults, suspected],
      waitsFor: fault === null ? repair : 'part',
    } as const
    // It waits for the part's next trial, behind those that were not refused yet.
    if (fault === null || outcome.is !== 'retry') return { outcome, ...change }
    return { outcome: { ...outcome, retryAfterMs: fault.until - now + BEHIND_MS }, ...change }
  }

  return {
    provider,
    mayAsk(outgoing, now) {
      const misfit = outgoing === undefined ? null : findMisfit(provider, outgoing)
      if (misfit !== null) return { until: null, ...misfit }
      const fault = outgoing === undefined ? null : health.findFault(namesOf(outgoing), now)
      if (fault !== null)
        return { until: fault.until, code: PART_REFUSED_CODE, reply: PART_REFUSED[fault.scope] }
      const until = health.restsUntil(now) ?? limiter.standing(now).pausedUntil
      return until === null ? null : { until, ...LEFT_ALONE }
    },
    begin(startedAt, { kind, recipient }, outgoing, onOverdue) {
      const attempt = { kind, recipient, names: namesOf(outgoing), startedAt, nth: (begun += 1) }
      health.begin(attempt, startedAt)
      const place = limiter.takePlace(startedAt)
      let isCounted = true
      let isOverdue = false
      let looks = 0
      let stopCountingThere: (() => void) | undefined
      let tellOverdue: ((isHandedOver: boolean) => void) | undefined
      let timer = setTimeout(noteOverdue, patience.ms()).unref()

      /** It has waited for longer than it may: it counts as failed, and as long as there are some to spare its place is another's. */
      function noteOverdue(): void {
        const now = clock.now()
        looks += 1
        // This process was late itself: an answer may be there.
        if (looks === 1 && now - startedAt > patience.ms() + LATE_MS) {
          timer = setTimeout(noteOverdue, SECOND_LOOK_MS).unref()
          return
        }
        isOverdue = true
        giveUpPlace()
        onOverdue?.(health.record(OVERDUE, attempt, now))
        tellOverdue?.(stopCountingThere !== undefined)
      }

      function giveUpPlace(): void {
        const used = limiter.inFlight + awaitingReply
        const isSpare = stopCountingThere !== undefined || used < provider.concurrency
        if (isCounted && (!isSpare || awaitingReply >= MOST_AWAITING_REPLY)) return
        stopCountingThere?.()
        if (!isCounted) return
        isCounted = false
        awaitingReply += 1
        limiter.releasePlace(place, { is: 'void' }, clock.now())
      }

      function releasePlace(end: AttemptEnd, now: number): void {
        clearTimeout(timer)
        if (isCounted) limiter.releasePlace(place, end, now)
        else awaitingReply -= 1
        if (end.is === 'answered') patience.noteAnswer(now - startedAt)
      }

      return {
        awaitReply(stopCounting) {
          stopCountingThere = stopCounting
          if (!isOverdue) return
          giveUpPlace()
          onOverdue?.(UNCHANGED)
        },
        whenOverdue(tell) {
          tellOverdue = tell
        },
        forget() {
          releasePlace({ is: 'void' }, clock.now())
          health.forgetTrial(attempt)
        },
        end(said) {
          const now = clock.now()
          releasePlace(limiterEndOf(said), now)
          return { ...charge(said, attempt, now), tookMs: now - startedAt }
        },
      }
    },
    allowTrialNow: health.allowTrialNow,
    allowTrialBy: health.allowTrialBy,
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
      const [circuit, openUntil] = [health.state(), health.openUntil()]
      return { ...limiter.standing(now), inFlight: limiter.inFlight, circuit, openUntil }
    },
    status(now) {
      const { reason, why } = limiter.explain(now)
      return {
        channel: provider.channel,
        provider: provider.name,
        inFlight: limiter.inFlight + awaitingReply,
        awaitingReply,
        limit: limiter.standing(now).limit,
        limitReason: reason,
        limitWhy: why,
        breaker: health.state(),
        breakerUntil: health.openUntil(),
        fault: health.fault(),
        partialFaults: health.faults(),
      }
    },
  }
}

/** An attempt is waited for four times as long as most took, within these bounds, ms; and as long as `first` before one was answered. */
const PATIENCE = { times: 4, least: 2000, most: 20_000, first: 5000 }
/** The number of the latest answered attempts that say how long most take. */
const LATEST_ANSWERED = 50
/**
 * When this process stood still for so long, ms, the answer to an attempt that it looks at may have come meanwhile: it
 * looks once more after SECOND_LOOK_MS.
 */
const LATE_MS = 500
const SECOND_LOOK_MS = 50

/** Knows how long an attempt is waited for: patience grows only when half of the latest were slow. */
function createPatience(givenMs: number | undefined) {
  const latest: number[] = []
  /** The same, the shortest first. */
  const sorted: number[] = []
  return {
    ms(): number {
      const median = sorted[sorted.length >> 1]
      if (givenMs !== undefined || median === undefined) return givenMs ?? PATIENCE.first
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
  if (outcome.is === 'limit') return { is: outcome.scope === 'recipient' ? 'answered' : 'void' }
  if (outcome.is !== 'retry') return { is: outcome.is === 'ambiguous' ? 'void' : 'answered' }
  const { whose, code, overload, accepted, retryAfterMs } = outcome
  if (overload === 'connections') return { is: 'refused-connection', accepted }
  if (overload === 'requests') return { is: 'throttled', retryAfterMs }
  // A wrong password is no sign of how many it takes, nor is what a look-up does not find yet.
  const saysNothing = whose === 'ours' || isOwnDoing(outcome) || code === NOT_KNOWN_YET.code
  return { is: saysNothing || isUnanswered(outcome) ? 'void' : 'answered' }
}
