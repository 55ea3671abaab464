import type { Emit } from '../events/events.ts'
import type { NewMessage, Outgoing } from '../messages/message.ts'
import type { AttemptRecord } from '../outbox/outbox.ts'
import type { LookUp, Outcome, Provider } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { createObjectSet } from '../runtime/collections.ts'
import type { Job } from './channel-state.ts'
import { redactReply, type SentMessage } from './redact.ts'
import { MAX_COPIES } from './retry.ts'
import { findMisfit } from './route.ts'

/** The end of one attempt: its outcome, the lines for the timeline, and how many copies may have been sent. */
export interface EndedAttempt {
  readonly outcome: Outcome
  /** How many copies may have been sent before this attempt; a look-up can have made it 0. */
  readonly ambiguous: number
  /** Lines for the timeline. */
  readonly records: readonly AttemptRecord[]
}

/** See Provider.send. */
export type AwaitingReply = NonNullable<Parameters<Provider['send']>[2]>

/** How long an aborted provider has to say how far it came, ms. */
const LAST_WORD_MS = 500
const OVERDUE: Outcome = {
  is: 'ambiguous',
  code: 'attempt-limit',
  reply: 'the provider did not come back in time',
}
const NOT_ASKED: LookUp = { is: 'unreachable', reply: OVERDUE.reply }
const FAULT = 'an unexpected fault in the provider'
export const NOT_KNOWN_YET: Outcome & { is: 'retry' } = {
  is: 'retry',
  whose: 'later',
  code: 'not-known-yet',
  reply: 'the provider does not know yet what became of it',
}

/** Calls to providers, none of which runs for ever or throws. */
function createBoundedCalls(limitMs: number, emit: Emit) {
  const running = createObjectSet<AbortController>()
  return {
    /**
     * Runs one call to a provider.
     * @param overdue is its result when the provider does not come back.
     * @param afterFault is its result after a bug of the provider's: nobody knows what it did before it threw.
     */
    async run<T>(call: (signal: AbortSignal) => Promise<T>, overdue: T, afterFault: T) {
      const controller = new AbortController()
      let timer: NodeJS.Timeout | undefined
      const limit = new Promise<T>(resolve => {
        timer = setTimeout(() => {
          controller.abort()
          timer = setTimeout(() => resolve(overdue), LAST_WORD_MS).unref()
        }, limitMs).unref()
      })
      const remove = running.add(controller)
      try {
        return await Promise.race([call(controller.signal), limit])
      } catch (error) {
        emit({ type: 'fault', error: error instanceof Error ? error : new Error('unknown fault') })
        return afterFault
      } finally {
        clearTimeout(timer)
        remove()
      }
    },
    /** Aborts those that run. */
    abort(): void {
      for (const controller of running) controller.abort()
    },
  }
}

export type Attempts = ReturnType<typeof createAttempts>

/**
 * Hands messages to providers.
 * @param options.limitMs the longest that an attempt may take, ms. Providers have limits of their own, which are
 *   shorter: this one is for a provider that has lost one of its calls, which must not outlive its lease unnoticed.
 */
