import { type Sentence, say, term } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import { LIVE_STATES, type State, type Summary } from '../../outbox/outbox.ts'
import { type Html, html } from './html.ts'

const HOUR = 3_600_000
export const CHANNEL_NAMES: Readonly<Record<Channel, Sentence>> = { email: say('E-mail'), sms: say('SMS') }

/** A kind of message with its channel, for a reader. */
export function nameKind({ channel, kind }: { readonly channel: Channel; readonly kind: string }): Sentence {
  return say('{about}: {what}', { about: CHANNEL_NAMES[channel], what: term(kind) })
}

/** The time that the figures cover. */
export interface Period {
  readonly name: 'hour' | 'day'
  readonly title: Sentence
  readonly lengthMs: number
}

const PERIODS: readonly [Period, ...Period[]] = [
  { name: 'hour', title: say('Last hour'), lengthMs: HOUR },
  { name: 'day', title: say('Last day'), lengthMs: 24 * HOUR },
]

/** The period that an address names; the hour when it names none. */
export function periodOf(name: string | undefined): Period {
  return PERIODS.find(period => period.name === name) ?? PERIODS[0]
}

interface Group {
  readonly name: Sentence
  readonly states: readonly State[]
}

const COLUMNS: readonly Group[] = [
  { name: say('Sent'), states: ['sent'] },
  { name: say('Waiting'), states: LIVE_STATES },
  { name: say('Refused'), states: ['refused'] },
  { name: say('Expired'), states: ['expired'] },
  { name: say('Unknown'), states: ['unknown'] },
  { name: say('Superseded'), states: ['superseded'] },
  { name: say('Held'), states: ['held'] },
]

/** The states of the messages of a period, and a switch to the other period. @param summary null: the store does not answer. */
export function renderFigures(summary: Summary | null, period: Period, channels: readonly Channel[]): Html {
  const { title } = period
  return html`<section class="card" id="figures"><div class="head"><h2>${title}</h2>
${periodChips(period, '/console?period=', '#figures')}</div>
${
  summary === null ? html`<p>${say('The store does not answer.')}</p>` : countsTable(title, summary, channels)
}</section>`
}

/** The choice of a period. @param to the address before the period's name, and `place` what is behind it */
export function periodChips(period: Period, to: string, place: string): Html {
  return html`<nav aria-label="${say('Period')}"><ul class="chips">${PERIODS.map(each => html`<li><a href="${to}${each.name}${place}"${each === period ? html` aria-current="true"` : ''}>${each.title}</a></li>`)}</ul></nav>`
}

/** Renders the figures as a table, in which each leads to its messages. */
function countsTable(title: Sentence, { counts }: Summary, channels: readonly Channel[]): Html {
  const rows = channels.flatMap(channel => {
    const own = counts.filter(each => each.channel === channel)
    const kinds = [...new Set(own.map(({ kind }) => kind))].sort()
    return [
      html`<tr class="sum"><th scope="row">${CHANNEL_NAMES[channel]}</th>${cells(own, { channel })}</tr>`,
      kinds.map(kind => {
        const ofKind = own.filter(each => each.kind === kind)
        return html`<tr><th scope="row">${nameKind({ channel, kind })}</th>${cells(ofKind, { channel, kind })}</tr>`
      }),
    ]
  })
  return html`<table class="stack figures"><caption class="unseen">${title}</caption>
<thead><tr><th scope="col">${say('Channel and kind')}</th>${COLUMNS.map(({ name }) => html`<th scope="col" class="n">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table>`
}

function cells(
  counts: Summary['counts'],
  where: { readonly channel: string; readonly kind?: string },
): readonly Html[] {
  return COLUMNS.map(({ name, states }) => {
    const total = counts
      .filter(each => states.includes(each.state))
      .reduce((sum, each) => sum + each.count, 0)
    if (total === 0) return html`<td class="n none" data-l="${name}">0</td>`
    const query = new URLSearchParams({ ...where, state: states[0] ?? '' })
    return html`<td class="n" data-l="${name}"><a href="/console/messages?${query.toString()}">${total}</a></td>`
  })
}

export const STATE_WORDS: Readonly<Record<State, Sentence>> = {
  queued: say('waiting'),
  sending: say('being sent'),
  sent: say('sent'),
  refused: say('refused'),
  expired: say('expired'),
  superseded: say('superseded'),
  unknown: say('unknown'),
  held: say('held'),
}

export function stateBadge(state: State): Html {
  return html`<span class="state s-${state}">${STATE_WORDS[state]}</span>`
}
