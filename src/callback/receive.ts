import type { Interpret } from '../messages/interpret.ts'
import type { Channel, NewMessage, Outgoing, Purpose } from '../messages/message.ts'
import { type Accepted, BacklogFull, type Lease, type Outbox, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Answer, answer, contentInvalid } from './answers.ts'
import type { Caller } from './authenticate.ts'
import {
  type AwaitedVerdict,
  awaitVerdicts,
  subscribe,
  unsubscribeAll,
  type VerdictSubscription,
  type WaitVerdict,
} from './await-verdicts.ts'
import type { CallbackBody } from './body.ts'
import { combineAnswers, refuseRecipients } from './combined-answer.ts'
import { createPreparer, type Prepared, type PreparerObserver, type PreparerOptions } from './prepare.ts'
import type { Recipients } from './recipients.ts'

/** What receiving needs of the delivery loop. */
export interface Courier {
  reserve(channel: Channel, purpose: Purpose): Lease | undefined
  unreserve(channel: Channel): void
  isCircuitOpen(channel: Channel): boolean
  begin(handover: {
    readonly message: NewMessage
    readonly lease: Lease
    readonly groupKey?: string
    readonly outgoing: Outgoing
  }): void
  wake(channel: Channel, groupKey?: string): void
  /** Sees to it that the end of a message is heard here, which another process may be sending. */
  follow?(id: string): void
}

export interface ReceiverOptions extends Pick<PreparerOptions, 'render' | 'keys' | 'charges'> {
  readonly outbox: Pick<Outbox, 'accept'>
  readonly courier: Courier
  readonly verdicts: {
    wait(id: string, heard: (verdict: WaitVerdict) => void): () => void
    announce(
      id: string,
      verdict: { readonly is: 'final'; readonly state: 'superseded'; readonly answer: null },
    ): void
  }
  readonly interpret: Interpret
  readonly recipients: (channel: Channel, to: string, areaCode: string | undefined) => Recipients
  readonly clock: Clock
  readonly maxRecipients: number
  readonly answerWithinMs: number
  /** How long a commit may take before the callback is refused; 5 s unless given. */
  readonly storeWithinMs?: number
  readonly observer: ReceiverObserver
}

