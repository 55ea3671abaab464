import t from 'tap'
import { causesOf } from '../../src/admin/console/causes.ts'
import { devicesCard } from '../../src/admin/console/overview.ts'
import { createServiceHealth } from '../../src/admin/service-health.ts'
import type { AlertsStatus } from '../../src/devices/alerts.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { englishIn, readableText } from '../language/english.ts'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'
import { viewOf } from '../rigs/view.ts'

const KINDS = callbackKinds.map(({ name }) => name)

t.test('every page is in the language that the browser asks for', async t => {
  const rig = await startRig(t, { EMAIL_TOKEN_PREVIOUS: 'anOldTokenOfGoodLength', POST_SIGNATURE: 'observe' })
  rig.smtp.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '535 5.7.8' } : undefined)
  await rig.post('email', mailBody())
  await rig.post('sms', smsBody())
  await rig.validate('sms')
  await rig.ask(rig.path('email').replace('/email', 'x/email'))
  await until(() => rig.events().some(each => each['event'] === 'final'), 'an end')
  const ask = (path: string, init: RequestInit = {}, language = 'zh-CN,zh;q=0.9,en;q=0.5') =>
    fetch(`${rig.service().adminUrl}${path}`, { ...init, headers: { 'accept-language': language } })
  const list = await (await ask('/console/messages')).text()
  const ids = [...list.matchAll(/\/console\/messages\/([0-9a-f]{32})/g)].map(([path]) => path)
  t.equal(ids.length, 2)
  const form = (fields: Record<string, string>): RequestInit => ({
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  const pages: readonly (readonly [string, RequestInit?])[] = [
    ['/console'],
    ['/console?period=day'],
    ['/console/messages?state=none&kind=file'],
    ['/console/messages?state=expired'],
    ['/console/messages', form({ recipient: 'nobody' })],
    ['/console/messages', form({ recipient: 'nobody@example.com' })],
    ...ids.map(path => [path] as const),
    ['/console/messages/none'],
    ['/console/templates'],
    ['/console/templates/email/file/zh-CN'],
    ['/console/templates/sms/login-code/zh-CN'],
    ['/console/templates/sms/login-code/xx'],
    ['/console/send'],
    ['/console/send', form({ kind: 'none' })],
    ['/console/send', form({ kind: 'sms/login-code', to: '+8613800138000' })],
    ['/console/urls'],
    ['/console/nowhere'],
  ]
  const given = [...KINDS, 'state', 'OK: kept as']
  for (const [path, init] of pages) {
    const response = await ask(path, init)
    const page = await response.text()
    const at = `${path} ${JSON.stringify(init?.body ?? '')}`
    t.match(page, '<html lang="zh-CN"', at)
    t.equal(response.headers.get('content-language'), 'zh-CN')
    t.match(response.headers.get('vary') ?? '', 'accept-language')
    t.same(englishIn(readableText(page), given), [], at)
  }
  const english = await (await ask('/console', {}, 'de')).text()
  t.match(english, '<html lang="en"')
  t.notMatch(english, /\p{Script=Han}/u)
})

t.test('every line about what is wrong is in Chinese', async t => {
  const now = Date.parse('2026-11-21T02:04:00Z')
  const health = createServiceHealth(() => now)
  const down = {
    provider: 'smtp',
    channel: 'email',
    up: false,
    since: now - 90_000,
    lastSentAt: null,
  } as const
  const loss = { messages: 3, unsent: 1, from: now - 1000, until: now, noticedAt: now }
  const devices: AlertsStatus = {
    leads: true,
    subscribed: false,
    forMs: 100_000,
    lastEnd: { is: 'refused', why: 'log in: refused: HTTP 401, code none' },
    refused: [{ topic: '/device/alert', why: 'refused: HTTP 404, code 4041001' }],
    received: 1,
    malformed: 0,
  }
  const wrong = viewOf({
    now: () => now,
    health: {
      ...health,
      providers: () => [
        { ...down, lastError: { at: now, code: '535', reply: '535 5.7.8', whose: 'ours' } },
        { ...down, provider: 'twilio', lastError: null },
      ],
      failingRobots: () => [
        { robot: 'dingtalk', since: now - 90_000, lastAt: now, code: '310000', reply: '签名不匹配' },
      ],
      ofChannel: channel => ({
        ...health.ofChannel(channel),
        validation: { at: now, ok: false, reason: '4031001' },
        heldBack: [{ quota: 'sms-day', count: 3, lastAt: now }],
      }),
      storeFailure: () => ({ at: now, doing: 'accept', message: '28' }),
    },
    storeLoss: () => loss,
    channels: ['email', 'sms'],
    certificate: () => ({
      chain: 'self-signed',
      names: [],
      expiresAt: now - 1,
      flaws: [
        'the certificate is self-signed: get one of a public authority, since only clients that are told to trust this one do',
      ],
    }),
    renewalRefused: () => ({
      since: now - 1000,
      reason: 'TLS_KEY_FILE has a passphrase: give a key without one',
    }),
    templateProblems: () => ['layout.html, line 3: cannot be read: EACCES'],
    webhooks: () => ({
      leads: true,
      isGone: false,
      waiting: 3,
      oldestAt: 0,
      failing: { since: 0, reason: 'http-500' },
    }),
    deviceAlerts: () => devices,
    isDraining: () => true,
  })
  const counts = {
    backlog: { email: 2, sms: 3 },
    oldest: { email: 0, sms: 0 },
    waitingRecipients: { email: 1, sms: 0 },
    counts: [],
    series: [],
    bounced: 0,
    bytes: 0,
  }
  const soon = () => ({ expiresAt: now + 864e5, flaws: [], chain: 'complete' as const, names: [] })
  const lines = [
    ...causesOf(wrong, null),
    ...causesOf(
      {
        ...wrong,
        storeLoss: () => ({ ...loss, messages: 0, from: null }),
        certificate: soon,
        renewalRefused: () => null,
      },
      counts,
    ),
    ...causesOf({ ...wrong, certificate: soon, deviceAlerts: () => ({ ...devices, lastEnd: null }) }, null),
    ...causesOf(viewOf({ now: () => now, health }), counts),
  ].map(({ text }) => text.in('zh-CN'))
  t.ok(lines.length > 25, `${lines.length} lines`)
  for (const line of lines)
    t.same(englishIn(line, ['accept', 'dingtalk', 'layout.html', 'sms-day']), [], line)
  for (const subscribed of [true, false])
    t.same(englishIn(readableText(devicesCard({ ...devices, subscribed }).in('zh-CN'))), [])
})
