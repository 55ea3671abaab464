import t from 'tap'
import { periodOf, renderChart, renderFigures } from '../../src/admin/console/figures.ts'
import { say } from '../../src/language/sentence.ts'
import { viewOf } from '../rigs/view.ts'

const MINUTE = 60_000
/** Half a minute behind the beginning of one. */
const NOW = Date.parse('2026-11-21T02:04:30Z')

t.test('a plot has a bar for each step, its bands above each other, and the sums of each', async t => {
  const at = (minutes: number) => Date.parse('2026-11-21T02:00:00Z') + minutes * MINUTE
  const svg = renderChart(
    [
      { at: at(1), state: 'sent', count: 3 },
      { at: at(1) + MINUTE - 1, state: 'sent', count: 2 },
      { at: at(1), state: 'refused', count: 2 },
      { at: at(1), state: 'unknown', count: 3 },
      { at: at(4), state: 'expired', count: 5 },
      { at: at(4), state: 'queued', count: 0 },
      { at: at(4), state: 'superseded', count: 9 },
      { at: at(-1), state: 'sent', count: 99 },
      { at: at(9), state: 'sent', count: 99 },
    ],
    NOW - 4 * MINUTE,
    NOW,
    MINUTE,
    say('Last hour'),
  ).in('en')
  const rects = [
    ...svg.matchAll(
      /<rect class="([\w-]+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"\/>/g,
    ),
  ]
  t.same(
    rects.map(([, ...parts]) => parts.join(' ')),
    ['p-good 144.5 66.5 143.0 62.5', 'p-bad 144.5 4.0 143.0 62.5', 'p-warn 576.5 66.5 143.0 62.5'],
  )
  t.match(svg, 'aria-label="Last hour: sent 5, waiting 0, expired 5, refused or unknown 5"')
  t.match(svg, 'highest bar 10')
  t.same(
    [...svg.matchAll(/>([\d:]+) UTC<\/time>/g)].map(([, time]) => time),
    ['02:00', '02:02', '02:04'],
  )
})

t.test('the table counts each channel and each of its kinds, and leads to the messages', async t => {
  const { readSummary } = viewOf().queries
  const summary = {
    ...(await readSummary(0, 1)),
    counts: [
      { channel: 'sms', kind: 'login-code', state: 'sent', count: 3 },
      { channel: 'sms', kind: 'phone-update', state: 'sent', count: 4 },
      { channel: 'sms', kind: 'phone-update', state: 'sending', count: 2 },
      { channel: 'email', kind: 'file', state: 'sent', count: 50 },
    ] as const,
  }
  const shown = renderFigures(summary, periodOf('day'), ['sms'], NOW).in('en')
  const rows = [...shown.matchAll(/<th scope="row">(.*?)<\/th>(.*?)<\/tr>/g)].map(
    ([, name, cells = '']) => `${name} ${[...cells.matchAll(/>(\d+)</g)].map(([, n]) => n).join(' ')}`,
  )
  t.same(rows, ['SMS 7 2 0 0 0 0', 'SMS: login-code 3 0 0 0 0 0', 'SMS: phone-update 4 2 0 0 0 0'])
  t.match(shown, '<a href="/console/messages?channel=sms&amp;kind=phone-update&amp;state=sent">4</a>')
  t.match(shown, '<a href="/console/messages?channel=sms&amp;state=queued">2</a>')
  t.match(shown, '<td class="n none" data-l="Expired">0</td>')
  t.match(renderFigures(null, periodOf('day'), ['sms'], NOW).in('en'), 'The store does not answer.')
  t.equal(periodOf('year').name, 'hour')
})
