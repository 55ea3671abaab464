import type { DeliveryIntake, Verdict, Verdicts } from '../delivery/port.ts'
import type { Emit } from '../events/events.ts'
import type { Interpret, Interpretation } from '../messages/interpret.ts'
import {
  type Channel,
  type Content,
  type NewMessage,
  newMessageId,
  type Outgoing,
} from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Acceptance, Accepted, ChargesOf, DestinationOf, Outbox } from '../outbox/outbox.ts'
import { BacklogFull, StoreUnavailable } from '../outbox/outbox.ts'
import { type Clock, withTimeout } from '../runtime/clock.ts'
import type { Answer } from './answers.ts'
import { answerInvalidContent, answerUnavailable, combineAnswers, refuseRecipients } from './answers.ts'
import type { Caller } from './authenticate.ts'
import type { CallbackBody } from './body.ts'
import { callingCodeOf, type ReadRecipients, type Recipient } from './recipients.ts'

export interface ReceiverOptions extends PrepareOptions {
  readonly accept: Outbox['accept']
  readonly verdicts: Verdicts
  /** Watches the store for the end of a message that another process may be sending, and announces it; only for a shared store. */
  readonly pollVerdict?: (id: string) => void
  readonly interpret: Interpret
  readonly recipients: ReadRecipients
  readonly clock: Clock
  readonly maxRecipients: number
  readonly answerWithinMs: number
  readonly emit: Emit
}

/** A callback's answer, with what its one log line says. */
export interface Reception {
  readonly answer: Answer
  readonly kind: string
  /** Ids of its messages; of a duplicate, the id of the message that it repeats. */
  readonly ids: readonly string[]
}

/** A commit takes some ms. A store that takes this long is stuck, and the platform should come again. */
const STORE_WITHIN_MS = 5000

/**
 * Makes the function that takes a callback from its checked body to its answer: interpret, address, render, commit, hand over,
 * wait for the provider's verdict, answer. It answers 0 only after the commit. Once the messages are stored
 * or refused, it asks `limitWait` how long the answer may still wait for the verdict, ms.
 */
export function createReceiver(
  options: ReceiverOptions,
): (caller: Caller, body: CallbackBody, limitWait?: () => number) => Promise<Reception> {
  const { clock, emit } = options
  /** Callbacks that were answered because the store took too long, and whose messages it still has. */
  let overdue = 0

  return async (caller, body, limitWait = () => Number.POSITIVE_INFINITY) => {
    const { channel } = caller
    const arrivedAt = clock.now()
    const interpreted = options.interpret(channel, body)
    if (!interpreted.ok) {
      const { pointer, why } = interpreted
      return { answer: answerInvalidContent(channel, `${pointer}: ${why}`), kind: 'none', ids: [] }
    }
    const { kind } = interpreted
    const { maxRecipients } = options
    const to = options.recipients(channel, String(body.to), scalarText(body.area_code), maxRecipients)
    const refused = refuseRecipients(channel, to, maxRecipients)
    if (refused !== null) return { answer: refused, kind, ids: [] }

    // Each callback that waits for a stuck store holds memory, so further ones are refused.
    if (overdue > 0) return { answer: answerUnavailable('the store takes too long'), kind, ids: [] }
    const prepared = prepareMessages(options, { caller, body, interpreted, recipients: to.valid, arrivedAt })
    if (prepared === null)
      return { answer: answerInvalidContent(channel, 'the message cannot be put into words'), kind, ids: [] }

    const verdicts = createAwaitedVerdicts(options.verdicts, prepared.length)
    const storing = storeAndHandOver(options, prepared, verdicts)
    const stored = await withTimeout(STORE_WITHIN_MS, storing)
    const mostWaitMs = limitWait()
    if (stored === undefined) {
      // Its messages are handed over when they are stored after all, but nobody waits for their verdicts any more.
      overdue += 1
      storing
        .then(verdicts.stop)
        .catch((error: Error) => emit({ type: 'store-failed', doing: 'accept', error }))
        .finally(() => (overdue -= 1))
      const ids = prepared.map(each => each.acceptance.message.id)
      return { answer: answerUnavailable('the store takes too long'), kind, ids }
    }
    if (stored.refused !== undefined) return { answer: answerUnavailable(stored.refused), kind, ids: [] }
    const leftMs = options.answerWithinMs - (clock.now() - arrivedAt)
    const known = await verdicts.awaitAll(Math.min(leftMs, mostWaitMs))
    const answer = combineAnswers(channel, to, stored.accepted, known)
    return { answer, kind, ids: stored.ids }
  }
}

