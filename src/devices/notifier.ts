import type { Emit } from '../events/events.ts'
import { type Channel, type NewMessage, newMessageId, type Outgoing } from '../messages/message.ts'
import type { KeyedHashes } from '../outbox/encryption.ts'
import type { Acceptance, Accepted, ChargesOf, DestinationOf, Outbox } from '../outbox/outbox.ts'
import { BacklogFull, StoreUnavailable } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import { retry } from '../runtime/retry.ts'
import { showLocalTimes } from '../runtime/terminal.ts'
import { type AlertRow, type Notification, notificationsFor } from './alert-table.ts'
import type { DdqMessage } from './message.ts'
import { occurrencesOf } from './occurrence.ts'
import type { AlertMemory, SuppressionReason } from './suppression.ts'
import { decideSuppression, parseMemory, serializeMemory, updateMemory } from './suppression.ts'

export interface NotifierOptions {
  readonly rows: readonly AlertRow[]
  readonly outbox: Outbox
  readonly storeKeys: KeyedHashes
  readonly charges: ChargesOf
  readonly destinationOf: DestinationOf
  /** Throws when there are no words for it. */
  readonly render: (message: NewMessage) => Outgoing
  /** A message was stored for the channel, and is due. */
  readonly wake: (channel: Channel) => void
  readonly clock: Clock
  readonly emit: Emit
  /** Pause after the store could not take something, ms. Default 1000. */
  readonly retryMs?: number
}

/** Notifications that share a commit. */
const MAX_BATCH = 100
/** Notifications in memory, from which on the platform is slowed down. */
const MAX_WAITING = 500

/**
 * Notifies people: turns messages of DDQ into messages of the outbox, in the order in which they came.
 */
export function createNotifier(options: NotifierOptions) {
  const { rows, storeKeys } = options
  const memoName = (fields: readonly string[]) => storeKeys.bucketHash('alarmed', ...fields)
  const stopping = new AbortController()
  const dispatch = createDispatch(options, stopping.signal)
  let waiting: readonly Notification[] = []
  let draining: Promise<void> | undefined
  let backpressure: PromiseWithResolvers<void> | undefined

  async function drain(): Promise<void> {
    // Messages of the same turn of the event loop are decided on together.
    await new Promise(resolve => setImmediate(resolve))
    while (waiting.length > 0) {
      try {
        const done = await dispatch(waiting.slice(0, MAX_BATCH))
        // More may have come meanwhile.
        waiting = waiting.slice(done)
      } catch (error) {
        if (!isPassing(error)) throw error
        // The process ends and the store did not take them: they are lost, as after a crash.
        waiting = []
      }
      if (waiting.length < MAX_WAITING) releaseBackpressure()
    }
    draining = undefined
  }

  function releaseBackpressure(): void {
    backpressure?.resolve()
    backpressure = undefined
  }

  return {
    /**
     * Takes a message; its notifications are stored soon. Gives a promise when so many wait already that no more should
     * come until it is settled.
     */
    take(message: DdqMessage): void | Promise<void> {
      if (stopping.signal.aborted) return
      const notifications = occurrencesOf(message).flatMap(each => notificationsFor(each, rows, memoName))
      waiting = [...waiting, ...notifications]
      if (waiting.length > 0) draining ??= drain()
      if (waiting.length < MAX_WAITING) return
      backpressure ??= Promise.withResolvers<void>()
      return backpressure.promise
    },
    /** Ends: takes nothing more, and stores what waits, unless the store cannot take it. */
    async stop(): Promise<void> {
      stopping.abort()
      releaseBackpressure()
      await draining
    },
  }
}

/** An alert is worth sending for a day, as alarms of the platform are. */
const LIFETIME_MS = 24 * 60 * 60_000
/** The same message of DDQ may come again after a reconnect, or to another replica. */
const DEDUPE_WINDOW_MS = 24 * 60 * 60_000
/** The recipient of an alarm that ended so did not get it. */
const UNDELIVERED: readonly string[] = ['refused', 'expired', 'superseded', 'held']

interface Prepared {
  readonly notification: Notification
  readonly acceptance: Acceptance
}

/**
 * Decides which notifications are sent, and stores those in the outbox. The memo of what a recipient got is written in
 * the transaction that stores the message: so nobody gets an alarm twice, and nobody gets a recovery without its alarm,
 * whichever process stores it.
 *
 * @returns a function that takes a batch and gives how many of it, from the first on, are done. A notification after
 *   another of the same memo has to wait for the memo to change. It throws what the store said when the process ends and the
 *   store did not take them.
 * @param signal from its abort on each call of the store is made once.
 */
