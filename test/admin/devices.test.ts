import t from 'tap'
import { causesOf } from '../../src/admin/console/causes.ts'
import { devicesCard } from '../../src/admin/console/overview.ts'
import type { AlertsStatus } from '../../src/devices/alerts.ts'
import { viewOf } from '../rigs/view.ts'

const subscribed: AlertsStatus = {
  leads: true,
  subscribed: true,
  forMs: 3_600_000,
  lastEnd: null,
  refused: [],
  received: 42,
  malformed: 1,
}

const summary = {
  counts: [],
  series: [],
  backlog: { email: 0, sms: 0 },
  oldest: { email: null, sms: null },
  bounced: 0,
  leftOut: 0,
  waitingRecipients: { email: 0, sms: 0 },
  bytes: 0,
}
const lines = (devices: AlertsStatus | null) =>
  causesOf(viewOf({ deviceAlerts: () => devices }), summary).map(
    ({ level, text }) => `${level}: ${String(text)}`,
  )

t.test('a subscription that is away is worth a line once it is away for longer than a minute', t => {
  const lost = { is: 'unreachable', why: 'ECONNREFUSED' } as const
  const away = (forMs: number, more: Partial<AlertsStatus> = {}) =>
    lines({ ...subscribed, subscribed: false, forMs, lastEnd: lost, ...more })
  const well = ['ok: All is well.']
  t.same(lines(null), well, 'device alerts are off')
  t.same(lines(subscribed), well)
  t.same(away(60_000), well, 'it comes back by itself')
  t.same(away(200_000), [
    'fail: No device alert has come for 3 min 20 s: unreachable, ECONNREFUSED. It is tried again every 5 s: look at DDQ_URL and the network.',
  ])
  t.match(away(200_000, { lastEnd: { is: 'refused', why: 'log in: HTTP 401' } }), [
    /refused, log in: HTTP 401\. This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET/,
  ])
  t.match(away(61_000, { lastEnd: null }), [/the platform has not answered yet/])
  t.same(away(200_000, { leads: false }), well, 'another replica watches the devices')
  t.end()
})

t.test('a topic that is refused is worth a line at once', t => {
  const refused = [{ topic: '/device-biz/alert/product', why: 'HTTP 404' }]
  t.match(lines({ ...subscribed, refused }), [
    /^warn: The platform refuses the topic \/device-biz\/alert\/product \(HTTP 404\)/,
  ])
  t.end()
})

t.test('the card says how it does, and escapes what the platform said', t => {
  const text = (devices: Partial<AlertsStatus>) => devicesCard({ ...subscribed, ...devices }).in('en')
  t.match(text({}), /subscribed<\/span> <span class="soft">for 1 h 0 min/)
  t.match(text({}), '42 messages, 1 that cannot be used')
  t.match(text({ leads: false }), 'Another replica watches the devices.')
  const said = text({ subscribed: false, lastEnd: { is: 'refused', why: '<b>no</b>' } })
  t.match(said, 'not subscribed')
  t.match(said, 'refused, &lt;b&gt;no')
  t.notMatch(said, '<b>')
  t.end()
})
