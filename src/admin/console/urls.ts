import { say } from '../../language/sentence.ts'
import { html } from './html.ts'
import type { ConsolePage } from './page.ts'

export const urlsPages: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/console/urls',
    place: '/console/urls',
    menu: say('URLs'),
    handle: (_request, { channels, urls }) => ({
      is: 'page',
      title: say('URLs'),
      content: html`<section class="card"><p>${say('Paste each into the platform’s console with that channel’s Token, press “validate”, save. Whoever knows a URL can send in your name: treat it as a password.')}</p>
${channels.map(channel => html`<details><summary>${say(channel === 'email' ? 'Show the e-mail URL' : 'Show the SMS URL')}</summary><p class="copyable"><code>${urls[channel] ?? ''}</code> <button type="button" data-copied="${say('Copied')}" hidden>${say('Copy')}</button></p></details>`)}</section>`,
    }),
  },
]
