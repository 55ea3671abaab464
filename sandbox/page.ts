import type { FastifyInstance } from 'fastify'
import type { Channel } from '../src/messages/message.ts'
import { countSegments } from '../src/messages/sms-segments.ts'
import type { CallbackSender } from './callback-sender.ts'
import type { ReceivedMail } from './carriers/stand-in.ts'
import { findSampleKind, SAMPLE_KINDS, SAMPLE_RECIPIENT } from './sample-callbacks.ts'
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

/**
 * Prepares a mail's HTML for a sandboxed frame: no script runs, nothing is fetched, and a link opens in a new tab. Only
 * a `<base>` is added to the mail.
 */
export function prepareMailForFrame(html: string): { readonly html: string; readonly policy: string } {
  const policy = [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src data:',
  ].join('; ')
  const base = '<base target="_blank">'
  const head = /<head\b[^>]*>/i.exec(html)
  if (!head) return { html: base + html, policy }
  const at = head.index + head[0].length
  return { html: html.slice(0, at) + base + html.slice(at), policy }
}

/** The addresses that a client or a person may want. */
export interface ConnectionDetails {
  readonly corpId: string
  /** The callback URLs and Tokens, as they would be entered in the platform's console. */
  readonly urls: Readonly<Record<Channel, string>>
  readonly tokens: Readonly<Record<Channel, string>>
  /** PEM file of the service's certificate, for clients that want to verify it. */
  readonly certFile: string
  readonly adminUrl: string
  /** Null when the service has none. */
  readonly consoleUrl: string | null
  readonly carriers: StandIns['addresses']
  /** The page of the emulated platform's devices; null without one. */
  readonly devicesUrl: string | null
}

export interface PageStateOptions {
  readonly standIns: Pick<StandIns, 'mails' | 'sms'>
  readonly callbackSender: CallbackSender
  readonly about: ConnectionDetails
  /** Lines of the service's log, newest last. */
  log(): readonly string[]
}

/** Gives the state that the page shows. A mail's parts are not in it: the page asks for each mail that it opens. */
export function createPageState(options: PageStateOptions) {
  const { standIns, callbackSender, about } = options
  return () => ({
    about,
    mails: standIns.mails().map(({ id, at, subject, to, text }) => ({
      id,
      at,
      subject,
      to,
      preview: text.replace(/\s+/g, ' ').trim().slice(0, 140),
    })),
    sms: standIns
      .sms()
      .slice(-200)
      .map(sms => ({ ...sms, ...countSegments(sms.body) })),
    callbacks: callbackSender.sent(),
    log: options.log().slice(-200),
  })
}

export function mailDetails({ raw, html, ...mail }: ReceivedMail) {
  return { ...mail, hasHtml: html !== '', bytes: raw.length, source: raw.toString('utf8') }
}
