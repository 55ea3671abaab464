import { randomInt } from 'node:crypto'
import type { CallbackKind } from '../../messages/kind.ts'
import { type Html, html } from './html.ts'

/** What a test send answered. */
export interface TestResult {
  readonly kind: string
  readonly err_code: number
  readonly err_msg: string
  readonly ids: readonly string[]
}

/** The body that the platform would post for a kind, with a code of its own and a subject that says it is a test. */
export function testBody(
  kind: CallbackKind,
  to: string,
  now: number,
): Record<string, unknown> & { to: string } {
  const code = String(randomInt(100_000, 1_000_000))
  const params = {
    ...kind.sample.params,
    ...(kind.sample.params['code'] === undefined ? {} : { code }),
    type: kind.type,
  }
  if (kind.channel === 'sms') return { to, sms_param: params }
  const at = new Date(now).toISOString().slice(11, 19)
  return { to, subject: `Test ${at}: ${kind.sample.subject ?? kind.name}`, email_param: params }
}

/** The form of a test send, and what the last one came to. */
export function sendPage(
  kinds: readonly CallbackKind[],
  result: TestResult | null,
  problem: string | null,
): Html {
  return html`${problem === null ? '' : html`<ul class="causes"><li class="warn">${problem}</li></ul>`}${result === null ? '' : resultLine(result)}
<section class="card"><p>Sends one real message by the road of every other: words, store, provider. An SMS costs money; quotas count it.</p>
<form class="row" method="post" action="/console/send">
<label>Kind<select name="kind" required>${kinds.map(kind => html`<option value="${kind.channel}/${kind.name}">${kind.channel === 'email' ? 'E-mail' : 'SMS'}: ${kind.name}</option>`)}</select></label>
<label>To<input name="to" required autocomplete="off" spellcheck="false" placeholder="name@example.com or +86…" size="34"></label>
<button class="main">Send it</button></form></section>`
}

function resultLine({ kind, err_code, err_msg, ids }: TestResult): Html {
  const good = err_code === 0
  return html`<ul class="causes" aria-live="polite"><li class="${good ? 'ok' : 'fail'}">${kind}: ${good ? 'accepted' : `err_code ${err_code}`}${err_msg === '' ? '' : `, ${err_msg}`}. ${ids.map(id => html`<a href="/console/messages/${id}">See what became of it</a> `)}</li></ul>`
}
