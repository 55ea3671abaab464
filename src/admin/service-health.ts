import { wasStopped } from '../delivery/breaker.ts'
import type { EventHandlers, EventOf } from '../events/events.ts'
import type { Channel } from '../messages/message.ts'
import { isOperatorFault, isProviderDown } from '../providers/provider.ts'

/** How a provider does, as far as this process has seen. */
export interface ProviderStatus {
  readonly provider: string
  readonly channel: Channel
  readonly up: boolean
  /** The time since which it is up or down, ms since the epoch. */
  readonly since: number
  readonly lastError: {
    readonly at: number
    readonly code: string
    readonly reply: string
    readonly whose: string
  } | null
  readonly lastSentAt: number | null
}

/** The platform's last validation of a channel's URL. */
export interface Validation {
  readonly at: number
  readonly ok: boolean
  /** The answer to it, when it failed. */
  readonly reason: string
}

/** Callers of a channel whose authentication failed. */
export interface RefusedCallers {
  readonly count: number
  /** The latest one, with its answer. */
  readonly last: { readonly at: number; readonly reason: string } | null
}

/** POSTs with the right key that were refused, with none accepted since: probably the platform's own. */
export interface LockedOut {
  readonly count: number
  /** ms since the epoch. */
  readonly since: number
  readonly why: 'source' | 'signature' | 'stale'
}

/** How often something has happened since the start. */
interface Happened {
  readonly count: number
  /** ms since the epoch. */
  readonly lastAt: number
}

/** What a quota has held back of a channel since the start: callbacks, which were answered 429, and device alerts. */
export interface HeldBack extends Happened {
  readonly quota: string
}

/** Counts of a channel's POSTs by their signature. */
export interface SignatureCounts {
  readonly right: number
  readonly wrong: number
  readonly absent: number
}

const NOBODY: RefusedCallers = { count: 0, last: null }

/** A robot whose group is not told of alarms now. */
export interface FailingRobot {
  readonly robot: string
  /** The first post that was not taken since one was, ms since the epoch. */
  readonly since: number
  readonly lastAt: number
  readonly code: string
  readonly reply: string
}

export type ServiceHealth = ReturnType<typeof createServiceHealth>

/**
 * The facts that people ask for first at night, kept in memory.
 * @param now ms since the epoch.
 */
export function createServiceHealth(now: () => number) {
  const providers = new Map<string, ProviderStatus>()
  const validations = new Map<Channel, Validation>()
  const signatures = { email: { right: 0, wrong: 0, absent: 0 }, sms: { right: 0, wrong: 0, absent: 0 } }
  const refusals: Record<Channel, RefusedCallers> = { email: NOBODY, sms: NOBODY }
  const lockedOut: Record<Channel, LockedOut | null> = { email: null, sms: null }
  const heldBack = { email: new Map<string, HeldBack>(), sms: new Map<string, HeldBack>() }
  const outdatedAt: Record<Channel, number | null> = { email: null, sms: null }
  const robots = new Map<string, FailingRobot>()
  let unreadable: Happened | null = null
  let storeFailure: { readonly at: number; readonly doing: string; readonly message: string } | null = null

  const countHeld = ({ channel, quota }: { readonly channel: Channel; readonly quota: string }) => {
    const count = (heldBack[channel].get(quota)?.count ?? 0) + 1
    heldBack[channel].set(quota, { quota, count, lastAt: now() })
  }

  const handlers: EventHandlers = {
    callback({ channel, method, answer, refusal, knowsKey, isCheck, signature, outdated }) {
      // What becomes of an operator's own question says nothing of the platform.
      if (isCheck === true) return
      if (outdated) outdatedAt[channel] = now()
      if (refusal !== null)
        refusals[channel] = {
          count: refusals[channel].count + 1,
          last: { at: now(), reason: answer.err_msg },
        }
      if (method === 'POST') {
        if (refusal === null) {
          signatures[channel][signature] += 1
          lockedOut[channel] = null
        } else if (knowsKey && refusal !== 'corp' && refusal !== 'key') {
          const { count, since } = lockedOut[channel] ?? { count: 0, since: now() }
          lockedOut[channel] = { count: count + 1, since, why: refusal }
        }
        if (refusal === null && answer.err_code === 0) storeFailure = null
        return
      }
      // A stranger is not the platform that validates.
      if (knowsKey) validations.set(channel, { at: now(), ok: answer.err_code === 0, reason: answer.err_msg })
    },
    attempt(event) {
      // It says nothing of the provider, and would stand in the console's first line as its failure.
      if (wasStopped(event.outcome)) return
      providers.set(event.provider, statusAfter(providers.get(event.provider), event, now()))
    },
    'over-quota': countHeld,
    'alert-over-quota': countHeld,
    'robot-posted'({ robot, outcome }) {
      if (outcome.is === 'sent') return void robots.delete(robot)
      const { code, reply } = outcome
      robots.set(robot, { robot, since: robots.get(robot)?.since ?? now(), lastAt: now(), code, reply })
    },
    unreadable() {
      unreadable = { count: (unreadable?.count ?? 0) + 1, lastAt: now() }
    },
    'store-failed'({ doing, error }) {
      storeFailure = { at: now(), doing, message: error.message }
    },
  }

  return {
    handlers,
    providers: (): readonly ProviderStatus[] => [...providers.values()],
    validation: (channel: Channel): Validation | null => validations.get(channel) ?? null,
    signatures: (channel: Channel): SignatureCounts => signatures[channel],
    /** Says since when every POST with the right key is refused; null: the last one was accepted. */
    lockedOut: (channel: Channel): LockedOut | null => lockedOut[channel],
    refusals: (channel: Channel): RefusedCallers => refusals[channel],
    /** Lists what quotas have held back, in the order in which they first did. */
    heldBack: (channel: Channel): readonly HeldBack[] => [...heldBack[channel].values()],
    /** Says when somebody last came by the URL that is being replaced, ms since the epoch; null: nobody has. */
    outdatedAt: (channel: Channel): number | null => outdatedAt[channel],
    /** Lists the robots whose last post was not taken. */
    failingRobots: (): readonly FailingRobot[] => [...robots.values()],
    /** The messages of which the store could not read what it has; null: none. */
    unreadable: (): Happened | null => unreadable,
    /** The store's last failure; null when it has not failed, or has worked since. */
    storeFailure: (): { readonly at: number; readonly doing: string; readonly message: string } | null =>
      storeFailure,
  }
}

/** How a provider does after an attempt. @param before undefined: it is the first. @param at ms since the epoch */
function statusAfter(
  before: ProviderStatus | undefined,
  { provider, message, outcome }: EventOf<'attempt'>,
  at: number,
): ProviderStatus {
  const up = !isProviderDown(outcome)
  const lastError =
    outcome.is === 'sent' || outcome.is === 'rejected'
      ? (before?.lastError ?? null)
      : {
          at,
          code: outcome.code,
          reply: outcome.reply,
          whose: isOperatorFault(outcome) ? 'ours' : outcome.is === 'retry' ? outcome.whose : 'nobody',
        }
  return {
    provider,
    channel: message.channel,
    up,
    since: before?.up === up ? before.since : at,
    lastError,
    lastSentAt: outcome.is === 'sent' ? at : (before?.lastSentAt ?? null),
  }
}
