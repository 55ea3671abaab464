import {
  type AdminQueries,
  FINAL_STATES,
  LIVE_STATES,
  type ListFilter,
  type MessageView,
  type State,
} from '../../outbox/outbox.ts'
import { type Html, html } from './html.ts'
import { clockTime, moment, span, spoken } from './layout.ts'

const STATES: readonly State[] = [...LIVE_STATES, ...FINAL_STATES]
/** Rows of one page. */
const PAGE_ROWS = 50
/** More recipients than a callback may have (MAX_RECIPIENTS), and one row more. */
const MOST_AT_ONCE = 1001

const STATE_WORDS: Readonly<Record<State, string>> = {
  queued: 'waiting',
  sending: 'being sent',
  sent: 'sent',
  refused: 'refused',
  expired: 'expired',
  superseded: 'superseded',
  unknown: 'unknown',
}

function badge(state: State): Html {
  return html`<span class="state s-${state}">${STATE_WORDS[state]}</span>`
}

/** What a list page was asked for. */
export interface ListQuery {
  readonly channel?: string
  readonly state?: string
  readonly kind?: string
  readonly who?: string
  readonly before?: string
}

/** Reads a list's query; what is not one of the choices is left out. */
export function filterOf(query: ListQuery, kinds: readonly string[]): ListFilter {
  const { channel, state, kind, who, before } = query
  return {
    limit: PAGE_ROWS,
    ...(channel === 'email' || channel === 'sms' ? { channel } : {}),
    ...(STATES.includes(state as State) ? { state: state as State } : {}),
    ...(kind !== undefined && kinds.includes(kind) ? { kind } : {}),
    ...(who !== undefined && /^[\w-]{8,64}$/.test(who) ? { recipientHash: who } : {}),
    ...(before !== undefined && /^\d{1,15}$/.test(before) ? { before: Number(before) } : {}),
  }
}

/**
 * A page of messages, and whether there are older ones. The next page begins before the last row's arrival, and all
 * messages of one callback arrived at once: so a page ends between two callbacks, never within one.
 */
export async function pageOf(
  desk: Pick<AdminQueries, 'listMessages'>,
  filter: ListFilter,
): Promise<{ readonly rows: readonly MessageView[]; readonly more: boolean }> {
  const found = await desk.listMessages({ ...filter, limit: PAGE_ROWS + 1 })
  if (found.length <= PAGE_ROWS) return { rows: found, more: false }
  const edge = found[PAGE_ROWS]?.arrivedAt
  const rows = found.filter(row => row.arrivedAt !== edge)
  if (rows.length > 0) return { rows, more: true }
  // One callback fills the page: it is shown whole.
  const all = await desk.listMessages({ ...filter, limit: MOST_AT_ONCE })
  const last = all.findIndex(row => row.arrivedAt !== edge)
  return { rows: last < 0 ? all : all.slice(0, last), more: last >= 0 }
}

