import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Publication } from '../../sandbox/emulator/ddq-server.ts'
import { createReporter } from '../../sandbox/emulator/devices.ts'
import type { AlertRow } from '../../src/alerts/alert-table.ts'
import { createNotifier, type NotifierObserver, type NotifierOptions } from '../../src/alerts/notifier.ts'
import { type DdqMessage, parseMessage } from '../../src/ddq/message.ts'
import type { Channel } from '../../src/messages/message.ts'
import { createStoreKeys } from '../../src/outbox/encryption.ts'
import type { Outbox, State } from '../../src/outbox/outbox.ts'
import { createSqliteOutbox } from '../../src/outbox/sqlite/outbox.ts'
import { stringifyExactly } from '../../src/platform/exact-json.ts'
import { createRenderer } from '../../src/words/render.ts'
import { testClock } from '../outbox/samples.ts'

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

const storeKeys = createStoreKeys('a secret of the tests, long enough')

export interface RigOptions extends Partial<Pick<NotifierOptions, 'charges' | 'render' | 'retryMs'>> {
  readonly rows?: readonly AlertRow[]
  /** Stands between the teller and the store. */
  readonly between?: (outbox: Outbox) => Partial<NotifierOptions['outbox']>
}

/** A teller over a real store, with a clock that stands still until it is set. */
export async function rig(t: Test, options: RigOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'alerts-'))
  const path = join(directory, 'outbox.db')
  const clock = testClock()
  const open = () => createSqliteOutbox({ path, clock, storeKeys, maxBacklog: 10_000, retentionDays: 30 })
  let outbox = await open()
  const renderer = createRenderer({
    brand: { name: 'Example IoT' },
    locale: 'en',
    mail: { from: 'no-reply@example.com', messageIdDomain: 'example.com' },
    sms: {},
  })
  const events: { is: string; kind?: string; why?: string; channel?: string }[] = []
  const nudged: Channel[] = []
  const observe = (is: keyof NotifierObserver) => (event: object) => events.push({ is, ...event })
  const observer = {
    sent: observe('sent'),
    suppressed: observe('suppressed'),
    overQuota: observe('overQuota'),
    unrenderable: observe('unrenderable'),
    storeFailed: observe('storeFailed'),
  } as NotifierObserver
  const make = () =>
    createNotifier({
      rows: options.rows ?? [row()],
      outbox: {
        accept: messages => outbox.accept(messages),
        memos: outbox.memos,
        queries: outbox.queries,
        ...options.between?.(outbox),
      },
      keys: {
        twin: fields => storeKeys.dedupeKey(fields),
        note: fields => storeKeys.bucketHash('alarmed', ...fields),
        recipient: (channel, recipient) => storeKeys.recipientHash(channel, recipient),
      },
      charges: options.charges ?? (() => []),
      render: options.render ?? renderer.render,
      nudge: channel => nudged.push(channel),
      clock,
      messageId: () => randomBytes(16).toString('hex'),
      observer,
      retryMs: options.retryMs ?? 20,
    })
  let teller = make()
  t.teardown(async () => {
    await teller.stop()
    renderer.close()
    await outbox.close()
    await rm(directory, { recursive: true, force: true })
  })

  let serial = 0
  const reporter = createReporter({ corpId: '100fa4b2', now: clock.now, id: () => `m${(serial += 1)}` })

  async function stored() {
    await teller.stop()
    teller = make()
    const list = await outbox.queries.listMessages({ limit: 1000 })
    return [...list].reverse()
  }

  return {
    clock,
    reporter,
    events,
    nudged,
    outbox: () => outbox,
    teller: () => teller,
    async take(...publications: readonly Publication[]) {
      for (const publication of publications) await teller.take(messageOf(publication))
    },
    /** Ends the teller and looks at what it stored, oldest first. */
    stored,
    /** As if the process had died and begun anew. */
    async restart() {
      await teller.stop()
      await outbox.close()
      outbox = await open()
      teller = make()
    },
    /** Lets what waits be delivered, with this end. */
    async deliver(state: Exclude<State, 'queued' | 'sending'> = 'sent') {
      for (const channel of ['email', 'sms'] as const) {
        const { messages } = await outbox.claim(channel, 1000, MINUTE)
        for (const { id, lease } of messages)
          await outbox.settle(id, lease, { to: 'final', state, answer: null })
      }
    },
    /** What was told, in words: `device-alert to a***@example.com`. */
    async told() {
      return (await stored()).map(({ kind, maskedRecipient }) => `${kind} to ${maskedRecipient}`)
    },
    why: () => events.flatMap(({ is, why }) => (is === 'suppressed' ? [why] : [])),
  }
}

export function messageOf({ topic, id, payload }: Publication): DdqMessage {
  const reading = parseMessage(stringifyExactly({ topic, message_id: id, payload }))
  if (reading.is !== 'message') throw new Error(JSON.stringify(reading))
  return reading.message
}