/**
 * Commits the messages of a callback and hands them over. That happens even when the callback was answered meanwhile: a message
 * with a lease is stored as being sent, so it must be.
 */
async function storeAndHandOver(
  options: ReceiverOptions,
  prepared: readonly PreparedMessage[],
  verdicts: AwaitedVerdicts,
) {
  const { accept, delivery, emit } = options
  const acceptances = prepared.map(({ acceptance }) => acceptance)
  for (const [at, { message }] of acceptances.entries()) verdicts.subscribe(at, message.id)
  let accepted: readonly Accepted[]
  try {
    accepted = await accept(acceptances)
  } catch (error) {
    verdicts.stop()
    for (const { lease, message } of acceptances)
      if (lease !== undefined) delivery.releasePlace(message.channel)
    if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
    emit({ type: 'store-failed', doing: 'accept', error })
    const full = error instanceof BacklogFull
    return { refused: full ? 'too many messages are waiting' : 'the message cannot be stored now' }
  }
  return { accepted, ids: prepared.map((each, at) => handOver(options, each, accepted[at], verdicts, at)) }
}

/**
 * Follows up what the store said of a message: hands it over when it was stored, and sees to it that its slot in `verdicts` is
 * filled. @returns the message's id, even when it was not stored, or that of the one it repeats.
 */
function handOver(
  options: ReceiverOptions,
  { acceptance, outgoing }: PreparedMessage,
  result: Accepted | undefined,
  verdicts: AwaitedVerdicts,
  at: number,
): string {
  if (result === undefined) throw new Error('the outbox answered fewer messages than it was given')
  const { delivery, emit } = options
  const { message, lease, groupKey } = acceptance
  const { id, channel, kind } = message
  if (result.is === 'stored') {
    for (const older of result.superseded) {
      options.verdicts.announce(older, { is: 'final', state: 'superseded', answer: null })
      emit({ type: 'final', id: older, channel, kind, state: 'superseded', answer: null })
    }
    for (const quota of result.nearing ?? []) emit({ type: 'near-quota', channel, quota, to: message.masked })
    const { newcomers: use } = result
    if (use !== undefined && channel === 'sms')
      emit({ type: 'newcomer', callingCode: callingCodeOf(message.recipient), use })
    delivery.submit({ message, lease, outgoing, groupKey })
    return id
  }
  if (lease !== undefined) delivery.releasePlace(channel)
  if (result.is === 'refused' || result.is === 'bounced') {
    const answer = result.is === 'refused' ? 'content' : 'recipient'
    verdicts.fillSlot(at, { is: 'final', state: 'refused', answer })
    return id
  }
  if (result.is === 'over-quota') {
    emit({ type: 'over-quota', channel, kind, quota: result.quota, to: message.masked })
    verdicts.fillSlot(at, null)
    return id
  }
  if (result.is === 'held') {
    verdicts.fillSlot(at, { is: 'final', state: 'held', answer: null })
    return id
  }
  emit({ type: 'duplicate', channel, kind, is: result.is })
  if (result.is === 'finished')
    verdicts.fillSlot(at, { is: 'final', state: result.state, answer: result.answer })
  else {
    verdicts.subscribe(at, result.id)
    options.pollVerdict?.(result.id)
  }
  return result.id
}

/** Reads a scalar as text; null, blank and anything that is not a scalar mean absent. */
function scalarText(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim()
  return text === '' ? undefined : text
}

/** A message that can be accepted, and its finished bytes. */
interface PreparedMessage {
  readonly acceptance: Acceptance
  readonly outgoing: Outgoing
}

interface PrepareOptions {
  readonly render: (message: NewMessage, country: string | undefined) => Outgoing
  readonly keys: KeyedHashes
  readonly charges: ChargesOf
  readonly destinationOf: DestinationOf
  readonly delivery: DeliveryIntake
  readonly emit: Emit
}

/** A callback whose sender, body and recipients are right. */
interface CheckedCallback {
  readonly caller: Caller
  readonly body: CallbackBody
  readonly interpreted: Extract<Interpretation, { ok: true }>
  readonly recipients: readonly Recipient[]
  /** ms since the epoch. */
  readonly arrivedAt: number
}

/**
 * Makes one message per recipient, rendered, and reserves its place in memory.
 * @returns null when one cannot be rendered: it is refused before anything is reserved.
 */
