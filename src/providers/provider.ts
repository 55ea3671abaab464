import type { Words } from '../language/sentence.ts'
import type { Channel, FaultScope, Outgoing, OutgoingSms } from '../messages/message.ts'
import type { ReportFault } from '../outbox/outbox.ts'

/**
 * The outcome of an attempt. An expected outcome is a value; a provider throws only for a bug.
 * `reply` is what the provider said, cut to 200 characters, without recipient, code or link (an SMTP server repeats
 * the address it refuses), safe to log, store and show.
 */
export type Outcome =
  /** Accepted by the provider: 250 after the dot, Twilio 201. */
  | { readonly is: 'sent'; readonly reply: Words; readonly providerId?: string }
  /** Refused for good by this provider. Of `recipient` it is taken to be true of every provider, unless it is incapable; of what the message says it is not. */
  | {
      readonly is: 'rejected'
      readonly scope: FaultScope
      readonly code: string
      readonly reply: Words
      /** It lacks what the message needs, or does not reach the recipient; another one may. */
      readonly incapable?: true
    }
  /**
   * Surely not sent: it may be tried again. `ours`: the operator has something to mend (a wrong password);
   * `later`: the provider asks for time, or could not be reached. `retryAfterMs` when the provider named it.
   */
  | {
      readonly is: 'retry'
      readonly whose: 'ours' | 'later'
      readonly scope?: FaultScope | undefined
      readonly code: string
      readonly reply: Words
      readonly retryAfterMs?: number
      /** No byte of this message left the process (connection refused, DNS, TLS, aborted while waiting). */
      readonly untouched?: boolean
      /** One more was refused for the number of connections (SMTP 421), or for the number of requests (HTTP 429). */
      readonly overload?: 'connections' | 'requests'
      /** How many connections it had when it refused one more, where that is known. */
      readonly accepted?: number
    }
  /**
   * Surely not sent: a limit is used up, of the recipient's number (three codes an hour) or, in any other scope, of ours.
   * `retryAfterMs`: when the next one may be taken, as far as that is known.
   */
  | {
      readonly is: 'limit'
      readonly scope: FaultScope
      readonly code: string
      readonly reply: Words
      readonly retryAfterMs: number
    }
  /** Nobody knows: no reply after the dot, or after the POST was written. */
  | {
      readonly is: 'ambiguous'
      readonly scope?: FaultScope | undefined
      readonly code: string
      readonly reply: Words
    }

/** An outcome that is not `sent`. Its scope is read by {@link faultScopeOf}. */
export type Fault = Exclude<Outcome, { is: 'sent' }>

/**
 * Says what a fault concerns. Where the provider has not said it, a fault without an answer is the transport's, one that asks for
 * fewer requests is the account's, and any other is its message's alone.
 */
export function faultScopeOf(fault: Fault): FaultScope {
  if (fault.scope !== undefined) return fault.scope
  if (fault.is === 'retry' && fault.overload !== undefined) return 'account'
  const isSilent =
    fault.is === 'ambiguous' || (fault.is === 'retry' && fault.whose === 'later' && fault.untouched === true)
  return isSilent ? 'transport' : 'message'
}

/** The names of what a message would use at a provider, by the scope that a fault of it has. Where a name is absent, all messages share one. */
export type ScopeNames = { readonly [S in 'template' | 'sender' | 'country']?: string | undefined }

/** The outcome of an attempt that ended before any byte of the message left. */
export function notBegun(code: string, reply: Words): Outcome {
  return { is: 'retry', whose: 'later', code, reply, untouched: true }
}

/** A provider's answer to the question what became of a message that may have been sent. */
export type LookUp =
  /** It has the message, so the message is sent. */
  | { readonly is: 'accepted'; readonly reply: Words; readonly providerId?: string }
  /** It surely never got the message: no attempt so far has sent it. */
  | { readonly is: 'absent'; readonly reply: Words }
  /** It cannot say, or not yet. */
  | { readonly is: 'not-known'; readonly reply: Words }
  /** It could not be asked. */
  | { readonly is: 'unreachable'; readonly reply: Words }

/** A probe ends within so many ms: what takes longer is left to a message to find out. */
export const PROBE_MS = 2_000

