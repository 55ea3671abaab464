import { wasStopped } from '../delivery/health.ts'
import type { EventHandlers, EventOf } from '../events/events.ts'
import { quote, type Words, wordsOf } from '../language/sentence.ts'
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
    readonly reply: Words
    readonly whose: string
  } | null
  readonly lastSentAt: number | null
}

/** How often something has happened since the start. */
interface Happened {
  readonly count: number
  /** ms since the epoch. */
  readonly lastAt: number
}

interface QuotaHappened extends Happened {
  readonly quota: string
  /** The last recipient, masked. */
  readonly to: string
}

/** What became of a channel's callbacks since the start. */
export interface ChannelHealth {
  /** The platform's last validation of the URL; `reason`: the answer to it, when it failed. */
  readonly validation: { readonly at: number; readonly ok: boolean; readonly reason: Words } | null
  /** POSTs by their signature. */
  readonly signatures: Record<EventOf<'callback'>['signature'], number>
  /** Callers whose authentication failed, and the latest one with its answer. */
  readonly refusals: {
    readonly count: number
    readonly last: { readonly at: number; readonly reason: Words } | null
  }
  /** POSTs with the right key that were refused, with none accepted since: probably the platform's own. */
  readonly lockedOut: {
    readonly count: number
    /** ms since the epoch. */
    readonly since: number
    readonly why: 'source' | 'signature' | 'stale'
  } | null
  /** What quotas have held back, in the order in which they first did: callbacks, which were answered 429, and device alerts. */
  readonly heldBack: readonly QuotaHappened[]
  /** The quotas of which more than half was used up. */
  readonly nearing: readonly QuotaHappened[]
  /** The most SMS to new numbers of each calling code in an hour. */
  readonly newcomers: ReadonlyMap<string, number>
  /** When somebody last came by the URL that is being replaced, ms since the epoch; null: nobody has. */
  readonly outdatedAt: number | null
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const unusedChannel = (): Mutable<ChannelHealth> => ({
  validation: null,
  signatures: { right: 0, stale: 0, wrong: 0, absent: 0 },
  refusals: { count: 0, last: null },
  lockedOut: null,
  heldBack: [],
  nearing: [],
  newcomers: new Map(),
  outdatedAt: null,
})

/** The store's last failure. */
interface StoreFailure {
  /** ms since the epoch. */
  readonly at: number
  readonly doing: string
  readonly message: Words
}

/** The facts that people ask for first at night, kept in memory, as the events of `handlers` tell them. */
export interface ServiceHealth {
  readonly handlers: EventHandlers
  providers(): readonly ProviderStatus[]
  ofChannel(channel: Channel): ChannelHealth
  /** The messages of which the store could not read what it has; null: none. */
  unreadable(): Happened | null
  /** It is null when the store has not failed, or has worked since. */
  storeFailure(): StoreFailure | null
}

/** @param now ms since the epoch. */
export function createServiceHealth(now: () => number): ServiceHealth {
  const providers = new Map<string, ProviderStatus>()
  const channels = { email: unusedChannel(), sms: unusedChannel() }
  let unreadable: Happened | null = null
  let storeFailure: StoreFailure | null = null

  const countIn =
    (list: 'heldBack' | 'nearing') =>
    ({ channel, quota, to }: EventOf<'over-quota' | 'near-quota'>) => {
      const counted = new Map(channels[channel][list].map(each => [each.quota, each]))
      const count = (counted.get(quota)?.count ?? 0) + 1
      channels[channel][list] = [...counted.set(quota, { quota, to, count, lastAt: now() }).values()]
    }

  const handlers: EventHandlers = {
    callback({ channel, method, answer, refusal, knowsKey, isCheck, signature, outdated }) {
      // What becomes of an operator's own question says nothing of the platform.
      if (isCheck === true) return
      const health = channels[channel]
      const said = {
        at: now(),
        reason: quote(answer.err_msg, refusal === null ? String(answer.err_code) : `refused-${refusal}`),
      }
      if (outdated) health.outdatedAt = said.at
      if (refusal !== null) health.refusals = { count: health.refusals.count + 1, last: said }
      if (method === 'GET') {
        // A stranger is not the platform that validates.
        if (knowsKey) health.validation = { ...said, ok: answer.err_code === 0 }
      } else if (refusal === null) {
        health.signatures[signature] += 1
        health.lockedOut = null
        if (answer.err_code === 0) storeFailure = null
      } else if (knowsKey && refusal !== 'corp' && refusal !== 'key') {
        const { count, since } = health.lockedOut ?? { count: 0, since: said.at }
        health.lockedOut = { count: count + 1, since, why: refusal }
      }
    },
    attempt(event) {
      // It says nothing of the provider, and would stand in the console's first line as its failure.
      if (wasStopped(event.outcome)) return
      providers.set(event.provider, statusAfter(providers.get(event.provider), event, now()))
    },
    'over-quota': countIn('heldBack'),
    'near-quota': countIn('nearing'),
    newcomer({ callingCode, use }) {
      const { newcomers } = channels.sms
      const most = Math.max(newcomers.get(callingCode) ?? 0, Math.ceil(use))
      channels.sms.newcomers = new Map([...newcomers, [callingCode, most]])
    },
    unreadable() {
      unreadable = { count: (unreadable?.count ?? 0) + 1, lastAt: now() }
    },
    'store-failed'({ doing, error }) {
      // Callbacks are taken without these.
      if (doing === 'alerts' || doing === 'webhooks') return
      storeFailure = { at: now(), doing, message: wordsOf(error) }
    },
  }

  return {
    handlers,
    providers: () => [...providers.values()],
    ofChannel: channel => channels[channel],
    unreadable: () => unreadable,
    storeFailure: () => storeFailure,
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
