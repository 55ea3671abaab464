import type { Clock } from '../../runtime/clock.ts'
import { faultScopeOf, type Outcome, type Provider } from '../provider.ts'

/** The bounds beyond which the primary is left alone. */
export interface FallbackPolicy {
  /** After so many attempts in a row that could not begin, or met silence… */
  readonly failures: number
  /** …it is not asked for this long, ms; then one message tries it. */
  readonly restMs: number
}

/**
 * Two providers of one channel as one: when the primary did not take a message (a retry, of whatever kind), the fallback is asked
 * in the same attempt. Never after an ambiguous outcome, which might send it twice, nor after a rejection, unless the primary
 * lacks what the message needs (SMTPUTF8). When only the fallback lacks it, the message waits for the primary.
 *
 * An unreachable primary costs its connect limit for each message, so after some failures it is left alone for a
 * while. The outcome's reply names who gave it.
 */
export function withFallback(
  primary: Provider,
  fallback: Provider,
  clock: Clock,
  { failures, restMs }: FallbackPolicy = { failures: 3, restMs: 30_000 },
): Provider {
  if (primary.channel !== fallback.channel) throw new TypeError('a fallback serves the same channel')
  let inARow = 0
  let restsUntil = 0

  /** Says whether to ask the primary now; while it rests nobody does, and afterwards one message at a time. */
  function admits(): boolean {
    if (inARow < failures) return true
    if (clock.now() < restsUntil) return false
    restsUntil = clock.now() + restMs
    return true
  }

  function note(outcome: Outcome): void {
    if (!isUnreachable(outcome)) inARow = 0
    else if (++inARow >= failures) restsUntil = clock.now() + restMs
  }

  return {
    name: primary.name,
    channel: primary.channel,
    concurrency: Math.max(primary.concurrency, fallback.concurrency),
    scopesOf: message => primary.scopesOf?.(message) ?? {},
    async send(message, signal, onAwaitingReply) {
      if (!admits()) {
        const only = await fallback.send(message, signal, onAwaitingReply)
        if (!isIncapable(only)) return named(fallback.name, only)
        // The other server may be able to, once it is back.
        return named(fallback.name, { is: 'retry', whose: 'later', code: only.code, reply: only.reply })
      }
      const first = await primary.send(message, signal, onAwaitingReply)
      note(first)
      if ((first.is !== 'retry' && !isIncapable(first)) || signal.aborted) return named(primary.name, first)
      const second = named(fallback.name, await fallback.send(message, signal, onAwaitingReply))
      if (isIncapable(second)) return named(primary.name, first)
      return first.is === 'retry' ? both(primary.name, first, second) : second
    },
    async probe() {
      const found = await Promise.all([primary.probe?.(), fallback.probe?.()])
      return found.includes('up') ? 'up' : 'down'
    },
    async verify() {
      const [first, second] = await Promise.all([primary.verify(), fallback.verify()])
      const next = [
        ...(first.next === undefined ? [] : [`${primary.name}: ${first.next}`]),
        ...(second.next === undefined ? [] : [`${fallback.name}: ${second.next}`]),
      ]
      return {
        ok: first.ok && second.ok,
        detail: `${primary.name}: ${first.detail}; ${fallback.name}: ${second.detail}`,
        ...(next.length > 0 && { next: next.join('; ') }),
      }
    },
    async close() {
      await Promise.all([primary.close(), fallback.close()])
    },
  }
}

/** Says whether a server could not be reached or is silent; a refusal of one message, or of one more at once, says nothing of the next. */
function isUnreachable(outcome: Outcome): boolean {
  if (outcome.is !== 'retry' || outcome.overload !== undefined) return false
  if (['aborted', 'closed', 'expired'].includes(outcome.code)) return false
  return outcome.untouched === true || outcome.code.endsWith('-limit')
}

/** Says whether the server cannot send this message at all, which says nothing of the other server. */
function isIncapable(outcome: Outcome): outcome is Outcome & { is: 'rejected' } {
  return outcome.is === 'rejected' && outcome.incapable === true
}

function named(name: string, outcome: Outcome): Outcome {
  return { ...outcome, reply: `${name}: ${outcome.reply}`.slice(0, 200) }
}

/**
 * The fallback's outcome; when it is a retry as well, whatever either has to say to the operator. That the primary takes
 * no more at once is told in any case.
 */
function both(primary: string, first: Outcome & { is: 'retry' }, second: Outcome): Outcome {
  const { overload, accepted } = first
  const met = overload === undefined ? {} : { overload, accepted }
  if (second.is !== 'retry') return { ...second, ...met }
  const { retryAfterMs: _waits, untouched: _begun, ...outcome } = second
  const decisive = first.whose === 'ours' ? first : second
  const waits = [first.retryAfterMs, second.retryAfterMs].filter(ms => ms !== undefined)
  return {
    ...outcome,
    ...met,
    whose: decisive.whose,
    scope: faultScopeOf(decisive),
    code: decisive.code,
    reply: `${`${primary}: ${first.reply}`.slice(0, 99)}; ${second.reply}`.slice(0, 200),
    ...(waits.length === 2 && { retryAfterMs: Math.min(...waits) }),
    ...(first.untouched && second.untouched && { untouched: true as const }),
  }
}
