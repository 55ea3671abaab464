import type { Channel } from '../../messages/message.ts'
import { type Html, html } from './html.ts'

/** One message of the gallery. */
export interface Shown {
  readonly channel: Channel
  readonly kind: string
  readonly locale: string
  readonly subject?: string
  /** Mail: its HTML and its text; SMS: its text and how many segments it is. */
  readonly html?: string
  readonly text: string
  readonly segments?: number
}

const CHANNELS = [
  ['email', 'Mails'],
  ['sms', 'SMS'],
] as const

/** Every kind in every language, to be looked at. @param kinds each channel's, in the order of the gallery. */
export function wordsList(
  kinds: readonly { readonly channel: Channel; readonly name: string }[],
  locales: readonly string[],
  problems: readonly string[],
): Html {
  return html`${problems.length === 0 ? '' : html`<ul class="causes">${problems.map(problem => html`<li class="warn">${problem}; the last good one is used.</li>`)}</ul>`}
<p class="soft">Each as a reader gets it, with your name and colour, and with invented codes and links.</p>
<div class="cards">${CHANNELS.map(
    ([channel, title]) => html`<section class="card"><table class="stack"><caption>${title}</caption>
<tbody>${kinds
      .filter(kind => kind.channel === channel)
      .map(
        ({ name }) =>
          html`<tr><th scope="row">${name}</th><td>${languages(channel, name, locales)}</td></tr>`,
      )}</tbody></table></section>`,
  )}</div>`
}

/** One message, and the way to its other languages. */
export function wordsShown(shown: Shown, locales: readonly string[]): Html {
  const { channel, kind, locale, text } = shown
  const others = html`<nav aria-label="Languages">${languages(channel, kind, locales, locale)}</nav>`
  if (shown.html === undefined) {
    const segments = shown.segments ?? 1
    return html`<section class="card">${others}</section>
<section class="card sms"><h2>SMS</h2><p class="bubble" lang="${locale}" dir="auto">${text}</p><p class="soft small">billed as ${segments} segment${segments === 1 ? '' : 's'}</p></section>`
  }
  const src = `/console/templates/${channel}/${kind}/${locale}/mail`
  return html`<section class="card">${others}</section>
<section class="card"><h2 dir="auto" lang="${locale}">${shown.subject ?? ''}</h2><iframe src="${src}" sandbox="" title="The mail as a reader sees it"></iframe></section>
<section class="card"><h2>The same as text</h2><pre class="mono" dir="auto" lang="${locale}">${text}</pre></section>`
}

function languages(channel: Channel, kind: string, locales: readonly string[], current?: string): Html {
  return html`<ul class="chips">${locales.map(
    locale =>
      html`<li><a href="/console/templates/${channel}/${kind}/${locale}"${locale === current ? html` aria-current="page"` : ''} aria-label="${kind} in ${locale}">${locale}</a></li>`,
  )}</ul>`
}