/** The result of a check of an account: the finding, and the remedy as far as it is known. */
export interface Verification {
  readonly ok: boolean
  readonly detail: Words
  readonly next?: Words
}

/** Sends one message of one channel. Every implementation passes test/providers/contract.ts. */
export interface Provider {
  /** `smtp`, `smtp-fallback`, `twilio`: the name in logs, metrics and the console. */
  readonly name: string
  readonly channel: Channel
  /** The most messages that may be with it and count, by the settings; a hundred that last for long may be with it beside them. */
  readonly concurrency: number
  /**
   * Says whether this provider can send the message at all. Pure, and asked before any byte leaves.
   * @returns null: it can; else why not, in words for log and console that tell nothing of what the message says
   * @throws what `text()` of the message throws, when the provider sends text
   */
  fits?(message: Outgoing): Words | null
  /** What is sent of a message where that is neither its text nor a template, for `preview`; null: it is one of them. Pure. */
  requestOf?(message: OutgoingSms): string | null
  /** Names what a message would use here, as far as the provider has it: two messages with the same name share its faults. Pure. */
  scopesOf?(message: Outgoing): ScopeNames
  /**
   * Tries once, within the provider's own time limits, which are shorter than a lease.
   * When `signal` aborts: `retry` with `untouched` when nothing was written yet, `ambiguous` once the dot or the POST
   * may have been.
   * @param onHandedOver called when all of the message is with the provider and only its final reply is missing. A provider
   *   whose replies never take long does not call it.
   */
  send(message: Outgoing, signal: AbortSignal, onHandedOver?: () => void): Promise<Outcome>
  /**
   * Asks what became of a message that may have been sent. A provider that cannot be asked has no such method.
   * @param since the message was not sent before, ms since the epoch.
   */
  lookUp?(message: Outgoing, since: number, signal: AbortSignal): Promise<LookUp>
  /**
   * Says whether the way to it is open, by a new connection that carries no message and no login, within PROBE_MS. A login
   * that is refused again and again would lock the account, so `up` says nothing about it.
   */
  probe?(): Promise<'up' | 'down'>
  /**
   * Asks why a template or a sender may not be used now, in words. A provider that approves of neither has no such method.
   * @returns null: it is approved; undefined: it cannot be known
   */
  findHindrance?(scope: 'template' | 'sender', name: string): Promise<Words | null | undefined>
  /** Looks whether the account works, without sending: for `check`, the console and a breaker's curiosity. */
  verify(): Promise<Verification>
  /** Ends its connections; what is in flight was aborted before. */
  close(): Promise<void>
}

/**
 * Says whether the operator surely has something to mend: a wrong password, or an account that is used up. What a provider calls ours
 * about a single message or recipient is none: strangers choose those.
 */
export function isOperatorFault(outcome: Outcome): boolean {
  if (outcome.is === 'limit') return outcome.scope !== 'recipient'
  if (outcome.is !== 'retry' || outcome.whose !== 'ours') return false
  return outcome.scope !== 'message' && outcome.scope !== 'recipient'
}

/** The same of a report on a message that did not arrive. */
export function isOursToMend({ verdict, scope }: Omit<ReportFault, 'reason'>): boolean {
  return verdict === 'ours' || (verdict === 'limit' && scope !== 'recipient')
}

/** Says whether the operator may have something to mend: the provider calls it ours, be it of a single message or recipient. */
export function isCalledOurs(outcome: Outcome): boolean {
  return isOperatorFault(outcome) || (outcome.is === 'retry' && outcome.whose === 'ours')
}

/**
 * Says whether a provider counts as down after an outcome: every message would meet the same, because it gave no answer, or refused
 * the account. A greylisted recipient, a template under review or a slow scanner says nothing about the next message.
 */
export function isProviderDown(outcome: Outcome): boolean {
  if (outcome.is === 'sent') return false
  const scope = faultScopeOf(outcome)
  if (scope !== 'account' && scope !== 'transport') return false
  return (
    outcome.is === 'ambiguous' ||
    isOperatorFault(outcome) ||
    (outcome.is === 'retry' && isUnanswered(outcome))
  )
}

/** Says whether the provider gave no answer to a message: none of it left, or a limit of ours ended the wait. */
export function isUnanswered({ untouched, code }: Outcome & { is: 'retry' }): boolean {
  return untouched === true || code.endsWith('-limit')
}
