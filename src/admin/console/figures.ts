import { type Sentence, say, translateText } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import { LIVE_STATES, type State, type Summary } from '../../outbox/outbox.ts'
import { clockTime, type Html, html } from './html.ts'

const HOUR = 3_600_000
export const CHANNEL_NAMES: Readonly<Record<Channel, Sentence>> = { email: say('E-mail'), sms: say('SMS') }

/** A kind of message with its channel, for a reader. */
export function nameKind({ channel, kind }: { readonly channel: Channel; readonly kind: string }): Sentence {
  return say('{about}: {what}', { about: CHANNEL_NAMES[channel], what: translateText(kind) })
}

/** The time that the figures cover, and the time of one bar of their plot, ms. */
export interface Period {
  readonly name: 'hour' | 'day'
  readonly title: Sentence
  readonly lengthMs: number
  readonly stepMs: number
}

const PERIODS: readonly [Period, ...Period[]] = [
  { name: 'hour', title: say('Last hour'), lengthMs: HOUR, stepMs: 60_000 },
  { name: 'day', title: say('Last day'), lengthMs: 24 * HOUR, stepMs: 15 * 60_000 },
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
]

/** The states of the messages of a period, and a switch to the other period. @param summary null: the store does not answer. */
export function renderFigures(
  summary: Summary | null,
  period: Period,
  channels: readonly Channel[],
  now: number,
): Html {
  const { title, lengthMs, stepMs } = period
  return html`<section class="card" id="figures"><div class="head"><h2>${title}</h2>
<nav aria-label="${say('Period')}"><ul class="chips">${PERIODS.map(each => html`<li><a href="/console?period=${each.name}#figures"${each === period ? html` aria-current="true"` : ''}>${each.title}</a></li>`)}</ul></nav></div>
${
  summary === null
    ? html`<p>${say('The store does not answer.')}</p>`
    : html`${renderChart(summary.series, now - lengthMs, now, stepMs, title)}
${countsTable(title, summary, channels)}`
}</section>`
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

const WIDTH = 720
const HEIGHT = 130
const FOOT = 1

/** The bands of a bar, from the bottom up. */
const BANDS: readonly (Group & { readonly css: string })[] = [
  { name: say('sent'), css: 'p-good', states: ['sent'] },
  { name: say('waiting'), css: 'p-wait', states: LIVE_STATES },
  { name: say('expired'), css: 'p-warn', states: ['expired'] },
  { name: say('refused or unknown'), css: 'p-bad', states: ['refused', 'unknown'] },
]

/** `02:04 UTC`. */
function edge(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${clockTime(at).slice(11, 16)} UTC</time>`
}

/**
 * Messages over time by what became of them, as stacked bars.
 * @param since, until ms since the epoch; @param stepMs one bar.
 */
export function renderChart(
  series: Summary['series'],
  since: number,
  until: number,
  stepMs: number,
  title: Sentence,
): Html {
  const first = Math.floor(since / stepMs) * stepMs
  const steps = Math.max(1, Math.ceil((until - first) / stepMs))
  const bars = Array.from({ length: steps }, () => BANDS.map(() => 0))
  for (const { at, state, count } of series) {
    const bar = bars[Math.floor((at - first) / stepMs)]
    const band = BANDS.findIndex(({ states }) => states.includes(state))
    if (bar !== undefined && band >= 0) bar[band] = (bar[band] ?? 0) + count
  }
  const most = Math.max(0, ...bars.map(bar => bar.reduce((sum, each) => sum + each, 0)))
  const width = WIDTH / steps
  const scale = (HEIGHT - FOOT - 4) / Math.max(1, most)
  const rects = bars.flatMap((bar, at) => {
    let y = HEIGHT - FOOT
    return bar.map((count, band) => {
      if (count === 0) return ''
      const height = Math.max(1, count * scale)
      y -= height
      return html`<rect class="${BANDS[band]?.css ?? ''}" x="${(at * width + 0.5).toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(1, width - 1).toFixed(1)}" height="${height.toFixed(1)}"/>`
    })
  })
  const totals = BANDS.map((band, at) => ({
    ...band,
    total: bars.reduce((sum, bar) => sum + (bar[at] ?? 0), 0),
  }))
  const words = totals.map(({ name, total }, at) => html`${at === 0 ? '' : ', '}${name} ${total}`)
  return html`<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words}">
<line class="p-line" x1="0" x2="${WIDTH}" y1="${HEIGHT - FOOT}" y2="${HEIGHT - FOOT}"/>${rects}
</svg>
<p class="axis">${edge(first)}${edge((first + until) / 2)}${edge(until)}</p>
<ul class="key"><li>${say('highest bar {n}', { n: most })}</li>${totals.map(({ name, css, total }) => html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="${css}" width="10" height="10"/></svg>${name} ${total}</li>`)}</ul>`
}

export const STATE_WORDS: Readonly<Record<State, Sentence>> = {
  queued: say('waiting'),
  sending: say('being sent'),
  sent: say('sent'),
  refused: say('refused'),
  expired: say('expired'),
  superseded: say('superseded'),
  unknown: say('unknown'),
}

export function stateBadge(state: State): Html {
  return html`<span class="state s-${state}">${STATE_WORDS[state]}</span>`
}
