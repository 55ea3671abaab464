import type { FastifyInstance } from 'fastify'
import type { Channel } from '../src/messages/message.ts'
import { findSampleKind, SAMPLE_KINDS, SAMPLE_RECIPIENT } from '../src/platform/sample-callbacks.ts'
import { prepareMailForFrame } from './mail-frame.ts'
import { createPageState, mailDetails, type PageStateOptions } from './page-state.ts'
import type { StandIns } from './stand-ins.ts'
import { createPageServer, type Page, replyNotFound } from './web/page-server.ts'

export interface SandboxPageOptions extends PageStateOptions {
  readonly standIns: Pick<StandIns, 'mails' | 'sms' | 'faults' | 'setFault' | 'clear'>
}

/** The page that shows what arrived and plays the platform, each thing that it can do a button. */
export function createSandboxPage(options: SandboxPageOptions): Page {
  const { standIns, callbackSender } = options
  const state = createPageState(options)
  const faults: Record<Channel, string> = { email: 'none', sms: 'none' }
  const { app, ...page } = createPageServer({
    folder: new URL('page/', import.meta.url),
    // The mails are shown in frames.
    policy: ["frame-src 'self'"],
    state: () => ({
      ...state(),
      kinds: SAMPLE_KINDS.map(({ channel, kind, type, title }) => ({ channel, kind, type, title })),
      recipients: SAMPLE_RECIPIENT,
      faults: {
        email: { now: faults.email, all: standIns.faults('email') },
        sms: { now: faults.sms, all: standIns.faults('sms') },
      },
    }),
  })

  mailRoutes(app, standIns)

  app.post('/play', { schema: PLAY }, async (request, reply) => {
    const { channel, action, kind: name = '', to } = request.body as Play
    if (action === 'validate') return callbackSender.validate(channel)
    if (action === 'forge') return callbackSender.validate(channel, true)
    if (action === 'again') return (await callbackSender.resend(channel)) ?? replyNotFound(reply)
    const kind = findSampleKind(channel, name)
    return kind ? (await callbackSender.send(kind, to)).callback : replyNotFound(reply)
  })
  app.post('/fault', { schema: FAULT }, async (request, reply) => {
    const { channel, name } = request.body as { channel: Channel; name: string }
    if (!standIns.setFault(channel, name)) return replyNotFound(reply)
    faults[channel] = name
    page.changed()
    return { channel, name }
  })
  app.post('/clear', async () => {
    standIns.clear()
    callbackSender.clear()
    page.changed()
    return {}
  })

  return page
}

interface Play {
  readonly channel: Channel
  readonly action: 'validate' | 'forge' | 'again' | 'send'
  readonly kind?: string
  readonly to?: string
}

const CHANNEL = { enum: ['email', 'sms'] } as const
const PLAY = {
  body: {
    type: 'object',
    required: ['channel', 'action'],
    properties: {
      channel: CHANNEL,
      action: { enum: ['validate', 'forge', 'again', 'send'] },
      kind: { type: 'string', maxLength: 64 },
      to: { type: 'string', maxLength: 2000 },
    },
  },
} as const
const FAULT = {
  body: {
    type: 'object',
    required: ['channel', 'name'],
    properties: { channel: CHANNEL, name: { type: 'string', maxLength: 64 } },
  },
} as const

function mailRoutes(app: FastifyInstance, { mails }: Pick<StandIns, 'mails'>): void {
  const found = (params: unknown) => mails().find(({ id }) => id === Number((params as { id: string }).id))
  app.get('/mail/:id', async (request, reply) => {
    const mail = found(request.params)
    return mail ? mailDetails(mail) : replyNotFound(reply)
  })
  app.get('/mail/:id/html', async (request, reply) => {
    const mail = found(request.params)
    if (!mail) return replyNotFound(reply)
    const { html, policy } = prepareMailForFrame(mail.html)
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
      .send(html)
  })
  app.get('/mail/:id/raw', async (request, reply) => {
    const mail = found(request.params)
    if (!mail) return replyNotFound(reply)
    return reply
      .headers({
        'content-type': 'message/rfc822',
        'content-disposition': `attachment; filename="mail-${mail.id}.eml"`,
      })
      .send(mail.raw)
  })
}
