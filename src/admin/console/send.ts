import { randomInt } from 'node:crypto'
import { readTypedRecipient } from '../../callback/recipients.ts'
import { quote, type ReaderLanguage, say, term } from '../../language/sentence.ts'
import { type CallbackKind, callbackKinds } from '../../messages/kinds.ts'
import { sampleIn } from '../../messages/samples.ts'
import { nameKind } from './figures.ts'
import { type Html, html } from './html.ts'
import type { ConsoleOptions, ConsolePage, PageRequest, PageResponse, TestAnswer } from './page.ts'

const PLACE = '/console/send'

export const sendPages: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: PLACE,
    menu: say('Test send'),
    handle: (_request, options) => sendPage(options, html``),
  },
  { method: 'POST', path: PLACE, handle: sendTest },
]

function sendableKinds({ view }: ConsoleOptions): readonly CallbackKind[] {
  return callbackKinds.filter(kind => view.channels.includes(kind.channel))
}

async function sendTest({ operator, fields }: PageRequest, options: ConsoleOptions): Promise<PageResponse> {
  const { kind: chosen } = fields
  const to = readTypedRecipient(fields['to'] ?? '')
  const kind = sendableKinds(options).find(each => `${each.channel}/${each.name}` === chosen)
  if (kind === undefined || to === '' || to.includes(',')) {
    const problem = html`<ul class="causes"><li class="warn">${say('Choose a kind and type one recipient.')}</li></ul>`
    return { ...sendPage(options, problem), status: 400 }
  }
  const { channel, name } = kind
  const answer = await options.testSend(
    channel,
    testBody(kind, to, options.view.now(), options.sampleLanguage),
  )
  const { ids } = answer
  options.emit({ type: 'operator', operator, did: 'test-send', channel, kind: name, ids })
  return sendPage(options, resultLine(name, answer))
}

/** The body that the platform would post for a kind, with the samples of a language, a code of its own and a subject that says it is a test. */
export function testBody(
  kind: CallbackKind,
  to: string,
  now: number,
  language: ReaderLanguage,
): Record<string, unknown> & { to: string } {
  const code = String(randomInt(100_000, 1_000_000))
  const sample = sampleIn(language, kind)
  const params = { ...sample.params, ...(sample.params['code'] && { code }), type: kind.type }
  if (kind.channel === 'sms') return { to, sms_param: params }
  const at = new Date(now).toTimeString().slice(0, 8)
  const subject = say('Test {at}: {subject}', { at, subject: sample.subject ?? kind.name }).in(language)
  return { to, subject, email_param: params }
}

/** The form of a test send. @param news of the last one. */
function sendPage(options: ConsoleOptions, news: Html) {
  const kinds = sendableKinds(options)
  const content = html`${news}
<section class="card"><p>${say('Sends one real message by the road of every other: words, store, provider. An SMS costs money; quotas count it.')}</p>
<form class="row" method="post" action="/console/send">
<label>${say('Kind')}<select name="kind" required>${kinds.map(kind => html`<option value="${kind.channel}/${kind.name}">${nameKind({ channel: kind.channel, kind: kind.name })}</option>`)}</select></label>
<label>${say('To')}<input name="to" required autocomplete="off" spellcheck="false" placeholder="${say('name@example.com or +86…')}" size="34"></label>
<button class="main">${say('Send it')}</button></form></section>`
  return { is: 'page', content } as const
}

function resultLine(kind: string, { err_code, err_msg, ids }: TestAnswer): Html {
  const good = err_code === 0
  const is = good ? say('accepted') : `err_code ${err_code}`
  const what = err_msg === '' ? is : say('{is}, {why}', { is, why: quote(err_msg, String(err_code)) })
  return html`<ul class="causes" aria-live="polite"><li class="${good ? 'ok' : 'fail'}">${say('{about}: {what}', { about: term(kind), what })} ${ids.map(id => html`<a href="/console/messages/${id}">${say('See what became of it')}</a> `)}</li></ul>`
}
