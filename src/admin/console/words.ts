import { say, tell, term, type Words } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import { samples } from '../../messages/samples.ts'
import { type Preview, renderPreview } from '../../words/preview.ts'
import type { Renderer } from '../../words/render.ts'
import { type Html, html } from './html.ts'
import { type ConsoleOptions, type ConsolePage, notFound, type PageRequest } from './page.ts'

const PLACE = '/console/templates'
const PATH = `${PLACE}/:channel/:kind/:locale`

/** A mail in a frame has its own inline styles, no script, nothing loaded from anywhere, no way out. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox"

export const wordsPages: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: PLACE,
    menu: say('Words'),
    handle: (_request, { view, renderer }) => ({
      is: 'page',
      content: wordsList(renderer, view.templateProblems()),
    }),
  },
  {
    method: 'GET',
    path: PATH,
    handle(request, options) {
      const preview = previewOf(request, options)
      if (preview === null) return notFound(say('There are no such words.'), PLACE)
      const { kind, locale } = preview
      return {
        is: 'page',
        title: say('{kind} in {locale}', { kind: term(kind), locale }),
        content: wordsDetail(preview, options.renderer.locales),
      }
    },
  },
  {
    method: 'GET',
    path: `${PATH}/mail`,
    handle(request, options) {
      const preview = previewOf(request, options)
      if (preview?.channel !== 'email') return notFound(say('There is no such mail.'), PLACE)
      return { is: 'file', type: 'text/html; charset=utf-8', body: preview.mail.html, policy: MAIL_POLICY }
    },
  },
]

function previewOf({ params }: PageRequest, { renderer }: ConsoleOptions): Preview | null {
  const { channel, kind = '', locale = '' } = params
  if ((channel !== 'email' && channel !== 'sms') || !renderer.locales.includes(locale)) return null
  return renderPreview(renderer, channel, kind, locale)
}

const CHANNELS = [
  ['email', say('Mails')],
  ['sms', say('SMS')],
] as const

/** Renders the list of every kind in every language. */
function wordsList({ locales }: Renderer, problems: readonly Words[]): Html {
  return html`${problems.length === 0 ? '' : html`<ul class="causes">${problems.map(problem => html`<li class="warn">${say('{problem}; the last good one is used.', { problem: tell(problem) })}</li>`)}</ul>`}
<p class="soft">${say('Each as a reader gets it, with your name and colour, and with invented codes and links.')}</p>
<div class="cards">${CHANNELS.map(
    ([channel, title]) => html`<section class="card"><table class="stack"><caption>${title}</caption>
<tbody>${samples
      .filter(kind => kind.channel === channel)
      .map(
        ({ name }) =>
          html`<tr><th scope="row">${term(name)}</th><td>${languages(channel, name, locales)}</td></tr>`,
      )}</tbody></table></section>`,
  )}</div>`
}

/** Renders one message, and links to it in the other languages. */
function wordsDetail(preview: Preview, locales: readonly string[]): Html {
  const { channel, kind, locale } = preview
  const others = html`<nav aria-label="${say('Languages')}">${languages(channel, kind, locales, locale)}</nav>`
  if (preview.channel === 'sms') {
    const { segments } = preview.size
    return html`<section class="card">${others}</section>
<section class="card sms"><h2>${say('SMS')}</h2><p class="bubble" lang="${locale}" dir="auto">${preview.text}</p><p class="soft small">${segments === 1 ? say('billed as 1 segment') : say('billed as {n} segments', { n: segments })}</p></section>`
  }
  const { subject, text } = preview.mail
  const src = `/console/templates/${channel}/${kind}/${locale}/mail`
  return html`<section class="card">${others}</section>
<section class="card"><h2 dir="auto" lang="${locale}">${subject}</h2><iframe src="${src}" sandbox="" title="${say('The mail as a reader sees it')}"></iframe></section>
<section class="card"><h2>${say('The same as text')}</h2><pre class="mono" dir="auto" lang="${locale}">${text}</pre></section>`
}

function languages(channel: Channel, kind: string, locales: readonly string[], current?: string): Html {
  return html`<ul class="chips">${locales.map(
    locale =>
      html`<li><a href="/console/templates/${channel}/${kind}/${locale}"${locale === current ? html` aria-current="page"` : ''} aria-label="${say('{kind} in {locale}', { kind: term(kind), locale })}">${locale}</a></li>`,
  )}</ul>`
}
