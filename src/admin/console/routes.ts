import { readFileSync } from 'node:fs'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { UNNAMED } from '../../config/config.ts'
import { languageOfBrowser } from '../../language/choose.ts'
import { type Sentence, say, tell } from '../../language/sentence.ts'
import { failureOf } from '../failure.ts'
import { type Html, html, type Page, renderPage } from './html.ts'
import { messagePages } from './messages.ts'
import { overviewPages } from './overview.ts'
import { type ConsoleOptions, type ConsolePage, type Fields, notFound, type PageResponse } from './page.ts'
import { sendPages } from './send.ts'
import { todayPages } from './today.ts'
import { wordsPages } from './words.ts'

const urlsPages: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/console/urls',
    menu: say('URLs'),
    handle({ operator }, { view: { channels }, urls, reportUrls }) {
      if (operator === UNNAMED.nobody)
        return {
          is: 'page',
          status: 403,
          content: html`<section class="card"><p>${say('Without a password every user of this machine could read them here: set ADMIN_TOKENS, or run “callback-courier urls”.')}</p></section>`,
        }
      return {
        is: 'page',
        content: html`<section class="card"><p>${say('Paste each into the platform’s console with that channel’s Token, press “validate”, save. Whoever knows a URL can send in your name: treat it as a password.')}</p>
${channels.map(channel => copyable(say(channel === 'email' ? 'Show the e-mail URL' : 'Show the SMS URL'), urls[channel] ?? ''))}
${reportUrls.map(({ carrier, url }) => copyable(say('Delivery reports of {carrier}: enter this URL in its console', { carrier }), url))}
${urls.bounces === undefined ? '' : copyable(say('Mails that came back: let your mail server hand them over; docs/bounces.md says how, and about BOUNCE_IMAP_URL'), urls.bounces)}</section>`,
      }
    },
  },
]

function copyable(title: Sentence, url: string): Html {
  return html`<details><summary>${title}</summary><p class="copyable"><code>${url}</code> <button type="button" data-copied="${say('Copied')}" hidden>${say('Copy')}</button></p></details>`
}

/** The files that every page of the console loads. */
const layoutFiles: readonly ConsolePage[] = [
  layoutFile('style.css', 'text/css'),
  layoutFile('time.js', 'text/javascript'),
  layoutFile('live.js', 'text/javascript'),
  layoutFile('copy.js', 'text/javascript'),
]

const elsewhere: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/',
    handle: () => ({ is: 'redirect', to: '/console', status: 302 }),
  },
  {
    method: 'GET',
    path: '/console/*',
    handle: () => notFound(say('There is no such page.'), '/console'),
  },
]

/** Every page of the console, those of the menu in its order. */
const PAGES: readonly ConsolePage[] = [
  ...overviewPages,
  ...messagePages,
  ...todayPages,
  ...wordsPages,
  ...sendPages,
  ...urlsPages,
  ...layoutFiles,
  ...elsewhere,
]

/** Octets of a form. */
const FORM_LIMIT = 8192
const MENU = PAGES.flatMap(({ path, menu }) => (menu === undefined ? [] : [{ path, name: menu }]))

/** Serves the console: pages made here, that work without JavaScript. The guard has let the caller in before. */
export async function consoleRoutes(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  app.removeAllContentTypeParsers()
  await app.register(formbody, { bodyLimit: FORM_LIMIT })
  app.addHook('onRequest', (_request, reply, next) => {
    reply.header('vary', 'accept-language')
    next()
  })
  const sendPage = (reply: FastifyReply, page: Pick<Page, 'title' | 'place' | 'content' | 'liveMs'>) => {
    const language = languageOfBrowser(reply.request.headers['accept-language'])
    return reply
      .type('text/html; charset=utf-8')
      .header('content-language', language)
      .send(renderPage({ ...page, menu: MENU, now: options.view.now() }, language))
  }
  const send = (reply: FastifyReply, path: string, response: PageResponse) => {
    if (response.is === 'redirect') return reply.redirect(response.to, response.status ?? 303)
    if (response.is === 'page') {
      const { path: place = '', name = '' } = MENU.findLast(each => path.startsWith(each.path)) ?? {}
      return sendPage(reply.code(response.status ?? 200), { title: name, ...response, place })
    }
    if (response.policy !== undefined) reply.header('content-security-policy', response.policy)
    return reply.type(response.type).send(response.body)
  }

  app.setErrorHandler((error: Error, _request, reply) => {
    const { status, message } = failureOf(error)
    const title = say('This page cannot be shown')
    return sendPage(reply.code(status), { title, place: '', content: html`<p>${tell(message)}</p>` })
  })
  for (const { method, path, handle } of PAGES) {
    app.route({
      method,
      url: path,
      handler: async (request, reply) => {
        const { operator, params, query, body } = request
        const asked = {
          operator,
          params: fieldsOf(params),
          query: fieldsOf(query),
          fields: fieldsOf(body),
        }
        return send(reply, path, await handle(asked, options))
      },
    })
  }
}

/** Takes the fields of a parsed form, query or path that are one string each. */
function fieldsOf(parsed: unknown): Fields {
  if (typeof parsed !== 'object' || parsed === null) return {}
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

function layoutFile(name: string, type: string): ConsolePage {
  const body = readFileSync(new URL(name, import.meta.url), 'utf8')
  return {
    method: 'GET',
    path: `/console/${name}`,
    handle: () => ({ is: 'file', type: `${type}; charset=utf-8`, body }),
  }
}
