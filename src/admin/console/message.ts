import type { MessageView } from '../../outbox/outbox.ts'
import { explainMessage } from '../explain.ts'
import { type Html, html } from './html.ts'
import { clockTime, moment, span } from './layout.ts'
import type { ConsoleOptions } from './options.ts'
import { type ConsolePage, LIVE_MS, notFound, type PageRequest, type PageResponse } from './page.ts'
import { stateBadge } from './state-badge.ts'

const PLACE = '/console/messages'
const PATH = `${PLACE}/:id`
const NOT_FOUND = notFound('There is no such message; it may have been pruned.', PLACE)

export const messagePages: readonly ConsolePage[] = [
  { method: 'GET', path: PATH, place: PLACE, handle: showMessage },
  { method: 'POST', path: PATH, place: PLACE, handle: actOnMessage },
]

async function showMessage({ params }: PageRequest, options: ConsoleOptions): Promise<PageResponse> {
  const row = await options.queries.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const liveMs = row.finalAt === null ? LIVE_MS : undefined
  return { is: 'page', title: 'Message', content: messageDetail(row, options.now()), liveMs }
}

async function actOnMessage(
  { operator, params, fields }: PageRequest,
  { queries, actions, emit, wake }: ConsoleOptions,
): Promise<PageResponse> {
  const row = await queries.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const { id, channel, kind } = row
  const action = fields['do']
  if (action === 'retry' && (await actions.retryMessage(id))) {
    wake(channel)
    emit({ type: 'operator-action', operator, action, channel, kind, ids: [id] })
  }
  if (action === 'cancel' && (await actions.cancelMessage(id))) {
    emit({ type: 'operator-action', operator, action, channel, kind, ids: [id] })
    emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
  }
  return { is: 'redirect', to: `${PLACE}/${id}` }
}

/** One message: its facts and every attempt. */
function messageDetail(row: MessageView, now: number): Html {
  const waits = row.state === 'queued'
  const { what, next } = explainMessage(row, now)
  return html`<section class="card"><p>${stateBadge(row.state)}${row.answer === null ? '' : ` (${row.answer})`} ${what}</p>
<p><strong>${next}</strong></p>
${waits ? html`<form class="row" method="post" action="/console/messages/${row.id}"><p><button class="main" name="do" value="retry">Try now</button> <button name="do" value="cancel">Cancel</button></p></form>` : ''}</section>
${timelineTable(row)}
<section class="card"><dl>
<dt>Recipient</dt><dd class="mono">${row.maskedRecipient}</dd>
<dt>Kind</dt><dd>${row.channel === 'email' ? 'E-mail' : 'SMS'}: ${row.kind}</dd>
<dt>Id</dt><dd class="mono">${row.id}</dd>
<dt>Provider’s id</dt><dd class="mono">${row.providerId ?? '–'}</dd>
<dt>Arrived</dt><dd>${moment(row.arrivedAt)}</dd>
<dt>Valid until</dt><dd>${moment(row.expiresAt)}</dd>
<dt>Next attempt</dt><dd>${row.dueAt === null ? '–' : html`${moment(row.dueAt)} <span class="soft">(${row.dueAt <= now ? 'now' : `in ${span(row.dueAt - now)}`})</span>`}</dd>
<dt>Ended</dt><dd>${row.finalAt === null ? '–' : html`${moment(row.finalAt)} <span class="soft">(after ${span(row.finalAt - row.arrivedAt)})</span>`}</dd>
<dt>Delivery report</dt><dd>${row.receipt === null ? 'none' : html`${row.receipt.status}${row.receipt.errorCode === null ? '' : ` (error ${row.receipt.errorCode})`} ${moment(row.receipt.at)}`}</dd>
<dt>Attempts</dt><dd>${row.attempts}, ${row.ambiguous} of them ambiguous</dd></dl></section>`
}

function timelineTable(row: MessageView): Html {
  return html`<section class="card"><table class="stack"><caption>Timeline</caption>
<thead><tr><th scope="col">When, UTC</th><th scope="col">Provider</th><th scope="col">Outcome</th><th scope="col">Code</th><th scope="col">Reply</th><th scope="col" class="n">Took</th></tr></thead>
<tbody>${
    row.timeline.length === 0
      ? html`<tr><td colspan="6">No attempt yet.</td></tr>`
      : row.timeline.map(
          each => html`<tr>
<td data-l="When" class="when">${clockTime(each.at)}</td><td data-l="Provider">${each.provider}</td><td data-l="Outcome">${each.outcome}</td><td data-l="Code" class="mono">${each.code}</td><td data-l="Reply">${each.reply}</td><td data-l="Took" class="n">${span(each.tookMs)}</td></tr>`,
        )
  }</tbody></table></section>`
}
