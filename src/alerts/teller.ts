import type { Clock } from '../clock.ts'
import type { DdqMessage } from '../ddq/message.ts'
import type { Channel, NewMessage, Outgoing } from '../messages/message.ts'
import {
  type Acceptance,
  type Accepted,
  BacklogFull,
  type Charge,
  type MessageView,
  type Note,
  StoreUnavailable,
} from '../outbox/outbox.ts'
import { type Held, judge, type Memory, read, remembered, written } from './judge.ts'
import { type Occurrence, occurrencesOf, type Source } from './occurrence.ts'
import type { AlertRecipient, AlertRow } from './table.ts'

/** What the teller needs of the outbox. */
export interface AlertOutbox {
  accept(messages: readonly Acceptance[]): Promise<readonly Accepted[]>
  readonly notebook: { read(names: readonly string[]): Promise<ReadonlyMap<string, string>> }
  readonly desk: { find(id: string): Promise<Pick<MessageView, 'state'> | null> }
}

export interface TellerOptions {
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
  readonly observer: TellerObserver
  /** After the store could not take something, ms. Default 1000. */
  readonly retryMs?: number
}

/** What the teller tells whoever counts and logs. Recipients only masked. */
export interface TellerObserver {
  told(event: {
    readonly id: string
    readonly channel: Channel
    readonly kind: string
    readonly to: string
    readonly device: string
  }): void
  /** Somebody was not told, and why; `repeated`: the same message came before. */
  held(event: { readonly why: Held | 'repeated'; readonly channel: Channel; readonly kind: string }): void
  overQuota(event: { readonly channel: Channel; readonly kind: string; readonly quota: string }): void
  unrenderable(event: { readonly channel: Channel; readonly kind: string; readonly error: Error }): void
  storeFailed(event: { readonly doing: string; readonly error: Error }): void
}

/** Turns messages of DDQ into messages of the outbox. */
export interface Teller {
  /**
   * Takes a message; what it is about is told soon. Gives a promise when so much waits already that no more should
   * come until it is settled.
   */
  take(message: DdqMessage): void | Promise<void>
  /** Ends: takes nothing more, and stores what waits, unless the store cannot take it. */
  stop(): Promise<void>
}

/** One occurrence to one recipient. */
interface Telling {
  readonly occurrence: Occurrence
  readonly recipient: AlertRecipient
  readonly row: AlertRow
  /** What is remembered of them. */
  readonly name: string
}

/** Tellings that share a commit. */
const MOST_TOGETHER = 100
/** Tellings in memory, from which on the platform is slowed down. */
const MOST_WAITING = 500
/** An alert is worth sending for a day, as alarms of the platform are. */
const LIFE_MS = 24 * 60 * 60_000
/** The same message of DDQ may come again after a reconnect, or to another replica. */
const TWIN_WINDOW_MS = 24 * 60 * 60_000
/** Devices and rules of which it is known when they recovered though nobody was told. */
const MOST_RECOVERIES = 10_000

/**
 * Tells people, by way of the outbox, in the order in which things came. What was told, and to whom, is remembered in
 * the transaction that stores the message: so nobody is told twice, and nobody is told that something is over who
 * never heard that it began, whatever process does it.
 */