/** The list of messages, with its filters; the recipient is typed in full and leaves as a hash. */
export function messageList(
  rows: readonly MessageView[],
  more: boolean,
  filter: ListFilter,
  kinds: readonly string[],
  now: number,
): Html {
  const option = (value: string, name: string, current: string | undefined) =>
    html`<option value="${value}"${value === (current ?? '') ? html` selected` : ''}>${name}</option>`
  const last = rows.at(-1)
  const query = new URLSearchParams()
  if (filter.channel !== undefined) query.set('channel', filter.channel)
  if (filter.state !== undefined) query.set('state', filter.state)
  if (filter.kind !== undefined) query.set('kind', filter.kind)
  if (filter.recipientHash !== undefined) query.set('who', filter.recipientHash)
  const newest = query.toString()
  if (last !== undefined) query.set('before', String(last.arrivedAt))
  return html`<section class="card"><h2>Filter</h2>
<form class="row" method="post" action="/console/messages">
<label>Channel<select name="channel">${option('', 'all', filter.channel)}${option('email', 'E-mail', filter.channel)}${option('sms', 'SMS', filter.channel)}</select></label>
<label>State<select name="state">${option('', 'all', filter.state)}${STATES.map(state => option(state, STATE_WORDS[state], filter.state))}</select></label>
<label>Kind<select name="kind">${option('', 'all', filter.kind)}${kinds.map(kind => option(kind, kind, filter.kind))}</select></label>
<label>Recipient, in full<input name="recipient" autocomplete="off" spellcheck="false" placeholder="${filter.recipientHash === undefined ? 'name@example.com or +86…' : 'one recipient chosen'}"></label>
<button class="main">Show</button> <a href="/console/messages">All</a>
</form></section>
<section class="card"><table class="stack"><caption>${rows.length === 0 ? 'No message' : `${rows.length} message${rows.length === 1 ? '' : 's'}, newest first`}</caption>
<thead><tr><th scope="col">Arrived, UTC</th><th scope="col">Kind</th><th scope="col">Recipient</th><th scope="col">State</th><th scope="col" class="n">Attempts</th><th scope="col">Last reply</th><th scope="col" class="n">Took</th></tr></thead>
<tbody>${rows.map(
    row => html`<tr>
<td data-l="Arrived" class="when"><a href="/console/messages/${row.id}">${clockTime(row.arrivedAt)}</a></td>
<td data-l="Kind">${row.channel === 'email' ? 'E-mail' : 'SMS'}: ${row.kind}</td>
<td data-l="Recipient" class="mono">${row.maskedRecipient}</td>
<td data-l="State">${badge(row.state)}${receiptWord(row)}</td>
<td data-l="Attempts" class="n">${row.attempts}</td>
<td data-l="Last reply" class="small">${lastReply(row)}</td>
<td data-l="Took" class="n">${row.finalAt === null ? html`<span class="soft">${span(now - row.arrivedAt)} so far</span>` : span(row.finalAt - row.arrivedAt)}</td></tr>`,
  )}</tbody></table>
<div class="pager">${filter.before === undefined ? '' : html`<a href="/console/messages?${newest}">Newest</a>`}${more ? html`<a href="/console/messages?${query.toString()}">Older</a>` : ''}</div></section>`
}

function receiptWord({ receipt }: MessageView): Html | string {
  return receipt === null
    ? ''
    : html` <span class="small soft">${receipt.status}${receipt.errorCode === null ? '' : ` ${receipt.errorCode}`}</span>`
}

function lastReply({ timeline }: MessageView): string {
  const last = timeline.at(-1)
  return last === undefined ? '' : spoken(last).slice(0, 120)
}

/** One message: its facts and every attempt. */
export function messageDetail(row: MessageView, now: number): Html {
  const waits = row.state === 'queued'
  return html`<section class="card"><dl>
<dt>State</dt><dd>${badge(row.state)}${row.answer === null ? '' : ` (${row.answer})`}</dd>
<dt>Recipient</dt><dd class="mono">${row.maskedRecipient}</dd>
<dt>Kind</dt><dd>${row.channel === 'email' ? 'E-mail' : 'SMS'}: ${row.kind}</dd>
<dt>Id</dt><dd class="mono">${row.id}</dd>
<dt>Provider’s id</dt><dd class="mono">${row.providerId ?? '–'}</dd>
<dt>Arrived</dt><dd>${moment(row.arrivedAt)}</dd>
<dt>Valid until</dt><dd>${moment(row.expiresAt)}</dd>
<dt>Next attempt</dt><dd>${row.dueAt === null ? '–' : html`${moment(row.dueAt)} <span class="soft">(${row.dueAt <= now ? 'now' : `in ${span(row.dueAt - now)}`})</span>`}</dd>
<dt>Ended</dt><dd>${row.finalAt === null ? '–' : html`${moment(row.finalAt)} <span class="soft">(after ${span(row.finalAt - row.arrivedAt)})</span>`}</dd>
<dt>Delivery report</dt><dd>${row.receipt === null ? 'none' : html`${row.receipt.status}${row.receipt.errorCode === null ? '' : ` (error ${row.receipt.errorCode})`} ${moment(row.receipt.at)}`}</dd>
<dt>Attempts</dt><dd>${row.attempts}, ${row.ambiguous} of them ambiguous</dd></dl>
${waits ? html`<form class="row" method="post" action="/console/messages/${row.id}"><p><button class="main" name="do" value="retry">Try now</button> <button name="do" value="cancel">Cancel</button></p></form>` : ''}</section>
<section class="card"><table class="stack"><caption>Timeline</caption>
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
