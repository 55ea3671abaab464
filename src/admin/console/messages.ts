import type { EventOf } from '../../events/events.ts'
import { type Sentence, say, tellAll, term, unpackWords } from '../../language/sentence.ts'
import { messageKinds, PLAIN_KIND } from '../../messages/kinds.ts'
import { FINAL_STATES, LIVE_STATES, type MessageView } from '../../outbox/outbox.ts'
import { explainAbsence, explainMessage, nextAttempt } from '../explain.ts'
import { DAY } from '../facts.ts'
import type { ChannelCalls, MessagePage, ProviderView, Question } from '../status/status.ts'
import { listProviders, readCalls, readPage } from '../status/status.ts'
import { CHANNEL_NAMES, nameKind, STATE_WORDS, stateBadge } from './figures.ts'
import { clockTime, describeRecord, formatDuration, type Html, html, timeElement } from './html.ts'
import type { ConsoleOptions, ConsolePage, Fields, PageRequest, PageResponse } from './page.ts'
import { LIVE_MS, notFound } from './page.ts'

const PLACE = '/console/messages'
const PATH = `${PLACE}/:id`
const NOT_FOUND = notFound(say('There is no such message; it may have been pruned.'), PLACE)

/** So many messages of a list are counted at most: each is read for it, in some hundredths of a millisecond. */
const MOST_COUNTED = 500

const STATES = [...LIVE_STATES, ...FINAL_STATES, 'undelivered'] as const

const KINDS: readonly string[] = [...new Set([...messageKinds.map(({ name }) => name), PLAIN_KIND])]

/** Days are those of the reader's zone: `zone` is how many minutes it is west of UTC, as browsers say it. */
interface Filter extends Omit<Question, 'since'> {
  readonly from?: string
  readonly to?: string
  readonly zone?: number
}

export const messagePages: readonly ConsolePage[] = [
  { method: 'GET', path: PLACE, menu: say('Messages'), handle: showMessages },
  // The recipient is typed into a POST, so that it stands in no address bar, history or log; what follows is its hash.
  { method: 'POST', path: PLACE, handle: chooseFilter },
  { method: 'GET', path: PATH, handle: showMessage },
  { method: 'POST', path: PATH, handle: actOnMessage },
]

async function showMessages({ query }: PageRequest, { view }: ConsoleOptions): Promise<PageResponse> {
  const filter = filterOf(query)
  // The first page says how many there are.
  const page = await readPage(
    view,
    rangeOf(filter),
    filter.before === undefined ? MOST_COUNTED + 1 : undefined,
  )
  const nobody = filter.recipientHash !== undefined && page.messages.length === 0
  const content = html`${unknownFilters(query, filter)}${nobody ? absence(await readCalls(view)) : ''}${messageList(page, filter, view.now())}`
  return { is: 'page', content, liveMs: filter.before === undefined ? LIVE_MS : undefined }
}

function chooseFilter({ fields }: PageRequest, { hashOf }: ConsoleOptions): PageResponse {
  const { recipient = '', ...rest } = fields
  const recipientHash = recipient.trim() === '' ? undefined : hashOf(recipient)
  if (recipientHash === null)
    return notFound(say('That is neither a mail address nor a phone number in full (+86…).'), PLACE)
  return {
    is: 'redirect',
    to: `${PLACE}?${queryOf({ ...filterOf(rest), ...(recipientHash && { recipientHash }) }).toString()}`,
  }
}

function queryOf({ before: _page, recipientHash: who, ...filter }: Filter): URLSearchParams {
  const given = Object.entries({ ...filter, who }).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
}

