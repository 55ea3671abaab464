import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Channel } from '../src/messages/message.ts'
import { findSampleKind, SAMPLE_KINDS, SAMPLE_RECIPIENT } from '../src/platform/sample-callbacks.ts'
import { faultTitles, MAIL_FAULTS, SMS_FAULTS } from './faults.ts'
import { guard } from './guard.ts'
import type { Inbox } from './inbox.ts'
import { createLive } from './live.ts'
import { forReading } from './mail-page.ts'
import type { Peers } from './peers.ts'
import { createState, mailInFull, type StateOptions } from './state.ts'

export interface PageOptions extends StateOptions {
  readonly peers: Pick<Peers, 'inbox' | 'sms' | 'setSmsFault' | 'clear'>
}

export interface Page {
  /** Serves it on 127.0.0.1; 0: any free port. Resolves with its address. */
  listen(port: number): Promise<string>
  /** Tells the open pages that there is something new. */
  changed(): void
  close(): Promise<void>
}

const FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'dom.js': 'text/javascript; charset=utf-8',
  'mail.js': 'text/javascript; charset=utf-8',
  'phone.js': 'text/javascript; charset=utf-8',
  'play.js': 'text/javascript; charset=utf-8',
  'dock.js': 'text/javascript; charset=utf-8',
}

/** Nothing from anywhere else, no inline script, no frame but the mails. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The page that shows what arrived and plays the platform. For one person on this machine: it answers to loopback
 * names only and obeys only itself, so that no other web page can press its buttons.
 */
export function createPage(options: PageOptions): Page {
  const { peers, player } = options
  const app = fastify({ forceCloseConnections: true })
  const live = createLive()
  const state = createState(options)
  const faults: Record<Channel, string> = { email: 'none', sms: 'none' }

  guard(app)
  for (const [name, type] of Object.entries(FILES)) {
    app.get(name === 'index.html' ? '/' : `/${name}`, async (_request, reply) => {
      const file = await readFile(new URL(`page/${name}`, import.meta.url), 'utf8')
      return reply.headers({ 'content-type': type, 'content-security-policy': PAGE_POLICY }).send(file)
    })
  }

  app.get('/events', (request, reply) => live.open(request.raw, reply))
  app.get('/state', async () => ({
    ...state(),
    kinds: SAMPLE_KINDS.map(({ channel, kind, type, title }) => ({ channel, kind, type, title })),
    recipients: SAMPLE_RECIPIENT,
    faults: {
      email: { now: faults.email, all: faultTitles('email') },
      sms: { now: faults.sms, all: faultTitles('sms') },
    },
  }))

  mailRoutes(app, peers.inbox)

  app.post('/play', { schema: PLAY }, async (request, reply) => {
    const { channel, action, kind: name = '', to } = request.body as Play
    if (action === 'validate') return player.validate(channel)
    if (action === 'forge') return player.validate(channel, true)
    if (action === 'again') return (await player.again(channel)) ?? notFound(reply)
    const kind = findSampleKind(channel, name)
    return kind ? (await player.send(kind, to)).played : notFound(reply)
  })
  app.post('/fault', { schema: FAULT }, async (request, reply) => {
    const { channel, name } = request.body as { channel: Channel; name: string }
    const mail = channel === 'email' ? MAIL_FAULTS.get(name) : undefined
    const sms = channel === 'sms' ? SMS_FAULTS.get(name) : undefined
    if (mail) peers.inbox.setFault(mail.fault)
    else if (sms) peers.setSmsFault(sms.fault)
    else return notFound(reply)
    faults[channel] = name
    live.tell()
    return { channel, name }
  })
  app.post('/clear', async () => {
    peers.clear()
    player.clear()
    live.tell()
    return {}
  })

  return {
    async listen(port) {
      await app.listen({ host: '127.0.0.1', port })
      return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
    },
    changed: () => live.tell(),
    async close() {
      live.close()
      await app.close()
    },
  }
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

function mailRoutes(app: FastifyInstance, inbox: Inbox): void {
  const found = (params: unknown) => inbox.find(Number((params as { id: string }).id))
  app.get('/mail/:id', async (request, reply) => {
    const mail = found(request.params)
    return mail ? mailInFull(mail) : notFound(reply)
  })
  app.get('/mail/:id/html', async (request, reply) => {
    const mail = found(request.params)
    if (!mail) return notFound(reply)
    const { html, policy } = forReading(mail.html)
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
      .send(html)
  })
  app.get('/mail/:id/raw', async (request, reply) => {
    const mail = found(request.params)
    if (!mail) return notFound(reply)
    return reply
      .headers({
        'content-type': 'message/rfc822',
        'content-disposition': `attachment; filename="mail-${mail.id}.eml"`,
      })
      .send(mail.raw)
  })
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'no such thing' })
}
