import t from 'tap'
import { periodOf, renderFigures } from '../../src/admin/console/figures.ts'
import { viewOf } from '../rigs/view.ts'

t.test('the table counts each channel and each of its kinds, and leads to the messages', async t => {
  const { readSummary } = viewOf().queries
  const summary = {
    ...(await readSummary(0)),
    counts: [
      { channel: 'sms', kind: 'phone-update', state: 'sent', count: 4 },
      { channel: 'sms', kind: 'phone-update', state: 'sending', count: 2 },
      { channel: 'sms', kind: 'login-code', state: 'sent', count: 3 },
      { channel: 'email', kind: 'file', state: 'sent', count: 50 },
    ] as const,
  }
  const shown = renderFigures(summary, periodOf('day'), ['sms']).in('en')
  const rows = [...shown.matchAll(/<th scope="row">(.*?)<\/th>(.*?)<\/tr>/g)].map(
    ([, name, cells = '']) => `${name} ${[...cells.matchAll(/>(\d+)</g)].map(([, n]) => n).join(' ')}`,
  )
  t.same(rows, ['SMS 7 2 0 0 0 0 0', 'SMS: login-code 3 0 0 0 0 0 0', 'SMS: phone-update 4 2 0 0 0 0 0'])
  t.match(shown, '<a href="/console/messages?channel=sms&amp;kind=phone-update&amp;state=sent">4</a>')
  t.match(shown, '<a href="/console/messages?channel=sms&amp;state=queued">2</a>')
  t.match(shown, '<td class="n none" data-l="Expired">0</td>')
  t.match(renderFigures(null, periodOf('day'), ['sms']).in('en'), 'The store does not answer.')
  t.equal(periodOf('year').name, 'hour')
})