/** Reads a list's query; what is not one of the choices is left out. */
function filterOf(query: Fields): Filter {
  const { channel, state, kind, from = '', to = '', zone = '', who, before } = query
  return {
    ...(channel === 'email' || channel === 'sms' ? { channel } : {}),
    ...(isState(state) ? { state } : {}),
    ...(kind !== undefined && KINDS.includes(kind) ? { kind } : {}),
    ...(isDay(from) ? { from } : {}),
    ...(isDay(to) ? { to } : {}),
    ...((isDay(from) || isDay(to)) && /^-?\d{1,4}$/.test(zone) ? { zone: Number(zone) } : {}),
    ...(who !== undefined && /^[\w-]{8,64}$/.test(who) ? { recipientHash: who } : {}),
    ...(before !== undefined && /^\d{1,15}$/.test(before) ? { before: Number(before) } : {}),
  }
}

function isState(text: string | undefined): text is (typeof STATES)[number] {
  return (STATES as readonly (string | undefined)[]).includes(text)
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))
}

/** What a list has to be read by. */
function rangeOf({ from, to, zone = 0, before = Infinity, ...filter }: Filter): Question {
  const startOf = (day: string) => Date.parse(day) + zone * 60_000
  const end = Math.min(before, to === undefined ? Infinity : startOf(to) + DAY)
  return {
    ...filter,
    ...(from === undefined ? {} : { since: startOf(from) }),
    ...(end === Infinity ? {} : { before: end }),
  }
}

/** Says which filters of an address are none, and so were left out: the list would look like an answer to them. */
function unknownFilters(query: Fields, filter: Filter): Html | string {
  const known = (name: string) => Object.hasOwn(filter, name === 'who' ? 'recipientHash' : name)
  const unknown = Object.keys(query).filter(name => query[name] !== '' && !known(name))
  if (unknown.length === 0) return ''
  return html`<ul class="causes"><li class="warn"><strong>${say('Look:')}</strong> ${say('This list is not filtered by {names}: the address has no value there that is known.', { names: unknown.join(', ') })}</li></ul>`
}

/** The page when there is no message to a recipient. */
function absence(calls: readonly ChannelCalls[]): Html {
  return html`<section class="card"><h2>${say('No message to this recipient')}</h2>
<p>${say('The platform did not ask for one, or the callback was refused. The log has each refusal with its reason: events callback, stray, over-quota.')}</p>
<dl>${calls.map(seen => html`<dt>${CHANNEL_NAMES[seen.channel]}</dt><dd>${tellAll(explainAbsence(seen))}</dd>`)}</dl></section>`
}

