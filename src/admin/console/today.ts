import { type Asked, countRecipients } from '../../callback/asked.ts'
import { QUOTA_MEANINGS } from '../../config/settings/callers.ts'
import { type Sentence, say, tell, term } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import type { QuotaLimits, QuotaName } from '../../messages/quotas.ts'
import type { EndedCount } from '../../outbox/outbox.ts'
import { CHANNEL_NAMES, nameKind, periodChips, periodOf } from './figures.ts'
import { clockTime, type Html, html } from './html.ts'
import type { ConsoleOptions, ConsolePage, PageRequest, PageResponse } from './page.ts'

const PLACE = '/console/today'

export const todayPages: readonly ConsolePage[] = [
  { method: 'GET', path: PLACE, menu: say('Today'), handle: showToday },
]

/** How many today, and who is it that so many are asked for? */
async function showToday({ query }: PageRequest, { view, quotas }: ConsoleOptions): Promise<PageResponse> {
  const now = view.now()
  const period = periodOf(query['period'])
  const today = startOfDay(now, 0)
  const ended = await view.queries.readEnded(startOfDay(now, -1), today)
  const asked = await view.readAsked(now - period.lengthMs)
  const content = html`<section class="card"><h2>${say('How many today?')}</h2>
<p class="small soft">${say('Messages that arrived since {at}, in brackets those of the day before. What did not arrive is among what was sent.', { at: clockTime(today) })}</p>
${endedTable(ended, view.channels, today)}</section>
<section class="card" id="asked"><div class="head"><h2>${say('Who is it for?')}</h2>${periodChips(period, `${PLACE}?period=`, '#asked')}</div>
<p class="small soft">${say('All that was asked for, but for repetitions: the ten busiest of each. A prefix is named from ten different numbers on.')}</p>
<table class="stack figures"><caption class="unseen">${say('Who is it for?')}</caption>
<thead><tr><th scope="col">${say('Name')}</th><th scope="col" class="n">${say('Asked for')}</th><th scope="col">${say('Held back')}</th></tr></thead>
<tbody>${[...Map.groupBy(asked, ({ channel, about }) => `${channel}/${about}` as const)].map(([group, those]) => [html`<tr class="sum"><th scope="row" colspan="3">${GROUPS[group]}</th></tr>`, those.map(each => askedRow(each, quotas))])}</tbody></table></section>`
  return { is: 'page', content }
}

/** When a day of this process's zone (TZ) begins, ms since the epoch. */
function startOfDay(now: number, days: number): number {
  const day = new Date(now)
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).getTime()
}

const OUTCOMES = [
  ['sent', say('Sent')],
  ['undelivered', say('Undelivered')],
  ['refused', say('Refused')],
  ['expired', say('Expired')],
] as const

function endedTable(ended: readonly EndedCount[], channels: readonly Channel[], today: number): Html {
  const zone = new Date(today).getTimezoneOffset()
  const from = new Date(today - zone * 60_000).toISOString().slice(0, 10)
  /** @param filter of the list of messages that its figures lead to; absent: none is of them. */
  const row = (name: Sentence, those: readonly EndedCount[], filter?: Record<string, string>) =>
    html`<tr${filter !== undefined && !('kind' in filter) ? html` class="sum"` : ''}><th scope="row">${name}</th>${OUTCOMES.map(
      ([state, title]) => {
        const own = those.filter(({ outcome }) => outcome === state)
        const count = own.reduce((sum, each) => sum + each.today, 0)
        const before = own.reduce((sum, each) => sum + each.dayBefore, 0)
        const query = new URLSearchParams({ ...filter, state, from, zone: String(zone) }).toString()
        return html`<td class="n${count + before === 0 ? ' none' : ''}" data-l="${title}"><span>${count === 0 || filter === undefined ? count : html`<a href="/console/messages?${query}">${count}</a>`} <span class="soft">(${before})</span></span></td>`
      },
    )}</tr>`
  return html`<table class="stack figures"><caption class="unseen">${say('How many today?')}</caption>
<thead><tr><th scope="col">${say('Channel, kind, carrier, country')}</th>${OUTCOMES.map(([, title]) => html`<th scope="col" class="n">${title}</th>`)}</tr></thead>
<tbody>${channels.map(channel => {
    const own = ended.filter(each => each.channel === channel)
    const by = (of: 'kind' | 'carrier' | 'country') =>
      [...Map.groupBy(own, each => each[of])]
        .filter(([name]) => name !== '-')
        .sort(([a], [b]) => (a < b ? -1 : 1))
    return [
      row(CHANNEL_NAMES[channel], own, { channel }),
      by('kind').map(([kind, those]) => row(nameKind({ channel, kind }), those, { channel, kind })),
      by('carrier').map(([carrier, those]) => row(say('by {carrier}', { carrier }), those)),
      by('country').map(([country, those]) => row(say('to {country}', { country }), those)),
    ]
  })}</tbody></table>`
}

const GROUPS: { readonly [Group in `${Channel}/${Asked['about']}`]?: Sentence } = {
  'email/kind': say('Kinds of mail'),
  'email/domain': say('Domains'),
  'sms/kind': say('Kinds of SMS'),
  'sms/country': say('Countries'),
  'sms/prefix': say('Prefixes of numbers'),
}

function askedRow(asked: Asked, limits: QuotaLimits): Html {
  const held = Object.entries(asked.held) as [QuotaName, number][]
  return html`<tr><th scope="row">${nameOf(asked)}</th><td class="n" data-l="${say('Asked for')}">${asked.count}</td><td class="small held" data-l="${say('Held back')}">${held.map(([quota, count]) => html`${say('{count} by {quota}', { count, quota })}${limits[quota] > 0 && say(', at most {limit}: {what}', { limit: limits[quota], what: tell(QUOTA_MEANINGS[quota]) })}<br>`)}</td></tr>`
}

/** From so many different numbers on a prefix is named: a masked recipient shows the digits behind it. */
const NAMED_FROM = 10

function nameOf(asked: Asked): Sentence {
  const n = countRecipients(asked)
  const { channel, about } = asked
  if (about === 'prefix' && n < NAMED_FROM) return say('numbers of a prefix that is not named: {n}', { n })
  const name = about === 'kind' ? term(asked.name) : about === 'prefix' ? `${asked.name}****` : asked.name
  if (channel === 'email')
    return n === 1 ? say('{name}: 1 address', { name }) : say('{name}: {n} addresses', { name, n })
  return n === 1 ? say('{name}: 1 number', { name }) : say('{name}: {n} numbers', { name, n })
}
