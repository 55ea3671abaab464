import type { DdqMessage } from '../ddq/message.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import type { Acceptance, Accepted, AdminQueries, Charge, Memo, MemoStore } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import type { AlertRow } from './alert-table.ts'
import { type Occurrence, occurrencesOf } from './occurrence.ts'
import { createOpenAlerts } from './open-alerts.ts'
import { createRetry } from './retry.ts'
import { createRouting, type Notification } from './routing.ts'
import {
  type AlertMemory,
  decideSuppression,
  parseMemory,
  type SuppressionReason,
  serializeMemory,
  updateMemory,
} from './suppression.ts'

/** What the teller needs of the outbox. */
export interface AlertOutbox {
  accept(messages: readonly Acceptance[]): Promise<readonly Accepted[]>
  readonly memos: Pick<MemoStore, 'readMemos'>
  readonly queries: Pick<AdminQueries, 'findMessage'>
}

export interface NotifierOptions {
  readonly rows: readonly AlertRow[]
  readonly outbox: AlertOutbox
  readonly keys: {
    /** HMAC that names the twins of an alert: the same occurrence, to the same recipient. */
    twin(fields: readonly string[]): string
    /** HMAC that names what is remembered of a recipient, device and rule. */
    note(fields: readonly string[]): string
    recipient(channel: Channel, recipient: string): string
  }
  readonly charges: (message: NewMessage, country: string | undefined) => readonly Charge[]
  /** Throws when there are no words for it. */
  readonly render: (message: NewMessage) => Outgoing
  /** Something was stored for the channel, and is due. */
  readonly nudge: (channel: Channel) => void
  readonly clock: Clock
  /** 32 lower-case hex digits, new each time. */
  readonly messageId: () => string
  readonly observer: NotifierObserver
  /** After the store could not take something, ms. Default 1000. */
  readonly retryMs?: number
}

/** What the teller tells whoever counts and logs. Recipients only masked. */
export interface NotifierObserver {
  sent(event: {
    readonly id: string
    readonly channel: Channel
    readonly kind: string
    readonly to: string
    readonly device: string
  }): void
  /** Somebody was not told, and why; `repeated`: the same message came before. */
  suppressed(event: {
    readonly why: SuppressionReason | 'repeated'
    readonly channel: Channel
    readonly kind: string
  }): void
  overQuota(event: { readonly channel: Channel; readonly kind: string; readonly quota: string }): void
  unrenderable(event: { readonly channel: Channel; readonly kind: string; readonly error: Error }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
}

/** Turns messages of DDQ into messages of the outbox. */
export interface Notifier {
  /**
   * Takes a message; what it is about is told soon. Gives a promise when so much waits already that no more should
   * come until it is settled.
   */
  take(message: DdqMessage): void | Promise<void>
  /** Ends: takes nothing more, and stores what waits, unless the store cannot take it. */
  stop(): Promise<void>
}

/** Tellings that share a commit. */
const MOST_TOGETHER = 100
/** Tellings in memory, from which on the platform is slowed down. */
const MOST_WAITING = 500
/** An alert is worth sending for a day, as alarms of the platform are. */
const LIFE_MS = 24 * 60 * 60_000
/** The same message of DDQ may come again after a reconnect, or to another replica. */
const TWIN_WINDOW_MS = 24 * 60 * 60_000
/** The store does not take it, and we are to end: whatever waits. */
const GIVEN_UP = Number.POSITIVE_INFINITY

/**
 * Tells people, by way of the outbox, in the order in which things came. What was told, and to whom, is remembered in
 * the transaction that stores the message: so nobody is told twice, and nobody is told that something is over who
 * never heard that it began, whatever process does it.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const { outbox, keys, clock, observer } = options
  const audience = createRouting(options.rows, keys.note)
  const recoveries = createOpenAlerts()
  const patience = createRetry(options.retryMs ?? 1000, observer.storeFailed)
  let waiting: readonly Notification[] = []
  let running: Promise<void> | undefined
  let room: { readonly promise: Promise<void>; readonly give: () => void } | undefined
  let stopped = false

  async function drain(): Promise<void> {
    // What came in the same turn of the event loop is looked at together.
    await new Promise(resolve => setImmediate(resolve))
    while (waiting.length > 0) {
      const done = await tell(waiting.slice(0, MOST_TOGETHER))
      waiting = waiting.slice(done)
      if (waiting.length < MOST_WAITING) {
        room?.give()
        room = undefined
      }
    }
    running = undefined
  }

  /**
   * Decides on as many as can be decided on together, and stores those that are told. What is remembered of somebody
   * changes with what they are told, so the next about the same has to wait for that.
   * @returns how many were decided on.
   */
  async function tell(batch: readonly Notification[]): Promise<number> {
    const names = [...new Set(batch.map(({ name }) => name))]
    const memories = await patience.persist('read notes', () => outbox.memos.readMemos(names))
    if (memories === null) return GIVEN_UP
    const prepared: { readonly telling: Notification; readonly acceptance: Acceptance }[] = []
    const told = new Set<string>()
    let done = 0
    for (const telling of batch) {
      if (told.has(telling.name)) break
      const memory = parseMemory(memories.get(telling.name))
      const verdict = await verdictOn(telling, memory)
      recoveries.note(telling.occurrence)
      done += 1
      if (verdict !== 'tell') {
        hold(telling, verdict)
        continue
      }
      const acceptance = prepare(telling, memory)
      if (acceptance === null) continue
      told.add(telling.name)
      prepared.push({ telling, acceptance })
    }
    if (prepared.length > 0 && !(await store(prepared))) return GIVEN_UP
    return done
  }