export function createTeller(options: TellerOptions): Teller {
  const { rows, outbox, keys, clock, observer, retryMs = 1000 } = options
  const sources = new Map(rows.map(({ source }) => [source, rows.filter(row => row.source === source)]))
  const wanted = new Map(
    [...sources].map(([source, own]) => {
      const products = own.map(({ product }) => product)
      return [source, products.includes(null) ? 'any' : new Set<string | null>(products)] as const
    }),
  )
  /** When devices recovered last, whether or not anybody was told. */
  const recoveries = new Map<string, number>()
  let waiting: Telling[] = []
  let running: Promise<void> | undefined
  let room: { readonly promise: Promise<void>; readonly give: () => void } | undefined
  let stopped = false
  let wake = () => {}

  /** The first row that names a recipient is theirs: two rows must not tell the same thing twice. */
  function tellingsOf(occurrence: Occurrence): Telling[] {
    const found = new Map<string, Telling>()
    const { source, product, device, rule } = occurrence
    for (const row of sources.get(source) ?? []) {
      if (row.product !== null && row.product !== product) continue
      for (const recipient of row.recipients) {
        const { channel, to } = recipient
        const key = `${channel} ${to}`
        if (found.has(key)) continue
        const name = keys.note([channel, to, source, product, device, rule])
        found.set(key, { occurrence, recipient, row, name })
      }
    }
    return [...found.values()]
  }

  /** Most messages are about nobody's row; those cost a look and no more. */
  function concerns({ kind, product, payload }: DdqMessage): boolean {
    const source = SOURCE_OF[kind]
    const products = source === undefined ? undefined : wanted.get(source)
    if (products === undefined) return false
    return (
      products === 'any' || products.has(product ?? String((payload as { product_id?: unknown }).product_id))
    )
  }

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
  async function tell(batch: readonly Telling[]): Promise<number> {
    const names = [...new Set(batch.map(({ name }) => name))]
    const memories = await persist('read notes', () => outbox.notebook.read(names))
    if (memories === null) return 0
    const prepared: { readonly telling: Telling; readonly acceptance: Acceptance }[] = []
    const told = new Set<string>()
    let done = 0
    for (const telling of batch) {
      if (told.has(telling.name)) break
      const memory = read(memories.get(telling.name))
      const verdict = await verdictOn(telling, memory)
      noteRecovery(telling.occurrence)
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
    if (prepared.length > 0) await store(prepared)
    return done
  }

  async function store(
    prepared: readonly { readonly telling: Telling; readonly acceptance: Acceptance }[],
  ): Promise<void> {
    const answers = await persist('accept', () => outbox.accept(prepared.map(each => each.acceptance)))
    if (answers === null) return
    prepared.forEach((each, at) => settle(each.telling, each.acceptance, answers[at]))
    const channels = new Set(prepared.map(({ telling }) => telling.recipient.channel))
    for (const channel of channels) options.nudge(channel)
  }

  async function verdictOn({ occurrence, row }: Telling, memory: Memory | null): Promise<Held | 'tell'> {
    const { is, at } = occurrence
    const over = recoveries.get(deviceKey(occurrence))
    if (is === 'alarm' && at !== null && over !== undefined && at < over) return 'outdated'
    const verdict = judge(memory, occurrence, row.everyMs, clock.now())
    if (verdict !== 'tell' || is === 'alarm' || memory === null) return verdict
    // Whoever's alarm could not be delivered did not get it.
    const view = await persist('find', () => outbox.desk.find(memory.messageId))
    return view !== null && ['refused', 'expired', 'superseded'].includes(view.state) ? 'not-alarmed' : 'tell'
  }

  function prepare({ occurrence, recipient, row, name }: Telling, memory: Memory | null): Acceptance | null {
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
      twinKey: keys.twin(['ddq', channel, to, ...occurrence.identity]),
      recipientHash: keys.recipient(channel, to),
      charges: options.charges(message, country),
      twinWindowMs: TWIN_WINDOW_MS,
      note: noteOf(name, occurrence, row, memory, message),
    }
  }

  function noteOf(
    name: string,
    occurrence: Occurrence,
    { everyMs }: AlertRow,
    before: Memory | null,
    { id, arrivedAt }: NewMessage,
  ): Note {
    const { memory, goneAt } = remembered(before, occurrence, everyMs, arrivedAt, id)
    return { name, value: written(memory), goneAt }
  }

  function settle(
    { occurrence, recipient }: Telling,
    { message }: Acceptance,
    became: Accepted | undefined,
  ): void {
    const { channel, masked: to } = recipient
    const { kind, device } = occurrence
    if (became?.is === 'over-quota') observer.overQuota({ channel, kind, quota: became.quota })
    // Stored by an earlier try whose commit we did not hear of, it joins itself.
    else if (became?.is === 'stored' || (became?.is === 'joined' && became.id === message.id))
      observer.told({ id: message.id, channel, kind, to, device })
    else observer.held({ why: 'repeated', channel, kind })
  }

  function hold({ occurrence, recipient }: Telling, why: Held): void {
    observer.held({ why, channel: recipient.channel, kind: occurrence.kind })
  }

  /** An alarm that comes later but happened earlier is over already. */
  function noteRecovery(occurrence: Occurrence): void {
    if (occurrence.is !== 'recovery' || occurrence.at === null) return
    const key = deviceKey(occurrence)
    const at = Math.max(occurrence.at, recoveries.get(key) ?? 0)
    recoveries.delete(key)
    recoveries.set(key, at)
    if (recoveries.size <= MOST_RECOVERIES) return
    const [oldest] = recoveries.keys()
    if (oldest !== undefined) recoveries.delete(oldest)
  }

  /** Tries until the store takes it: an alert is not given up because a disk is full. Null: told to end. */
  async function persist<T>(doing: string, work: () => Promise<T>): Promise<T | null> {
    while (true) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof StoreUnavailable || error instanceof BacklogFull)) throw error
        observer.storeFailed({ doing, error })
        if (stopped) return givenUp()
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, retryMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        if (stopped) return givenUp()
      }
    }
  }

  function givenUp(): null {
    waiting = []
    return null
  }

  return {
    take(message) {
      if (stopped) return
      if (!concerns(message)) return
      for (const occurrence of occurrencesOf(message)) waiting.push(...tellingsOf(occurrence))
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
      wake()
      room?.give()
      await running
    },
  }
}

const SOURCE_OF: Partial<Record<DdqMessage['kind'], Source>> = {
  'online-state': 'state',
  event: 'event',
  alert: 'alert',
}

function deviceKey({ source, product, device, rule }: Occurrence): string {
  return JSON.stringify([source, product, device, rule])
}