export function prepareMessages(
  { render, keys, charges, destinationOf, delivery, emit }: PrepareOptions,
  { caller, body, interpreted, recipients, arrivedAt }: CheckedCallback,
): readonly PreparedMessage[] | null {
  const { channel, corpId, probe } = caller
  const { kind, purpose } = interpreted
  const content: Content =
    probe === undefined ? interpreted.content : { ...interpreted.content, isProbe: true }
  const fields = dedupeFields(channel, corpId, body)
  const rendered: { message: NewMessage; outgoing: Outgoing; country: string | undefined }[] = []
  for (const { to, masked, country } of recipients) {
    const message: NewMessage = {
      id: probe ?? newMessageId(arrivedAt),
      channel,
      kind,
      purpose,
      recipient: to,
      masked,
      destination: destinationOf({ channel, kind, recipient: to }, country),
      content,
      arrivedAt,
      expiresAt: arrivedAt + interpreted.validityMs,
    }
    try {
      rendered.push({ message, outgoing: render(message, country), country })
    } catch (error) {
      const fault = error instanceof Error ? error : new Error('unknown fault')
      emit({ type: 'unrenderable', channel, kind, error: fault })
      return null
    }
  }
  return rendered.map(({ message, outgoing, country }) => {
    const { recipient } = message
    const acceptance: Acceptance = {
      message,
      dedupeKey: keys.dedupeKey([...fields, recipient]),
      // A probe neither ends a code that somebody asked for, nor is ended by one.
      groupKey:
        purpose === 'code' && probe === undefined
          ? keys.groupKey(channel, recipient, kind, content.pluginId ?? '')
          : undefined,
      recipientHash: keys.recipientHash(channel, recipient),
      charges: charges(message, country),
      country,
      lease: delivery.reservePlace(channel, purpose, message.destination),
    }
    return { acceptance, outgoing }
  })
}

/**
 * Lists the fields that two callbacks must share to be the same message, in a fixed order: the contract has no message id, so a
 * retry of the platform is recognized by its content. They are channel, corp_id, subject, plain text, plugin_id, and every
 * parameter with its name; the recipient is added for each message. A number equals its text, and null, blank and absent are
 * equal.
 *
 * @param body a checked callback body.
 */
function dedupeFields(channel: Channel, corpId: string, body: Readonly<Record<string, unknown>>): string[] {
  const { subject, plain_email, plain_sms, plugin_id } = body
  const fields = [channel, corpId, ...[subject, plain_email, plain_sms, plugin_id].map(dedupeTextOf)]
  const params = body[channel === 'email' ? 'email_param' : 'sms_param'] as Readonly<Record<string, unknown>>
  for (const name of Object.keys(params).sort()) {
    const text = dedupeTextOf(params[name])
    if (text !== '') fields.push(name, text)
  }
  return fields
}

function dedupeTextOf(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** The verdicts on the messages of one callback, each in its slot. */
interface AwaitedVerdicts {
  /**
   * Lets slot `at` wait for message `id`, and for nothing that it waited for before. A message's own verdict has to be
   * subscribed to before it is stored: a pending verdict is announced once, and not repeated to a later subscriber.
   */
  subscribe(at: number, id: string): void
  /** Fills slot `at`, which waits no longer. @param verdict null: there will be none. */
  fillSlot(at: number, verdict: Verdict | null): void
  /** Resolves when every slot is filled, or after `ms`: then those that are not are pending. */
  awaitAll(ms: number): Promise<readonly (Verdict | null)[]>
  /** Ends all subscriptions. */
  stop(): void
}

/** @param count how many slots there are. */
function createAwaitedVerdicts(verdicts: Verdicts, count: number): AwaitedVerdicts {
  const slots: (Verdict | null | undefined)[] = Array.from({ length: count })
  const subscriptions: ((() => void) | undefined)[] = []
  const filled = Promise.withResolvers<void>()

  const stop = () => {
    for (const unsubscribe of subscriptions) unsubscribe?.()
  }
  return {
    subscribe(at, id) {
      subscriptions[at]?.()
      subscriptions[at] = verdicts.wait(id, verdict => {
        slots[at] = verdict
        if (!slots.includes(undefined)) filled.resolve()
      })
    },
    fillSlot(at, verdict) {
      subscriptions[at]?.()
      slots[at] = verdict
    },
    async awaitAll(ms) {
      const timer = setTimeout(filled.resolve, Math.max(ms, 0))
      if (!slots.includes(undefined)) filled.resolve()
      await filled.promise
      clearTimeout(timer)
      stop()
      return slots.map(verdict => (verdict === undefined ? { is: 'pending' } : verdict))
    },
    stop,
  }
}