  /** False: given up. */
  async function store(
    prepared: readonly { readonly telling: Notification; readonly acceptance: Acceptance }[],
  ): Promise<boolean> {
    const answers = await patience.persist('accept', () =>
      outbox.accept(prepared.map(each => each.acceptance)),
    )
    if (answers === null) return false
    prepared.forEach((each, at) => settle(each.telling, each.acceptance, answers[at]))
    const channels = new Set(prepared.map(({ telling }) => telling.recipient.channel))
    for (const channel of channels) options.nudge(channel)
    return true
  }

  async function verdictOn(
    { occurrence, row }: Notification,
    memory: AlertMemory | null,
  ): Promise<SuppressionReason | 'tell'> {
    if (recoveries.overtook(occurrence)) return 'outdated'
    const verdict = decideSuppression(memory, occurrence, row.everyMs, clock.now())
    if (verdict !== 'tell' || occurrence.is === 'alarm' || memory === null) return verdict
    // Whoever's alarm could not be delivered did not get it.
    const view = await patience.persist('find', () => outbox.queries.findMessage(memory.messageId))
    return view !== null && ['refused', 'expired', 'superseded'].includes(view.state) ? 'not-alarmed' : 'tell'
  }

  function prepare(
    { occurrence, recipient, row, name }: Notification,
    memory: AlertMemory | null,
  ): Acceptance | null {
    const { channel, to, masked, country } = recipient
    const now = clock.now()
    const message: NewMessage = {
      id: options.messageId(),
      channel,
      kind: occurrence.kind,
      purpose: 'alarm',
      recipient: to,
      masked,
      content: {
        params: occurrence.params,
        words: 'ours',
        ...(row.locale === null ? {} : { locale: row.locale }),
      },
      arrivedAt: now,
      expiresAt: now + LIFE_MS,
    }
    try {
      options.render(message)
    } catch (error) {
      observer.unrenderable({
        channel,
        kind: occurrence.kind,
        error: error instanceof Error ? error : new Error('unknown fault'),
      })
      return null
    }
    return {
      message,
      dedupeKey: keys.twin(['ddq', channel, to, ...occurrence.identity]),
      recipientHash: keys.recipient(channel, to),
      charges: options.charges(message, country),
      dedupeWindowMs: TWIN_WINDOW_MS,
      memo: noteOf(name, occurrence, row, memory, message),
    }
  }

  function noteOf(
    name: string,
    occurrence: Occurrence,
    { everyMs }: AlertRow,
    before: AlertMemory | null,
    { id, arrivedAt }: NewMessage,
  ): Memo {
    const { memory, expiresAt } = updateMemory(before, occurrence, everyMs, arrivedAt, id)
    return { name, value: serializeMemory(memory), expiresAt }
  }

  function settle(
    { occurrence, recipient }: Notification,
    { message }: Acceptance,
    became: Accepted | undefined,
  ): void {
    const { channel, masked: to } = recipient
    const { kind, device } = occurrence
    if (became?.is === 'over-quota') observer.overQuota({ channel, kind, quota: became.quota })
    // Stored by an earlier try whose commit we did not hear of, it joins itself.
    else if (became?.is === 'stored' || (became?.is === 'in-progress' && became.id === message.id))
      observer.sent({ id: message.id, channel, kind, to, device })
    else observer.suppressed({ why: 'repeated', channel, kind })
  }

  function hold({ occurrence, recipient }: Notification, why: SuppressionReason): void {
    observer.suppressed({ why, channel: recipient.channel, kind: occurrence.kind })
  }

  return {
    take(message) {
      if (stopped) return
      if (!audience.isRouted(message)) return
      const tellings = occurrencesOf(message).flatMap(occurrence => audience.notificationsFor(occurrence))
      waiting = [...waiting, ...tellings]
      if (waiting.length > 0) running ??= drain()
      if (waiting.length < MOST_WAITING) return
      if (room === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>()
        room = { promise, give: resolve }
      }
      return room.promise
    },
    async stop() {
      stopped = true
      patience.end()
      room?.give()
      await running
    },
  }
}
