import { randomUUID } from 'node:crypto'
import { type Answer, answer, contentInvalid, OK, refusal } from '../answers.ts'
import type { Clock } from '../clock.ts'
import type { Channel, Content, NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import {
  type Acceptance,
  type Accepted,
  BacklogFull,
  type Charge,
  type Lease,
  type Outbox,
  StoreUnavailable,
} from '../outbox/outbox.ts'
import type { Caller } from './gate.ts'
import type { Recipient, Recipients } from './recipients.ts'
import { twinFields } from './twins.ts'

/** The parts of a callback's body that every step needs; the rest is the interpreter's. */
export interface CallbackBody {
  readonly to: string | number
  readonly area_code?: unknown
  readonly [key: string]: unknown
}

/** What the interpreter made of a body. */
export type Interpretation =
  | {
      readonly ok: true
      readonly kind: string
      readonly known: boolean
      readonly purpose: Purpose
      readonly content: Content
      readonly lifeMs: number
    }
  | { readonly ok: false; readonly pointer: string; readonly why: string }

/** What receiving needs of the delivery loop. */
export interface Courier {
  reserve(channel: Channel): Lease | undefined
  unreserve(channel: Channel): void
  resting(channel: Channel): boolean
  begin(handover: {
    readonly message: NewMessage
    readonly lease: Lease
    readonly groupKey?: string
    readonly outgoing: Outgoing
  }): void
  nudge(channel: Channel): void
}

export type WaitVerdict =
  | {
      readonly is: 'final'
      readonly state: string
      readonly answer: 'recipient' | 'content' | 'country' | null
    }
  | { readonly is: 'pending' }

export interface ReceiverOptions {
  readonly outbox: Pick<Outbox, 'accept'>
  readonly courier: Courier
  readonly verdicts: {
    wait(id: string, heard: (verdict: WaitVerdict) => void): () => void
    announce(
      id: string,
      verdict: { readonly is: 'final'; readonly state: 'superseded'; readonly answer: null },
    ): void
  }
  readonly interpret: (channel: Channel, body: CallbackBody) => Interpretation
  readonly recipients: (channel: Channel, to: string, areaCode: string | undefined) => Recipients
  readonly render: (message: NewMessage) => Outgoing
  readonly keys: {
    /** HMAC that names a message's twins. */
    twin(fields: readonly string[]): string
    /** HMAC that names the group within which a newer code supersedes older ones. */
    group(channel: Channel, recipient: string, kind: string, pluginId: string): string
    recipient(channel: Channel, recipient: string): string
  }
  readonly charges: (message: NewMessage, country: string | undefined) => readonly Charge[]
  readonly clock: Clock
  readonly maxRecipients: number
  readonly answerWithinMs: number
  readonly observer: ReceiverObserver
}

/** What receiving tells whoever counts and logs. */
export interface ReceiverObserver {
  /** A quota held messages back. */
  overQuota(event: { readonly channel: Channel; readonly kind: string; readonly quota: string }): void
  twin(event: { readonly channel: Channel; readonly kind: string; readonly is: 'joined' | 'repeated' }): void
  superseded(event: { readonly id: string; readonly channel: Channel; readonly kind: string }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
  unrenderable(event: { readonly channel: Channel; readonly kind: string; readonly error: Error }): void
}

/** A callback's answer, with what its one log line says. */
export interface Reception {
  readonly answer: Answer
  readonly kind: string
  /** Ids of its messages, its twins' included. */
  readonly ids: readonly string[]
}

/** Seconds that a platform is asked to stay away when the store cannot take its message. */
const STORE_RETRY_AFTER = 5

/**
 * Makes the road of a callback from its checked body to its answer: interpret, address, render, commit, hand over,
 * wait for the provider's verdict, answer. Answers 0 only after the commit.
 */
export function createReceiver(
  options: ReceiverOptions,
): (caller: Caller, body: CallbackBody) => Promise<Reception> {
  const { outbox, courier, verdicts, interpret, recipients, keys, charges, clock, observer } = options

  return async (caller, body) => {
    const { channel } = caller
    const arrivedAt = clock.now()
    const said = interpret(channel, body)
    if (!said.ok)
      return { answer: contentInvalid(channel, `${said.pointer}: ${said.why}`), kind: 'none', ids: [] }
    const { kind } = said
    const areaCode = textOf(body.area_code)
    const to = recipients(channel, String(body.to), areaCode)
    const refused = refuseRecipients(channel, to, options.maxRecipients)
    if (refused !== null) return { answer: refused, kind, ids: [] }

    const prepared = prepare(caller, body, said, to.valid, arrivedAt)
    if (prepared === null)
      return { answer: contentInvalid(channel, 'the message cannot be put into words'), kind, ids: [] }

    let accepted: readonly Accepted[]
    try {
      accepted = await outbox.accept(prepared.map(each => each.acceptance))
    } catch (error) {
      for (const { acceptance } of prepared) if (acceptance.lease !== undefined) courier.unreserve(channel)
      if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
      observer.storeFailed({ doing: 'accept', error })
      const message =
        error instanceof BacklogFull ? 'too many messages are waiting' : 'the message cannot be stored now'
      return { answer: answer('unavailable', message, { retryAfter: STORE_RETRY_AFTER }), kind, ids: [] }
    }

    const waits = prepared.map((each, at) => handOver(each, accepted[at]))
    const ids = prepared.map((each, at) => idOf(each, accepted[at]))
    const heard = await collect(waits, options.answerWithinMs - (clock.now() - arrivedAt))
    return { answer: sum(channel, to, accepted, heard), kind, ids }
  }

  interface Prepared {
    readonly acceptance: Acceptance
    readonly outgoing: Outgoing
  }

  function prepare(
    caller: Caller,
    body: CallbackBody,
    said: Extract<Interpretation, { ok: true }>,
    valid: readonly Recipient[],
    arrivedAt: number,
  ): Prepared[] | null {
    const { channel } = caller
    const { kind, purpose, content } = said
    const fields = twinFields(channel, caller.corpId, body)
    const rendered: {
      readonly message: NewMessage
      readonly outgoing: Outgoing
      readonly country: string | undefined
    }[] = []
    for (const recipient of valid) {
      const message: NewMessage = {
        id: randomUUID().replaceAll('-', ''),
        channel,
        kind,
        purpose,
        recipient: recipient.to,
        masked: recipient.masked,
        content,
        arrivedAt,
        expiresAt: arrivedAt + said.lifeMs,
      }
      try {
        rendered.push({ message, outgoing: options.render(message), country: recipient.country })
      } catch (error) {
        observer.unrenderable({
          channel,
          kind,
          error: error instanceof Error ? error : new Error('unknown fault'),
        })
        return null
      }
    }
    return rendered.map(({ message, outgoing, country }) => {
      const lease = courier.reserve(channel)
      const groupKey =
        purpose === 'code' ? keys.group(channel, message.recipient, kind, content.pluginId ?? '') : undefined
      const acceptance: Acceptance = {
        message,
        twinKey: keys.twin([...fields, message.recipient]),
        recipientHash: keys.recipient(channel, message.recipient),
        charges: charges(message, country),
        ...(groupKey === undefined ? {} : { groupKey }),
        ...(lease === undefined ? {} : { lease }),
      }
      return { acceptance, outgoing }
    })
  }

  /** Hands a stored message over; says whose end to wait for, or what is known at once. */
  function handOver(
    { acceptance, outgoing }: Prepared,
    became: Accepted | undefined,
  ): { readonly id: string } | WaitVerdict | null {
    const { message, lease, groupKey } = acceptance
    const { id, channel, kind } = message
    if (became === undefined) throw new Error('the outbox answered fewer messages than it was given')
    if (became.is === 'stored') {
      for (const older of became.superseded) {
        verdicts.announce(older, { is: 'final', state: 'superseded', answer: null })
        observer.superseded({ id: older, channel, kind })
      }
      if (lease === undefined) {
        courier.nudge(channel)
        return courier.resting(channel) ? { is: 'pending' } : { id }
      }
      courier.begin({ message, lease, outgoing, ...(groupKey === undefined ? {} : { groupKey }) })
      return { id }
    }
    if (lease !== undefined) courier.unreserve(channel)
    if (became.is === 'over-quota') {
      observer.overQuota({ channel, kind, quota: became.quota })
      return null
    }
    observer.twin({ channel, kind, is: became.is })
    return became.is === 'joined'
      ? { id: became.id }
      : { is: 'final', state: became.state, answer: became.answer }
  }

  /** Waits for every verdict, at most `ms`; what is not known then is `pending`. */
  function collect(
    waits: readonly ({ readonly id: string } | WaitVerdict | null)[],
    ms: number,
  ): Promise<readonly (WaitVerdict | null)[]> {
    return new Promise(resolve => {
      const heard: (WaitVerdict | null)[] = waits.map(each =>
        each !== null && 'id' in each ? { is: 'pending' } : each,
      )
      let missing = 0
      const stops: (() => void)[] = []
      const timer = setTimeout(
        () => {
          for (const stop of stops) stop()
          resolve(heard)
        },
        Math.max(ms, 0),
      )
      const done = () => {
        if (missing > 0) return
        clearTimeout(timer)
        resolve(heard)
      }
      // Counted before the first wait: one that is known already is heard at once.
      for (const each of waits) if (each !== null && 'id' in each) missing += 1
      waits.forEach((each, at) => {
        if (each === null || !('id' in each)) return
        stops.push(
          verdicts.wait(each.id, verdict => {
            heard[at] = verdict
            missing -= 1
            done()
          }),
        )
      })
      done()
    })
  }
}

function idOf(prepared: { readonly acceptance: Acceptance }, became: Accepted | undefined): string {
  return became?.is === 'joined' || became?.is === 'repeated' ? became.id : prepared.acceptance.message.id
}

function refuseRecipients(channel: Channel, to: Recipients, maxRecipients: number): Answer | null {
  const given = to.valid.length + to.invalid
  if (given > maxRecipients)
    return refusal(channel, 'recipient', `/to: more than ${maxRecipients} recipients`)
  if (to.valid.length > 0) return null
  if (given === 0) return refusal(channel, 'recipient', '/to: no recipient')
  const what =
    channel === 'email'
      ? 'an address'
      : to.why === 'country'
        ? 'a number of an allowed country'
        : 'a mobile number'
  return refusal(channel, to.why, given === 1 ? `/to: not ${what}` : `/to: none of ${given} is ${what}`)
}

/** The answer for all recipients together. */
function sum(
  channel: Channel,
  to: Recipients,
  accepted: readonly Accepted[],
  heard: readonly (WaitVerdict | null)[],
): Answer {
  let refused = 0
  let why: 'recipient' | 'content' | 'country' | undefined
  let overQuota = 0
  let retryAfter = 1
  accepted.forEach((each, at) => {
    const verdict = heard[at]
    if (each.is === 'over-quota') {
      overQuota += 1
      retryAfter = Math.max(retryAfter, each.retryAfterSeconds)
    } else if (verdict?.is === 'final' && verdict.answer !== null) {
      refused += 1
      why ??= verdict.answer
    }
  })
  const total = accepted.length + to.invalid
  if (overQuota === accepted.length)
    return answer('quota', 'too many messages; nothing was sent', { retryAfter })
  if (refused + overQuota === accepted.length) {
    return refusal(
      channel,
      why ?? 'recipient',
      total === 1 ? 'refused by the provider' : 'every recipient was refused',
    )
  }
  const lost = refused + overQuota + to.invalid
  return lost === 0 ? OK : answer('ok', `${lost} of ${total} recipients refused`)
}

/** A scalar as text; null, blank and anything that is not a scalar mean absent. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim()
  return text === '' ? undefined : text
}