/** The list of messages, with its filters; the recipient is typed in full and leaves as a hash. */
function messageList(
  { messages: rows, before, found, lookedFrom }: MessagePage,
  filter: Filter,
  now: number,
): Html {
  const option = (value: string, name: Sentence | string, current: string | undefined) =>
    html`<option value="${value}"${value === (current ?? '') ? html` selected` : ''}>${name}</option>`
  const query = queryOf(filter)
  const newest = query.toString()
  if (before !== null) query.set('before', String(before))
  return html`<section class="card"><h2>${say('Filter')}</h2>
<form class="row" method="post" action="/console/messages">
<label>${say('Channel')}<select name="channel">${option('', say('all'), filter.channel)}${option('email', CHANNEL_NAMES.email, filter.channel)}${option('sms', CHANNEL_NAMES.sms, filter.channel)}</select></label>
<label>${say('State')}<select name="state">${option('', say('all'), filter.state)}${STATES.map(state => option(state, state === 'undelivered' ? term('undelivered') : STATE_WORDS[state], filter.state))}</select></label>
<label>${say('Kind')}<select name="kind">${option('', say('all'), filter.kind)}${KINDS.map(kind => option(kind, term(kind), filter.kind))}</select></label>
<label>${say('From')}<input type="date" name="from" value="${filter.from ?? ''}"></label><label>${say('Until')}<input type="date" name="to" value="${filter.to ?? ''}"></label><input type="hidden" name="zone" value="${filter.zone ?? 0}">
<label>${say('Recipient, in full')}<input name="recipient" autocomplete="off" spellcheck="false" placeholder="${filter.recipientHash === undefined ? say('name@example.com or +86…') : say('one recipient chosen')}"></label>
<button class="main">${say('Show')}</button> <a href="/console/messages">${say('All')}</a>
</form></section>
<section class="card"><table class="stack"><caption>${countLine(rows.length, filter.before === undefined ? found : 0)}</caption>
<thead><tr><th scope="col">${say('Arrived')}</th><th scope="col">${say('Kind')}</th><th scope="col">${say('Recipient')}</th><th scope="col">${say('State')}</th><th scope="col" class="n">${say('Attempts')}</th><th scope="col">${say('Last reply')}</th><th scope="col" class="n">${say('Took')}</th></tr></thead>
<tbody>${rows.map(
    row => html`<tr>
<td data-l="${say('Arrived')}" class="whole"><a href="/console/messages/${row.id}">${clockTime(row.arrivedAt)}</a></td>
<td data-l="${say('Kind')}" class="kind">${nameKind(row)}</td>
<td data-l="${say('Recipient')}" class="mono">${row.maskedRecipient}</td>
<td data-l="${say('State')}">${stateBadge(row.state)}${receiptWord(row)}</td>
<td data-l="${say('Attempts')}" class="n">${row.attempts}</td>
<td data-l="${say('Last reply')}" class="small">${lastReply(row)}</td>
<td data-l="${say('Took')}" class="n">${row.finalAt === null ? html`<span class="soft">${say('{time} so far', { time: formatDuration(now - row.arrivedAt) })}</span>` : formatDuration(row.finalAt - row.arrivedAt)}</td></tr>`,
  )}</tbody></table>
${lookedFrom === null ? '' : html`<p class="small soft">${say('Only what arrived since {at} was looked through: “Older” goes on there, and days can be chosen.', { at: clockTime(lookedFrom) })}</p>`}
<div class="pager">${filter.before === undefined ? '' : html`<a href="/console/messages?${newest}">${say('Newest')}</a>`}${before !== null ? html`<a href="/console/messages?${query.toString()}">${say('Older')}</a>` : ''}</div></section>`
}

/** @param all how many there are in all; 0: it is a later page. */
function countLine(count: number, all: number): Sentence {
  if (count === 0) return say('No message')
  const most = Math.max(MOST_COUNTED, count)
  if (all > most) return say('Newest {n} of more than {all} messages', { n: count, all: most })
  if (all > count) return say('Newest {n} of {all} messages', { n: count, all })
  return count === 1 ? say('1 message') : say('{n} messages, newest first', { n: count })
}

function receiptWord({ receipt }: MessageView): Html | string {
  return receipt === null
    ? ''
    : html` <span class="small soft">${term(receipt.status)}${receipt.errorCode === null ? '' : ` ${receipt.errorCode}`}</span>`
}

function lastReply({ timeline }: MessageView): Sentence | string {
  const last = timeline.at(-1)
  return last === undefined ? '' : describeRecord(last)
}

async function showMessage({ params }: PageRequest, { view }: ConsoleOptions): Promise<PageResponse> {
  const row = await view.queries.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const liveMs = row.finalAt === null ? LIVE_MS : undefined
  return {
    is: 'page',
    title: say('Message'),
    content: messageDetail(row, listProviders(view), view.now()),
    liveMs,
  }
}

interface Button {
  readonly action: 'retryMessage' | 'allowAgain' | 'cancelMessage'
  readonly did: EventOf<'operator'>['did']
}

/** What a message's page has buttons for. */
const BUTTONS = new Map<string, Button>([
  ['retry', { action: 'retryMessage', did: 'retry' }],
  ['allow', { action: 'allowAgain', did: 'allow-again' }],
  ['cancel', { action: 'cancelMessage', did: 'cancel' }],
])

