import { type Sentence, say } from '../../language/sentence.ts'
import type { State, Summary } from '../../outbox/outbox.ts'
import { type Html, html } from './html.ts'
import { clockTime } from './layout.ts'

const WIDTH = 720
const HEIGHT = 130
const FOOT = 1

/** The bands of a bar, from the bottom up. */
const BANDS = [
  { name: say('sent'), css: 'p-good', states: ['sent'] },
  { name: say('waiting'), css: 'p-wait', states: ['queued', 'sending'] },
  { name: say('expired'), css: 'p-warn', states: ['expired'] },
  { name: say('refused or unknown'), css: 'p-bad', states: ['refused', 'unknown'] },
] as const satisfies readonly {
  readonly name: Sentence
  readonly css: string
  readonly states: readonly State[]
}[]

/** `02:04`. */
function edge(at: number): string {
  return clockTime(at).slice(11, 16)
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
    const band = BANDS.findIndex(({ states }) => (states as readonly string[]).includes(state))
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
<p class="axis"><span>${edge(first)}</span><span>${edge((first + until) / 2)}</span><span>${edge(until)} UTC</span></p>
<ul class="key"><li>${say('highest bar {n}', { n: most })}</li>${totals.map(({ name, css, total }) => html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="${css}" width="10" height="10"/></svg>${name} ${total}</li>`)}</ul>`
}
