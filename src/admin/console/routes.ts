import { parse } from 'node:querystring'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ChannelStatus } from '../../delivery/port.ts'
import type { Emit } from '../../events/events.ts'
import type { CallbackKind } from '../../messages/kind.ts'
import type { Channel } from '../../messages/message.ts'
import {
  type AdminQueries,
  type OperatorActions,
  StoreUnavailable,
  type Summary,
} from '../../outbox/outbox.ts'
import { CONSOLE_POLICY } from '../auth.ts'
import type { ServiceHealth } from '../service-health.ts'
import type { DevicesStanding } from './devices.ts'
import { type Html, html } from './html.ts'
import { frame, MAIL_POLICY, SCRIPT, STYLE } from './layout.ts'
import { filterOf, type ListQuery, messageDetail, messageList, pageOf } from './messages.ts'
import { overview } from './overview.ts'
import { sendPage, type TestResult, testBody } from './send.ts'
import { type Shown, wordsList, wordsShown } from './words.ts'

export interface ConsoleOptions {
  readonly desk: AdminQueries
  readonly actions: OperatorActions
  readonly health: ServiceHealth
  readonly lanes: () => readonly ChannelStatus[]
  readonly channels: readonly Channel[]
  readonly kinds: readonly CallbackKind[]
  readonly kindNames: readonly string[]
  /** Kinds whose words can be looked at. */
  readonly gallery: readonly { readonly channel: Channel; readonly name: string }[]
  readonly certificate: () => {
    readonly expiresAt: number
    readonly flaws: readonly string[]
    readonly chain: string
    readonly names: readonly string[]
  } | null
  /** Why the certificate's files are not what is served. */
  readonly renewalRefused: () => { readonly since: number; readonly reason: string } | null
  readonly templateProblems: () => readonly string[]
  readonly locales: () => readonly string[]
  readonly show: (channel: Channel, kind: string, locale: string) => Shown | null
  readonly urls: { readonly email?: string; readonly sms?: string }
  /** Finds the hash of a recipient that an operator typed; null: it is neither an address nor a number. */
  readonly recipientHash: (typed: string) => string | null
  readonly testSend: (
    channel: Channel,
    body: Record<string, unknown> & { to: string },
  ) => Promise<{ readonly err_code: number; readonly err_msg: string; readonly ids: readonly string[] }>
  /** Something was made due: the delivery loop should look. */
  readonly nudge: (channel: Channel) => void
  readonly emit: Emit
  readonly postSignature: string
  readonly requiredIsSafe: () => readonly Channel[]
  /** Channels whose Token or key is being replaced. */
  readonly rotating: readonly Channel[]
  /** How the data subscription does; null when there are no device alerts. */
  readonly devices: () => DevicesStanding | null
  readonly draining: () => boolean
  readonly startedAt: number
  /** ms since the epoch. */
  readonly now: () => number
}

const HOUR = 3_600_000
const LIVE_MS = 5000