async function actOnMessage(
  { operator, params, fields }: PageRequest,
  { view, actions, emit, tryNow }: ConsoleOptions,
): Promise<PageResponse> {
  const row = await view.queries.findMessage(params['id'] ?? '')
  if (row === null) return NOT_FOUND
  const { id, channel, kind } = row
  const button = BUTTONS.get(fields['do'] ?? '')
  if (button !== undefined && (await actions[button.action](id))) {
    const { did } = button
    if (did === 'retry') tryNow(channel)
    emit({ type: 'operator', operator, did, channel, kind, ids: [id] })
    if (did === 'cancel') emit({ type: 'final', id, channel, kind, state: 'superseded', answer: null })
  }
  return { is: 'redirect', to: `${PLACE}/${id}` }
}

const ANSWERS: Readonly<Record<NonNullable<MessageView['answer']>, Sentence>> = {
  recipient: say('recipient'),
  content: say('content'),
  country: say('country'),
  limit: say('limit'),
}

/** Says whether mail to its recipient may be refused because this one came back: for a day at most. */
function mayBeRefused({ channel, receipt }: MessageView, now: number): boolean {
  if (channel !== 'email' || receipt === null || now - receipt.at > DAY) return false
  return receipt.fault?.verdict === 'recipient'
}

/** Renders one message: its facts and every attempt. */
function messageDetail(row: MessageView, providers: readonly ProviderView[], now: number): Html {
  const waits = row.state === 'queued'
  const { what, next } = explainMessage(row, providers, now)
  return html`<section class="card"><p>${stateBadge(row.state)}${row.answer === null ? '' : say(' ({why})', { why: ANSWERS[row.answer] })} ${what}</p>
<p><strong>${next}</strong></p>
${mayBeRefused(row, now) ? html`<form class="row" method="post" action="/console/messages/${row.id}"><button name="do" value="allow">${say('Allow again')}</button> ${say('Registration links, alarms and files to this address are refused for a while (BOUNCE_REFUSE).')}</form>` : ''}
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
<dt>${say('Delivery report')}</dt><dd>${row.receipt === null ? say('none') : html`${term(row.receipt.status)}${row.receipt.errorCode === null ? '' : say(' (error {code})', { code: row.receipt.errorCode })} ${timeElement(row.receipt.at)}`}</dd>
<dt>${say('Attempts')}</dt><dd>${say('{attempts}, {ambiguous} of them ambiguous', { attempts: row.attempts, ambiguous: row.ambiguous })}</dd></dl></section>`
}

/** A message that is due has no time of its own: it is tried when its turn comes. */
function dueText(row: MessageView, providers: readonly ProviderView[], now: number): Html {
  const { at, due } = nextAttempt(row, providers, now)
  return at === null ? html`${due}` : html`${timeElement(at)} <span class="soft">${due}</span>`
}

function timelineTable(row: MessageView): Html {
  return html`<section class="card"><table class="stack"><caption>${say('Timeline')}</caption>
<thead><tr><th scope="col">${say('When')}</th><th scope="col">${say('Provider')}</th><th scope="col">${say('Outcome')}</th><th scope="col">${say('Code')}</th><th scope="col">${say('Reply')}</th><th scope="col" class="n">${say('Took')}</th></tr></thead>
<tbody>${
    row.timeline.length === 0
      ? html`<tr><td colspan="6">${say('No attempt yet.')}</td></tr>`
      : row.timeline.map(
          each => html`<tr>
<td data-l="${say('When')}" class="whole">${clockTime(each.at)}</td><td data-l="${say('Provider')}">${each.provider}</td><td data-l="${say('Outcome')}">${term(each.outcome)}</td><td data-l="${say('Code')}" class="mono whole">${each.code}</td><td data-l="${say('Reply')}">${unpackWords(each.reply)}</td><td data-l="${say('Took')}" class="n">${formatDuration(each.tookMs)}</td></tr>`,
        )
  }</tbody></table></section>`
}
