import { type Sentence, say, translateText } from '../../language/sentence.ts'
import type { MessageView } from '../../outbox/outbox.ts'
import { type AttemptGate, explainMessage, nextAttempt } from '../explain.ts'
import { nameKind } from './figures.ts'
import { type Html, html } from './html.ts'
import { clockTime, formatDuration, timeElement } from './layout.ts'
import type { ConsoleOptions } from './options.ts'
import { type ConsolePage, LIVE_MS, notFound, type PageRequest, type PageResponse } from './page.ts'
import { stateBadge } from './state-badge.ts'

const PLACE = '/console/messages'
const PATH = `${PLACE}/:id`
const NOT_FOUND = notFound(say('There is no such message; it may have been pruned.'), PLACE)

export const messagePages: readonly ConsolePage[] = [
  { method: 'GET', path: PATH, place: PLACE, handle: showMessage },
  { method: 'POST', path: PATH, place: PLACE, handle: actOnMessage },
]

async function showMessage({ params }: PageRequest, options: ConsoleOptions): Promise<PageResponse> {
  const row = await options.status.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const liveMs = row.finalAt === null ? LIVE_MS : undefined
  return {
    is: 'page',
    title: say('Message'),
    content: messageDetail(row, options.status.providers(), options.now()),
    liveMs,
  }
}

async function actOnMessage(
  { operator, params, fields }: PageRequest,
  { status, actions, emit, tryNow }: ConsoleOptions,
): Promise<PageResponse> {
  const row = await status.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const { id, channel, kind } = row
  const action = fields['do']
  if (action === 'retry' && (await actions.retryMessage(id))) {
    tryNow(channel)
    emit({ type: 'operator-action', operator, action, channel, kind, ids: [id] })
  }
  if (action === 'cancel' && (await actions.cancelMessage(id))) {
    emit({ type: 'operator-action', operator, action, channel, kind, ids: [id] })
    emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
  }
  return { is: 'redirect', to: `${PLACE}/${id}` }
}

const ANSWERS: Readonly<Record<NonNullable<MessageView['answer']>, Sentence>> = {
  recipient: say('recipient'),
  content: say('content'),
  country: say('country'),
  limit: say('limit'),
}

/** Renders one message: its facts and every attempt. */
function messageDetail(row: MessageView, providers: readonly AttemptGate[], now: number): Html {
  const waits = row.state === 'queued'
  const { what, next } = explainMessage(row, providers, now)
  return html`<section class="card"><p>${stateBadge(row.state)}${row.answer === null ? '' : say(' ({why})', { why: ANSWERS[row.answer] })} ${what}</p>
<p><strong>${next}</strong></p>
${waits ? html`<form class="row" method="post" action="/console/messages/${row.id}"><button class="main" name="do" value="retry">${say('Try now')}</button><button name="do" value="cancel">${say('Cancel')}</button></form>` : ''}</section>
${timelineTable(row)}
<section class="card"><dl>
<dt>${say('Recipient')}</dt><dd class="mono">${row.maskedRecipient}</dd>
<dt>${say('Kind')}</dt><dd>${nameKind(row)}</dd>
<dt>${say('Id')}</dt><dd class="mono">${row.id}</dd>
<dt>${say('Provider’s id')}</dt><dd class="mono">${row.providerId ?? '–'}</dd>
<dt>${say('Arrived')}</dt><dd>${timeElement(row.arrivedAt)}</dd>
<dt>${say('Valid until')}</dt><dd>${timeElement(row.expiresAt)}</dd>
<dt>${say('Next attempt')}</dt><dd>${row.dueAt === null ? '–' : dueText(row, providers, now)}</dd>
<dt>${say('Ended')}</dt><dd>${row.finalAt === null ? '–' : html`${timeElement(row.finalAt)} <span class="soft">${say('after {time}', { time: formatDuration(row.finalAt - row.arrivedAt) })}</span>`}</dd>
<dt>${say('Delivery report')}</dt><dd>${row.receipt === null ? say('none') : html`${translateText(row.receipt.status)}${row.receipt.errorCode === null ? '' : say(' (error {code})', { code: row.receipt.errorCode })} ${timeElement(row.receipt.at)}`}</dd>
<dt>${say('Attempts')}</dt><dd>${say('{attempts}, {ambiguous} of them ambiguous', { attempts: row.attempts, ambiguous: row.ambiguous })}</dd></dl></section>`
}

/** A message that is due has no time of its own: it is tried when its turn comes. */
function dueText(row: MessageView, providers: readonly AttemptGate[], now: number): Html {
  const { at, due } = nextAttempt(row, providers, now)
  return at === null ? html`${due}` : html`${timeElement(at)} <span class="soft">${due}</span>`
}

function timelineTable(row: MessageView): Html {
  return html`<section class="card"><table class="stack"><caption>${say('Timeline')}</caption>
<thead><tr><th scope="col">${say('When, UTC')}</th><th scope="col">${say('Provider')}</th><th scope="col">${say('Outcome')}</th><th scope="col">${say('Code')}</th><th scope="col">${say('Reply')}</th><th scope="col" class="n">${say('Took')}</th></tr></thead>
<tbody>${
    row.timeline.length === 0
      ? html`<tr><td colspan="6">${say('No attempt yet.')}</td></tr>`
      : row.timeline.map(
          each => html`<tr>
<td data-l="${say('When')}" class="whole">${clockTime(each.at)}</td><td data-l="${say('Provider')}">${each.provider}</td><td data-l="${say('Outcome')}">${translateText(each.outcome)}</td><td data-l="${say('Code')}" class="mono whole">${each.code}</td><td data-l="${say('Reply')}">${translateText(each.reply)}</td><td data-l="${say('Took')}" class="n">${formatDuration(each.tookMs)}</td></tr>`,
        )
  }</tbody></table></section>`
}