function createDispatch(options: NotifierOptions, signal: AbortSignal) {
  const { outbox, clock, emit, retryMs = 1000 } = options

  /** Calls the store until it takes it: an alert is not given up because a disk is full. */
  function callStore<T>(call: () => Promise<T>): Promise<T> {
    const waitAfter = (error: unknown) => {
      if (!isPassing(error)) return null
      emit({ type: 'store-failed', doing: 'alerts', error })
      return retryMs
    }
    return retry(call, waitAfter, signal)
  }

  async function dispatch(batch: readonly Notification[]): Promise<number> {
    const names = [...new Set(batch.map(({ memoName }) => memoName))]
    const memos = await callStore(() => outbox.memos.readMemos(names))
    const prepared = new Map<string, Prepared>()
    let done = 0
    for (const notification of batch) {
      const { occurrence, recipient, memoName } = notification
      if (prepared.has(memoName)) break
      const memory = parseMemory(memos.get(memoName))
      const decision = await decide(notification, memory)
      done += 1
      if (decision !== 'send') {
        emit({ type: 'alert-suppressed', why: decision, channel: recipient.channel, kind: occurrence.kind })
        continue
      }
      const acceptance = prepare(notification, memory, options)
      if (acceptance !== null) prepared.set(memoName, { notification, acceptance })
    }
    if (prepared.size > 0) await store([...prepared.values()])
    return done
  }

  async function decide(
    { occurrence, row }: Notification,
    memory: AlertMemory | null,
  ): Promise<SuppressionReason | 'send'> {
    const decision = decideSuppression(memory, occurrence, row.everyMs, clock.now())
    if (decision !== 'send' || occurrence.is === 'alarm' || memory === null) return decision
    const alarm = await callStore(() => outbox.queries.findMessage(memory.messageId))
    return alarm !== null && UNDELIVERED.includes(alarm.state) ? 'not-alarmed' : 'send'
  }

  async function store(prepared: readonly Prepared[]): Promise<void> {
    const answers = await callStore(() => outbox.accept(prepared.map(({ acceptance }) => acceptance)))
    prepared.forEach((each, at) => reportOutcome(each, answers[at], emit))
    const channels = new Set(prepared.map(({ notification }) => notification.recipient.channel))
    for (const channel of channels) options.wake(channel)
  }

  return dispatch
}

/** The message of a notification as the outbox takes it; null when there are no words for it. */
function prepare(
  { occurrence, recipient, row, memoName }: Notification,
  memory: AlertMemory | null,
  { storeKeys, charges, destinationOf, render, clock, emit }: NotifierOptions,
): Acceptance | null {
  const { channel, to, masked, country } = recipient
  const { kind, params, identity } = occurrence
  const now = clock.now()
  // What the occurrence says is the same for every replica, whatever its zone.
  const times = ['time', 'since'].flatMap(name =>
    params[name] ? [[name, showLocalTimes(params[name])]] : [],
  )
  const message: NewMessage = {
    id: newMessageId(now),
    channel,
    kind,
    purpose: 'alarm',
    recipient: to,
    masked,
    destination: destinationOf({ channel, kind, recipient: to }, country),
    content: {
      params: { ...params, ...Object.fromEntries(times) },
      words: 'ours',
      ...(row.locale !== null && { locale: row.locale }),
    },
    arrivedAt: now,
    expiresAt: now + LIFETIME_MS,
  }
  try {
    render(message)
  } catch (error) {
    const fault = error instanceof Error ? error : new Error('unknown fault')
    emit({ type: 'unrenderable', channel, kind, error: fault })
    return null
  }
  const updated = updateMemory(memory, occurrence, row.everyMs, now, message.id)
  return {
    message,
    dedupeKey: storeKeys.dedupeKey(['ddq', channel, to, ...identity]),
    recipientHash: storeKeys.recipientHash(channel, to),
    charges: charges(message, country),
    country,
    dedupeWindowMs: DEDUPE_WINDOW_MS,
    memo: { name: memoName, value: serializeMemory(updated.memory), expiresAt: updated.expiresAt },
  }
}

function reportOutcome(
  { notification, acceptance }: Prepared,
  accepted: Accepted | undefined,
  emit: Emit,
): void {
  const { channel, masked: to } = notification.recipient
  const { kind, device } = notification.occurrence
  const { id } = acceptance.message
  if (accepted?.is === 'over-quota') emit({ type: 'over-quota', channel, kind, quota: accepted.quota, to })
  // A message that an earlier try stored, whose commit was not confirmed to us, is its own duplicate.
  else if (accepted?.is === 'stored' || (accepted?.is === 'in-progress' && accepted.id === id))
    emit({ type: 'alert-sent', id, channel, kind, to, device })
  // The store's own line of the log says what was refused.
  else if (accepted?.is !== 'refused')
    emit({
      type: 'alert-suppressed',
      why: accepted?.is === 'bounced' || accepted?.is === 'held' ? accepted.is : 'repeated',
      channel,
      kind,
    })
}

function isPassing(error: unknown): error is StoreUnavailable | BacklogFull {
  return error instanceof StoreUnavailable || error instanceof BacklogFull
}
