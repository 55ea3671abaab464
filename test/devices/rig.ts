import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Publication } from '../../sandbox/emulator/ddq-broker.ts'
import { createDeviceReporter } from '../../sandbox/emulator/device-simulator.ts'
import type { AlertRow } from '../../src/devices/alert-table.ts'
import { type DdqMessage, parseMessage } from '../../src/devices/message.ts'
import { createNotifier, type NotifierOptions } from '../../src/devices/notifier.ts'
import type { ServiceEvent } from '../../src/events/events.ts'
import type { Channel } from '../../src/messages/message.ts'
import type { Outbox, State } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { stringifyExactly } from '../../src/runtime/exact-json.ts'
import { createRenderer } from '../../src/words/render.ts'
import { STORE, testClock } from '../outbox/samples.ts'
import { serveHere } from '../rigs/serve-here.ts'

export const MINUTE = 60_000
export const ann = { channel: 'email', to: 'ann@example.com', masked: 'a***@example.com' } as const
export const bob = { channel: 'sms', to: '+8613800138000', masked: '+86*******8000', country: 'CN' } as const

export const row = (more: Partial<AlertRow> = {}): AlertRow => ({
  source: 'alert',
  product: null,
  everyMs: 10 * MINUTE,
  locale: null,
  recipients: [ann],
  ...more,
})

export interface RigOptions extends Partial<Pick<NotifierOptions, 'charges' | 'render' | 'retryMs'>> {
  readonly rows?: readonly AlertRow[]
  /** Stands between the notifier and the store. */
  readonly between?: (outbox: Outbox) => Partial<NotifierOptions['outbox']>
}

/** A notifier over a real store, with a clock that stands still until it is set. */
export async function rig(t: Test, options: RigOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'alerts-'))
  const path = join(directory, 'outbox.db')
  const clock = testClock()
  const open = () => createSqliteOutbox({ ...STORE, path, clock, startThread: serveHere })
  let outbox = await open()
  const renderer = createRenderer({
    brand: { name: 'Example IoT' },
    locale: 'en',
    mail: { from: 'no-reply@example.com', messageIdDomain: 'example.com' },
    sms: {},
  })
  const events: ServiceEvent[] = []
  const woken: Channel[] = []
  const make = () =>
    createNotifier({
      rows: options.rows ?? [row()],
      outbox: {
        ...outbox,
        ...options.between?.(outbox),
      },
      storeKeys: STORE.storeKeys,
      destinationOf: ({ channel, kind, recipient }, country) => [channel, kind, recipient, country].join(' '),
      charges: options.charges ?? (() => []),
      render: options.render ?? renderer.render,
      wake: channel => woken.push(channel),
      clock,
      emit: event => events.push(event),
      retryMs: options.retryMs ?? 20,
    })
  let notifier = make()
  t.teardown(async () => {
    await notifier.stop()
    renderer.close()
    await outbox.close()
    await rm(directory, { recursive: true, force: true })
  })

  let serial = 0
  const reporter = createDeviceReporter({ corpId: '100fa4b2', now: clock.now, id: () => `m${(serial += 1)}` })

  async function stored() {
    await notifier.stop()
    notifier = make()
    const { messages: list } = await outbox.queries.listMessages({ limit: 1000 })
    return [...list].reverse()
  }

  return {
    clock,
    reporter,
    events,
    woken,
    outbox: () => outbox,
    notifier: () => notifier,
    async take(...publications: readonly Publication[]) {
      for (const publication of publications) await notifier.take(messageOf(publication))
    },
    /** Ends the notifier and reads what it stored, oldest first. */
    stored,
    /** As if the process had died and begun anew. */
    async restart() {
      await notifier.stop()
      await outbox.close()
      outbox = await open()
      notifier = make()
    },
    /** Lets what waits be delivered, with this end. */
    async deliver(state: Exclude<State, 'queued' | 'sending'> = 'sent') {
      for (const channel of ['email', 'sms'] as const) {
        const { messages } = await outbox.claim(channel, 1000, MINUTE)
        for (const { id, lease } of messages)
          await outbox.settle(id, lease, { to: 'final', state, answer: null })
      }
    },
    /** The notifications that were stored, in words: `device-alert to a***@example.com`. */
    async notifications() {
      return (await stored()).map(({ kind, maskedRecipient }) => `${kind} to ${maskedRecipient}`)
    },
    why: () => events.flatMap(event => (event.type === 'alert-suppressed' ? [event.why] : [])),
  }
}

export function messageOf({ topic, id, payload }: Publication): DdqMessage {
  const parsed = parseMessage(stringifyExactly({ topic, message_id: id, payload }))
  if (parsed.is !== 'message') throw new Error(JSON.stringify(parsed))
  return parsed.message
}