/** The console: pages made here, that work without JavaScript. Who may see them is decided before they are reached. */
export async function consoleRoutes(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  const { desk, now, kinds, kindNames, emit } = options

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 8192 },
    (_request, body, done) => done(null, { ...parse(String(body), undefined, undefined, { maxKeys: 20 }) }),
  )
  app.addHook('onRequest', (_request, reply, next) => {
    reply.headers({
      'content-security-policy': CONSOLE_POLICY,
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    next()
  })

  const page = (reply: FastifyReply, title: string, place: string, content: Html, liveMs?: number) =>
    reply
      .type('text/html; charset=utf-8')
      .send(frame({ title, place, content, now: now(), ...(liveMs === undefined ? {} : { liveMs }) }))
  const notFound = (reply: FastifyReply, what: string, place: string) =>
    page(
      reply.code(404),
      'Not here',
      place,
      html`<section class="card"><p>${what}</p><p><a href="${place}">Back</a></p></section>`,
    )

  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    if (error instanceof StoreUnavailable) {
      return page(
        reply.code(503),
        'The store does not answer',
        '',
        html`<p>Look at its disk (space, permissions) or at the database, then at the log. This page works again when the store does.</p>`,
      )
    }
    const status = error.statusCode ?? 500
    return page(
      reply.code(status),
      status < 500 ? 'That cannot be read' : 'An unexpected fault',
      '',
      html`<p>${status < 500 ? 'The form was not one of this page’s.' : 'The log says more.'}</p>`,
    )
  })

  app.get('/console/style.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/console/live.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(SCRIPT))

  app.get('/console', async (_request, reply) => {
    const at = now()
    const [hour, day] = await Promise.all([
      look(desk, at - HOUR, 60_000),
      look(desk, at - 24 * HOUR, 15 * 60_000),
    ])
    const content = overview({
      now: at,
      hour,
      day,
      health: options.health,
      lanes: options.lanes(),
      channels: options.channels,
      certificate: options.certificate(),
      renewalRefused: options.renewalRefused(),
      templateProblems: options.templateProblems(),
      devices: options.devices(),
      draining: options.draining(),
      startedAt: options.startedAt,
      postSignature: options.postSignature,
      requiredIsSafe: options.requiredIsSafe(),
      rotating: options.rotating,
    })
    return page(reply, 'Overview', '/console', content, LIVE_MS)
  })

  app.get('/console/messages', async (request, reply) => {
    const filter = filterOf(request.query as ListQuery, kindNames)
    const { rows, more } = await pageOf(desk, filter)
    return page(
      reply,
      'Messages',
      '/console/messages',
      messageList(rows, more, filter, kindNames, now()),
      filter.before === undefined ? LIVE_MS : undefined,
    )
  })
  // The recipient is typed into a POST, so that it stands in no address bar, history or log; what follows is its hash.
  app.post('/console/messages', async (request, reply) => {
    const { recipient = '', ...rest } = fieldsOf(request.body)
    const filter = filterOf(rest, kindNames)
    const query = new URLSearchParams()
    for (const [name, value] of [
      ['channel', filter.channel],
      ['state', filter.state],
      ['kind', filter.kind],
    ] as const) {
      if (value !== undefined) query.set(name, value)
    }
    if (recipient.trim() !== '') {
      const hash = options.recipientHash(recipient.trim())
      if (hash === null)
        return notFound(
          reply,
          'That is neither a mail address nor a phone number in full (+86…).',
          '/console/messages',
        )
      query.set('who', hash)
    }
    return reply.redirect(`/console/messages?${query.toString()}`, 303)
  })

  app.get('/console/messages/:id', async (request, reply) => {
    const row = await desk.findMessage(idOf(request.params))
    if (row === null)
      return notFound(reply, 'There is no such message; it may have been pruned.', '/console/messages')
    return page(
      reply,
      'Message',
      '/console/messages',
      messageDetail(row, now()),
      row.finalAt === null ? LIVE_MS : undefined,
    )
  })
  app.post('/console/messages/:id', async (request, reply) => {
    const id = idOf(request.params)
    const row = await desk.findMessage(id)
    if (row === null)
      return notFound(reply, 'There is no such message; it may have been pruned.', '/console/messages')
    const act = fieldsOf(request.body)['do']
    const { channel, kind } = row
    if (act === 'retry' && (await options.actions.retryMessage(id))) {
      options.nudge(channel)
      emit({ type: 'operator-action', action: act, channel, kind, ids: [id] })
    }
    if (act === 'cancel' && (await options.actions.cancelMessage(id))) {
      emit({ type: 'operator-action', action: act, channel, kind, ids: [id] })
      emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
    }
    return reply.redirect(`/console/messages/${id}`, 303)
  })

  app.get('/console/templates', (_request, reply) =>
    page(
      reply,
      'Words',
      '/console/templates',
      wordsList(options.gallery, options.locales(), options.templateProblems()),
    ),
  )
  app.get('/console/templates/:channel/:kind/:locale', (request, reply) => {
    const shown = shownOf(options, request.params)
    if (shown === null) return notFound(reply, 'There are no such words.', '/console/templates')
    return page(
      reply,
      `${shown.kind}, ${shown.locale}`,
      '/console/templates',
      wordsShown(shown, options.locales()),
    )
  })
  app.get('/console/templates/:channel/:kind/:locale/mail', (request, reply) => {
    const shown = shownOf(options, request.params)
    if (shown?.html === undefined) return notFound(reply, 'There is no such mail.', '/console/templates')
    return reply
      .header('content-security-policy', MAIL_POLICY)
      .type('text/html; charset=utf-8')
      .send(shown.html)
  })

  app.get('/console/send', (_request, reply) =>
    page(reply, 'Test send', '/console/send', sendPage(sendable(), null, null)),
  )
  app.post('/console/send', async (request, reply) => {
    const { kind: chosen, to = '' } = fieldsOf(request.body)
    const kind = sendable().find(each => `${each.channel}/${each.name}` === chosen)
    if (kind === undefined || to.trim() === '' || to.includes(',')) {
      return page(
        reply.code(400),
        'Test send',
        '/console/send',
        sendPage(sendable(), null, 'Choose a kind and type one recipient.'),
      )
    }
    const result: TestResult = {
      kind: kind.name,
      ...(await options.testSend(kind.channel, testBody(kind, to.trim(), now()))),
    }
    emit({
      type: 'operator-action',
      action: 'test-send',
      channel: kind.channel,
      kind: kind.name,
      ids: result.ids,
    })
    return page(reply, 'Test send', '/console/send', sendPage(sendable(), result, null))
  })
  const sendable = () => kinds.filter(kind => options.channels.includes(kind.channel))

  app.get('/', (_request, reply) => reply.redirect('/console', 302))
  app.get('/console/*', (_request, reply) => notFound(reply, 'There is no such page.', '/console'))

  app.get('/console/urls', (_request, reply) =>
    page(
      reply,
      'URLs',
      '/console/urls',
      html`<section class="card"><p>Paste each into the platform’s console with that channel’s Token, press “validate”, save. Whoever knows a URL can send in your name: treat it as a password.</p>
${options.channels.map(channel => html`<details><summary>Show the ${channel === 'email' ? 'e-mail' : 'SMS'} URL</summary><p><code>${options.urls[channel] ?? ''}</code></p></details>`)}</section>`,
    ),
  )
}

async function look(desk: AdminQueries, since: number, stepMs: number): Promise<Summary | null> {
  try {
    return await desk.readSummary(since, stepMs)
  } catch (error) {
    if (error instanceof StoreUnavailable) return null
    throw error
  }
}

function shownOf(options: ConsoleOptions, params: unknown): Shown | null {
  const { channel, kind, locale } = params as { channel: string; kind: string; locale: string }
  if (channel !== 'email' && channel !== 'sms') return null
  return options.show(channel, kind, locale)
}

function idOf(params: unknown): string {
  return (params as { id: string }).id
}

function fieldsOf(body: unknown): Record<string, string> {
  if (typeof body !== 'object' || body === null) return {}
  return Object.fromEntries(
    Object.entries(body).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