export function createAttempts(options: {
  readonly limitMs: number
  readonly clock: Clock
  readonly emit: Emit
}) {
  const { clock } = options
  const { run, abort } = createBoundedCalls(options.limitMs, options.emit)
  return {
    /**
     * Tries one provider once; whatever goes wrong becomes an outcome. When a copy may have been sent before, and the provider
     * can be asked what became of it, it is asked first.
     * @param copy `ambiguous`: how many copies may have been sent; `isHere`: the latest of them by this provider.
     * @param onAwaitingReply called once the message is with the provider and only its final reply is missing.
     */
    async send(
      provider: Provider,
      outgoing: Outgoing,
      {
        message,
        isHere,
        ambiguous: copies,
      }: Pick<Job, 'message' | 'ambiguous'> & { readonly isHere: boolean },
      onAwaitingReply: AwaitingReply,
    ): Promise<EndedAttempt> {
      const timeline = createTimeline(provider.name, () => toSentMessage(message, outgoing), clock)
      let ambiguous = copies
      if (isHere && provider.lookUp !== undefined) {
        const askedAt = clock.now()
        const ask = async (signal: AbortSignal) =>
          (await provider.lookUp?.(outgoing, message.arrivedAt, signal)) ?? NOT_ASKED
        const found = await run(ask, NOT_ASKED, { is: 'unreachable', reply: FAULT })
        timeline.add('looked-up', found.is, found.reply, askedAt)
        const outcome = outcomeOfLookUp(found, ambiguous >= MAX_COPIES[message.channel])
        if (outcome !== null) return timeline.end(outcome, clock.now(), ambiguous)
        if (found.is === 'absent') ambiguous = 0
        const why = findMisfit(provider, outgoing)
        if (why !== null)
          return timeline.end({ is: 'retry', whose: 'ours', ...why, untouched: true }, clock.now(), ambiguous)
      }
      const sendingAt = clock.now()
      const send = (signal: AbortSignal) => provider.send(outgoing, signal, onAwaitingReply)
      const outcome = await run(send, OVERDUE, { is: 'ambiguous', code: 'FAULT', reply: FAULT })
      return timeline.end(outcome, sendingAt, ambiguous)
    },
    /** Aborts those that run. */
    abort,
  }
}

/** Lists the texts of a message that its provider may repeat. A mail's finished text adds only words of ours, which are no secret. */
function toSentMessage({ content, recipient }: NewMessage, outgoing: Outgoing): SentMessage {
  if (outgoing.channel !== 'sms') return { ...content, recipient }
  try {
    return { ...content, recipient, text: outgoing.text() }
  } catch {
    // There is no text: it was sent as a template, and was never put into words.
    return { ...content, recipient }
  }
}

/** Makes the outcome of a look-up; null: the message is to be sent. @param isLastCopy no further copy may go out. */
function outcomeOfLookUp({ is, ...found }: LookUp, isLastCopy: boolean): Outcome | null {
  switch (is) {
    case 'accepted':
      return { is: 'sent', ...found }
    case 'absent':
      return null
    case 'not-known':
      return isLastCopy ? NOT_KNOWN_YET : null
    case 'unreachable':
      // Nothing was sent, and the failed look-up counts as a failure of the provider.
      return { is: 'retry', whose: 'later', code: 'look-up', ...found, untouched: true }
  }
}

/**
 * Collects one attempt's lines for the timeline. Nothing that the message says gets into them, and nothing that a store
 * cannot hold: all that a provider says comes through here.
 */
function createTimeline(provider: string, sent: () => SentMessage, clock: Clock) {
  const records: AttemptRecord[] = []
  /** @param startedAt ms since the epoch. @returns the redacted reply. */
  function add(outcome: string, code: string, reply: string, startedAt: number): string {
    const redacted = makeStorable(redactReply(reply, sent()))
    const tookMs = clock.now() - startedAt
    records.push({ at: startedAt, tookMs, provider, outcome, code: makeStorable(code), reply: redacted })
    return redacted
  }
  return {
    add,
    end(outcome: Outcome, startedAt: number, ambiguous: number): EndedAttempt {
      const reply = add(outcome.is, outcome.is === 'sent' ? '' : outcome.code, outcome.reply, startedAt)
      if (outcome.is !== 'sent' || outcome.providerId === undefined)
        return { outcome: { ...outcome, reply }, ambiguous, records }
      const providerId = makeStorable(outcome.providerId)
      return { outcome: { ...outcome, reply, providerId }, ambiguous, records }
    },
  }
}

/**
 * Makes a text from outside one that every store and log can hold: half a surrogate pair (an emoji that was cut) and NUL
 * become U+FFFD. Postgres refuses both in a text, and the whole transaction with it.
 */
function makeStorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
