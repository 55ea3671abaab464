import type { Channel } from '../../src/messages/message.ts'
import { stringifyExactly } from '../../src/platform/exact-json.ts'
import { SAMPLE_KINDS } from '../../src/platform/sample-callbacks.ts'
import { createPageServer, type Page, replyNotFound } from '../web/page-server.ts'
import { API_FAULTS, type ApiFault } from './api.ts'
import { ACTS, type Act } from './board.ts'
import { FEED_FAULTS, type FeedFault } from './ddq-feed.ts'
import type { Manner } from './ddq-server.ts'
import { RULES } from './devices.ts'
import type { Emulator } from './emulator.ts'
import { createTries, TRIES, type Try } from './tries.ts'

export interface EmulatorPageOptions {
  readonly emulator: Emulator
  /** The sandbox's page, when this is part of one. */
  readonly sandboxUrl?: () => string | undefined
}

interface CallbackBody {
  readonly url: string
  readonly corpId: string
  readonly token: string
  readonly channel: Channel
  readonly kind?: string
}

/** The page on which each thing that the platform can do, or get wrong, is a button. For one person on this machine. */
export function createEmulatorPage({ emulator, sandboxUrl }: EmulatorPageOptions): Page {
  const { api, board, ddq, tokens } = emulator
  const tries = createTries(emulator.baseUrl, emulator.accounts)
  let tried = ''
  let silent = false
  let down = false
  let redelivers = false

  const { app, ...page } = createPageServer({
    folder: new URL('page/', import.meta.url),
    state: () => ({
      about: {
        baseUrl: emulator.baseUrl,
        ddqHost: `127.0.0.1:${emulator.ddqPort}`,
        accounts: {
          ...emulator.accounts,
          user: { ...emulator.accounts.user, userId: String(emulator.accounts.user.userId) },
        },
        settings: emulator.settings,
        sandboxUrl: sandboxUrl?.() ?? null,
      },
      devices: board.standing(),
      rules: RULES,
      sent: board
        .sent()
        .slice(-60)
        .map(each => ({ ...each, payload: stringifyExactly(each.payload, 2) })),
      line: { ...ddq.counts(), silent, down, redelivers, manner: ddq.manner },
      faults: Object.entries(FEED_FAULTS).map(([name, title]) => ({
        name,
        title,
        on: ddq.faults().includes(name as FeedFault),
      })),
      api: {
        tries: TRIES,
        tried,
        fault: api.fault(),
        faults: API_FAULTS,
        exchanges: emulator.exchanges().slice(-30),
      },
      kinds: SAMPLE_KINDS.map(({ channel, kind, type, title }) => ({ channel, kind, type, title })),
      called: emulator.called().slice(-30),
      findings: emulator.contract.findings().slice(-20),
    }),
  })

  /** A button: does something and says whether there was such a thing. */
  const button = (
    path: string,
    properties: object,
    press: (body: never) => unknown,
    required = Object.keys(properties),
  ) =>
    app.post(path, { schema: { body: { type: 'object', required, properties } } }, async (request, reply) => {
      const done = await press(request.body as never)
      page.changed()
      return done === false || done === null ? replyNotFound(reply) : (done ?? {})
    })
  const text = { type: 'string', maxLength: 2000 } as const
  const onOff = { type: 'boolean' } as const

  button(
    '/act',
    { device: text, act: { enum: ACTS }, rule: text },
    ({ device, act, rule }: { device: string; act: Act; rule?: string }) =>
      board.act(device, act, rule) ? {} : false,
    ['device', 'act'],
  )
  button(
    '/fault',
    { name: { enum: Object.keys(FEED_FAULTS) }, on: onOff },
    (each: { name: FeedFault; on: boolean }) => ddq.setFault(each.name, each.on),
  )
  button('/silent', { on: onOff }, ({ on }: { on: boolean }) => ddq.line.setSilent((silent = on)))
  button('/down', { on: onOff }, ({ on }: { on: boolean }) => ddq.line.setDown((down = on)))
  button('/redelivery', { on: onOff }, ({ on }: { on: boolean }) => ddq.setRedelivery((redelivers = on)))
  button('/cut', {}, () => ({ cut: ddq.line.cut() }))
  button('/revoke', {}, () => tokens.revoke())
  button(
    '/manner',
    {
      idKey: { enum: ['message_id', 'msgId'] },
      on: { enum: ['subscription', 'authentication'] },
      separator: { enum: ['\n', ''] },
    },
    (manner: Partial<Manner>) => void Object.assign(ddq.manner, manner),
    [],
  )
  button(
    '/api-fault',
    { name: { enum: [...Object.keys(API_FAULTS), null] } },
    ({ name }: { name: ApiFault | null }) => api.setFault(name),
  )
  button(
    '/callback',
    { url: text, corpId: text, token: text, channel: { enum: ['email', 'sms'] }, kind: text },
    ({ channel, kind, ...target }: CallbackBody) => {
      if (!URL.canParse(target.url)) return false
      return kind === undefined ? emulator.validate(target) : emulator.call(target, channel, kind)
    },
    ['url', 'corpId', 'token', 'channel'],
  )
  button('/try', { what: { enum: Object.keys(TRIES) } }, async ({ what }: { what: Try }) => {
    tried = await tries.press(what)
  })
  button('/clear', {}, () => emulator.clear())

  return {
    ...page,
    async close() {
      await page.close()
      await tries.close()
    },
  }
}