/** What receiving tells whoever counts and logs. */
export interface ReceiverObserver extends PreparerObserver {
  /** A quota held messages back. */
  overQuota(event: { readonly channel: Channel; readonly kind: string; readonly quota: string }): void
  /** Half of a channel's brake is used up. */
  nearQuota(event: { readonly channel: Channel; readonly quota: string }): void
  duplicate(event: {
    readonly channel: Channel
    readonly kind: string
    readonly is: 'in-progress' | 'finished'
  }): void
  superseded(event: { readonly id: string; readonly channel: Channel; readonly kind: string }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
}

/** A callback's answer, with what its one log line says. */
export interface Reception {
  readonly answer: Answer
  readonly kind: string
  /** Ids of its messages, its twins' included. */
  readonly ids: readonly string[]
}

/** A commit takes some ms. A store that takes this long is stuck, and the platform should come again. */
const STORE_WITHIN_MS = 5000
/** Seconds that a platform is asked to stay away when the store cannot take its message. */
const STORE_RETRY_AFTER = 5

/**
 * Makes the road of a callback from its checked body to its answer: interpret, address, render, commit, hand over,
 * wait for the provider's verdict, answer. Answers 0 only after the commit.
 */
export function createReceiver(
  options: ReceiverOptions,
): (caller: Caller, body: CallbackBody) => Promise<Reception> {
  const { outbox, courier, verdicts, interpret, recipients, clock, observer } = options
  /** Callbacks that were answered because the store took too long, and whose messages it still has. */
  let overdue = 0
  const prepare = createPreparer({
    ...options,
    reserve: message => courier.reserve(message.channel, message.purpose),
  })

  return async (caller, body) => {
    const { channel } = caller
    const arrivedAt = clock.now()
    const interpreted = interpret(channel, body)
    if (!interpreted.ok)
      return {
        answer: contentInvalid(channel, `${interpreted.pointer}: ${interpreted.why}`),
        kind: 'none',
        ids: [],
      }
    const { kind } = interpreted
    const areaCode = textOf(body.area_code)
    const to = recipients(channel, String(body.to), areaCode)
    const refused = refuseRecipients(channel, to, options.maxRecipients)
    if (refused !== null) return { answer: refused, kind, ids: [] }

    // Each that waits for a stuck store holds memory: there are enough of them already.
    if (overdue > 0) return { answer: unavailable('the store takes too long'), kind, ids: [] }
    const prepared = prepare({ caller, body, interpreted, recipients: to.valid, arrivedAt })
    if (prepared === null)
      return { answer: contentInvalid(channel, 'the message cannot be put into words'), kind, ids: [] }

    const left = () => options.answerWithinMs - (clock.now() - arrivedAt)
    const storing = store(channel, prepared)
    const stored = await within(options.storeWithinMs ?? STORE_WITHIN_MS, storing)
    const known = prepared.map(each => each.acceptance.message.id)
    if (stored === undefined) {
      // Nobody waits for it any more, but it must not fail unheard.
      overdue += 1
      storing
        .then(late => 'waits' in late && unsubscribeAll(late.waits))
        .catch((error: unknown) => observer.storeFailed({ doing: 'accept', error: error as Error }))
        .finally(() => {
          overdue -= 1
        })
      return { answer: unavailable('the store takes too long'), kind, ids: known }
    }
    if ('refused' in stored) return { answer: unavailable(stored.refused), kind, ids: [] }
    const { accepted, waits } = stored
    const heard = await awaitVerdicts(waits, left())
    const ids = accepted.map((each, at) =>
      each.is === 'in-progress' || each.is === 'finished' ? each.id : (known[at] ?? ''),
    )
    return { answer: combineAnswers(channel, to, accepted, heard), kind, ids }
  }

  /**
   * Commits the messages of a callback and hands them over. That happens even when the callback was answered
   * meanwhile: what is stored as being sent must be sent.
   */
  async function store(
    channel: Channel,
    prepared: readonly Prepared[],
  ): Promise<
    | { readonly accepted: readonly Accepted[]; readonly waits: readonly AwaitedVerdict[] }
    | { readonly refused: string }
  > {
    let accepted: readonly Accepted[]
    // Before there is a message: its verdict may come while it is being handed over.
    const ears = prepared.map(each => subscribe(each.acceptance.message.id, verdicts.wait))
    try {
      accepted = await outbox.accept(prepared.map(each => each.acceptance))
    } catch (error) {
      unsubscribeAll(ears)
      for (const { acceptance } of prepared) if (acceptance.lease !== undefined) courier.unreserve(channel)
      if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
      observer.storeFailed({ doing: 'accept', error })
      return {
        refused:
          error instanceof BacklogFull ? 'too many messages are waiting' : 'the message cannot be stored now',
      }
    }
    return { accepted, waits: ears.map((ear, at) => handOver(prepared[at], accepted[at], ear)) }
  }

  /** Hands a stored message over; says whose end to wait for, or what is known at once. */
  function handOver(
    prepared: Prepared | undefined,
    became: Accepted | undefined,
    ear: VerdictSubscription,
  ): AwaitedVerdict {
    if (prepared === undefined || became === undefined)
      throw new Error('the outbox answered fewer messages than it was given')
    const { acceptance, outgoing } = prepared
    const { message, lease, groupKey } = acceptance
    const { channel, kind } = message
    if (became.is === 'stored') {
      for (const older of became.superseded) {
        verdicts.announce(older, { is: 'final', state: 'superseded', answer: null })
        observer.superseded({ id: older, channel, kind })
      }
      for (const quota of became.nearing ?? []) observer.nearQuota({ channel, quota })
      if (lease === undefined) {
        courier.wake(channel, groupKey)
        if (!courier.isCircuitOpen(channel)) return ear
        ear.stop()
        return { is: 'pending' }
      }
      courier.begin({ message, lease, outgoing, ...(groupKey === undefined ? {} : { groupKey }) })
      return ear
    }
    ear.stop()
    if (lease !== undefined) courier.unreserve(channel)
    if (became.is === 'over-quota') {
      observer.overQuota({ channel, kind, quota: became.quota })
      return null
    }
    observer.duplicate({ channel, kind, is: became.is })
    if (became.is === 'finished') return { is: 'final', state: became.state, answer: became.answer }
    const twin = subscribe(became.id, verdicts.wait)
    courier.follow?.(became.id)
    return twin
  }
}

function unavailable(why: string): Answer {
  return answer('unavailable', why, { retryAfter: STORE_RETRY_AFTER })
}

/** A promise's value, or undefined when it takes longer than `ms`. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), Math.max(ms, 0))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A scalar as text; null, blank and anything that is not a scalar mean absent. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value).trim()
  return text === '' ? undefined : text
}
