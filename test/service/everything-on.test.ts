import { createServer } from 'node:http'
import { dirname } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../sandbox/emulator/emulator.ts'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnusable } from '../../src/outbox/outbox.ts'
import type { StoreSettings } from '../../src/outbox/sqlite/store.ts'
import type { StoreCall } from '../../src/outbox/sqlite/thread.ts'
import { FORMS } from '../bounces/forms.ts'
import { freePort } from '../rigs/free-port.ts'
import { startImap } from '../rigs/imap-server.ts'
import { listen } from '../rigs/listen.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { mailBody, NO_QUOTAS, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'
import { startTwoCarriers } from '../rigs/two-carriers.ts'
import { SECRET, startReceiver } from '../webhooks/receiver.ts'

const ROBOT = (url: string) => `crew:
  channel: chat
  request:
    url: ${url}
    json: '{"text": "{{ text }}"}'
`

/** The settings of a service on which everything is on, and who stands at its other ends. */
async function startEnds(t: Test) {
  const [two, receiver, imap, emulator] = await Promise.all([
    startTwoCarriers(t),
    startReceiver(t),
    startImap(t),
    createEmulator(),
  ])
  t.teardown(() => emulator.close())
  const posts: string[] = []
  const group = createServer(async (request, response) => {
    for await (const chunk of request) posts.push(String(chunk))
    response.end('{}')
  })
  const settings = {
    ...NO_QUOTAS,
    ...two.settings,
    ...emulator.settings,
    ALERTS: 'alert * 0 - ann@example.com; state * 0 - +12025550123',
    SMS_COUNTRIES: 'CN,US',
    LOCALE_BY_COUNTRY: '{"CN": "zh-CN"}',
    EVENTS_URL: `http://127.0.0.1:${receiver.port}/hook`,
    EVENTS_SECRET: SECRET,
    BOUNCE_IMAP_URL: `imap://ann:secret@127.0.0.1:${imap.port}?ignoreTLS=true`,
    SMS_GATEWAYS: ROBOT(`http://127.0.0.1:${await listen(t, group)}/`),
    TEMPLATES_DIR: dirname(two.templatesFile),
    PUBLIC_URL: 'https://courier.example.com',
  }
  return { two, receiver, imap, emulator, posts, settings }
}

/** Who has set a timer that goes on for ever, by the file of src. */
function watchIntervals(t: Test) {
  const real = { setInterval, clearInterval }
  const running = new Map<unknown, string>()
  Object.assign(globalThis, {
    setInterval(...given: Parameters<typeof setInterval>) {
      const timer = real.setInterval(...given)
      const [, file = 'else'] = /\/src\/([^:]+):/.exec(String(new Error('who').stack)) ?? []
      // The library of metrics looks at the event loop until the process ends.
      if (file !== 'admin/metrics/metrics.ts') running.set(timer, file)
      return timer
    },
    clearInterval(timer: NodeJS.Timeout) {
      running.delete(timer)
      real.clearInterval(timer)
    },
  })
  t.teardown(() => Object.assign(globalThis, real))
  return () => [...running.values()]
}

/** A store in this thread, which notes what it is given. */
function watchStore() {
  const calls: StoreCall[] = []
  return {
    accepted: () => calls.flatMap(([name, given]) => (name === 'accept' ? given.messages : [])),
    startStoreThread(settings: StoreSettings) {
      const thread = serveHere(settings)
      const { postMessage } = thread
      thread.postMessage = (message, transfer) => {
        if (typeof message === 'object' && 'calls' in message) calls.push(...message.calls)
        postMessage(message, transfer)
      }
      return thread
    },
  }
}

/** Where files are in memory, the start warns of that. */
const firstEvents = (rig: ServiceRig) =>
  rig.events().filter(({ message }) => !String(message).includes('the store is on '))
const ALARM = { type: '8', productName: 'Freezer T2', username: 'Lin', time: '2026-11-20 14:32:05' }

t.test('with everything on each part does its work, and after the end nothing of it is left', async t => {
  const { two, imap, receiver, emulator, posts, settings } = await startEnds(t)
  const intervals = watchIntervals(t)
  const store = watchStore()
  const rig = await startRig(t, settings, store)
  const { publicUrl, adminUrl, urls } = rig.service()
  await until(() => imap.count(/ SELECT INBOX/) > 0 && receiver.told().length === 4, 'all has begun')
  t.same(
    firstEvents(rig)
      .slice(0, 5)
      .map(({ level, event, message }) => [level, event, String(message).slice(0, 26)].join(' ')),
    [
      '40 setting ADMIN_TOKENS is not set: e',
      '40 templates template problem',
      '40 setting SMS_TEMPLATES_FILE: no car',
      '30 ddq this process watches the d',
      '30 started started',
    ],
  )
  t.match(firstEvents(rig)[4], { version: '1.2.0', commit: '', public: publicUrl, admin: adminUrl })
  t.match([publicUrl, adminUrl], [/^https:\/\/127\.0\.0\.1:\d+$/, /^http:\/\/127\.0\.0\.1:\d+$/])
  t.match(urls, {
    email: /^https:\/\/courier\.example\.com\/callback\/corp-100fa4b2\/[0-9a-f]{32}\/email$/,
    sms: /^https:\/\/courier\.example\.com\/callback\/corp-100fa4b2\/[0-9a-f]{32}\/sms$/,
  })
  t.match(await rig.page('/console'), 'Words: templates.yaml: is no name of a template, so nothing reads it')
  for (const what of ['Addresses left out', 'Events waiting', 'Device alerts'])
    t.match(await rig.page('/console'), what)

  // A mail goes out, comes back, and is found in the mailbox.
  await rig.post('email', mailBody())
  const id = /^X-Callback-Courier: ([0-9a-f]{32})\r$/m.exec(String(rig.smtp.mails[0]?.data))?.[1] ?? ''
  imap.mails.set(1, FORMS['postfix']({ id: 'f'.repeat(32), to: 'ann@example.com', status: '5.1.1' }))
  imap.mails.set(3, FORMS['postfix']({ id, to: 'ann@example.com', status: '5.1.1' }))
  imap.mails.set(2, 'Subject: hello\r\nMessage-ID: <1@example.com>\r\n\r\nno report')
  imap.say('* 3 EXISTS\r\n')
  await until(() => imap.moved.length > 0, 'the report is read')
  t.same(imap.moved, [3])
  t.match(await rig.page(`/console/messages/${id}`), 'It did not arrive: 5.1.1')
  const receipt = { provider: 'smtp', id, status: 'undelivered', code: '5.1.1' }
  t.match(
    rig.events().filter(({ event }) => event === 'receipt'),
    [{ ...receipt, result: 'recorded' }],
  )

  // A device alert is mailed, and what is asked for and not here is counted.
  emulator.devices.perform('1144502133', 'alarm', 'rule-door')
  emulator.devices.perform('1144502133', 'offline')
  await until(() => rig.smtp.mails.length === 2 && rig.twilio.messages.length === 1, 'the alarms')
  t.same(
    store.accepted().map(({ message, recipientHash }) => [message.kind, message.destination, recipientHash]),
    [
      ['registration-activation', 'BLtxg0UXouU', 'eJpfajZfnn2NPuYhR8iOiQ'],
      ['device-alert', 'BLtxg0UXouU', 'eJpfajZfnn2NPuYhR8iOiQ'],
      ['device-offline', 'livr2B7xWdA', 'bxfTA0dd0WbIsnT-bEFycg'],
    ],
  )
  t.match(await rig.page('/console/today'), /example\.com: 1 address<\/th><td[^>]*>2<.*device-offline/s)
  t.equal((await rig.ask('/nowhere')).status, 404)
  t.equal((await rig.ask('/%zz')).status, 404)
  const metrics = await rig.page('/metrics')
  t.match(metrics, 'callback_courier_strays_total{err_code="4041001"} 2\n')
  t.match(metrics, 'callback_courier_ddq_subscribed 1\n')
  t.match(metrics, 'callback_courier_bounce_mailbox_failing_seconds 0\n')
  t.match(metrics, /callback_courier_event_posts_total\{result="delivered"\} [1-9]/)
  t.match(metrics, /callback_courier_store_commit_seconds_count [1-9]/)
  const reporting = [...metrics.matchAll(/receipts_total\{[^}]*provider="(\w+)"/g)].map(([, name]) => name)
  t.same(new Set(reporting), new Set(['smtp', 'twilio', 'aliyun', 'tencent']))

  // What becomes of messages and carriers is told elsewhere.
  const told = () => receiver.told().map(({ type, data }) => [type, data['provider']].join(' '))
  await until(() => told().length === 8, 'mails, SMS and the report')
  await two.aliyun.standIn.close()
  for (let n = 0; n < 5; n += 1) await rig.post('sms', smsBody({ to: `1380013800${n}` }, { type: 4 }))
  await until(() => told().length === 14, 'a carrier is gone')
  t.same([...told()].sort(), [
    'message.ended smtp',
    'message.ended smtp',
    ...Array<string>(5).fill('message.ended tencent'),
    'message.ended twilio',
    'message.reported smtp',
    'provider.down aliyun',
    'provider.up aliyun',
    'provider.up smtp',
    'provider.up tencent',
    'provider.up twilio',
  ])

  t.equal((await rig.post('email', mailBody({ to: 'bob@example.com', email_param: ALARM }))).errCode, 0)
  await rig.service().close()
  const posted = posts.join('\n')
  t.match(posted, /Door left open[^]*Freezer T2/, 'alarms are told before the end')
  t.match(posted, 'Example: device 1144502133 ')
  t.notMatch(posted, String.raw`\n-- `, 'without the footer of the mail')
  t.same(
    rig
      .events()
      .slice(rig.events().findIndex(({ event }) => event === 'ending'))
      .filter(({ event }) => event !== 'final' && event !== 'robot')
      .map(({ event, message }) => [event, message]),
    [
      ['ending', 'ending: what is in flight is finished or given back'],
      ['ddq', 'another process watches the devices'],
      ['ended', 'ended'],
    ],
  )
  t.same(intervals(), [])
  await until(() => imap.connections() === 0 && emulator.ddq.statistics().connections === 0, 'all hang up')
  for (const url of [publicUrl, adminUrl]) await t.rejects(fetch(url), url)
})

t.test('what nobody has set up is not there', async t => {
  const settings = { TLS: 'off', EMAIL_TOKEN: '', ADMIN_TOKENS: 'a-password-for-the-console' }
  const away = [new StoreUnusable(quote('it is not there yet'), { passes: true })]
  const startStoreThread = (given: StoreSettings) => {
    for (const failure of away.splice(0)) throw failure
    return serveHere(given)
  }
  const rig = await startRig(t, { ...settings, ADMIN_PORT: `${await freePort()}` }, { startStoreThread })
  t.same(
    firstEvents(rig).map(({ event }) => event),
    ['store', 'started'],
  )
  const headers = { authorization: `Basic ${btoa('admin:a-password-for-the-console')}` }
  const metrics = await rig.page('/metrics', headers)
  t.notMatch(metrics, /^callback_courier_(?:ddq_subscribed|events_waiting|events_oldest_seconds) /m)
  t.notMatch(metrics, 'courier_certificate_remaining_seconds 1')
  const overview = await rig.page('/console', headers)
  t.notMatch(overview, /Device alerts|Events waiting|E-mail callbacks/)
  const urls = await rig.page('/console/urls', headers)
  t.match(urls, /http:\/\/127\.0\.0\.1:0\/callback\/corp-100fa4b2\/[0-9a-f]{32}\/sms/)
  t.notMatch(urls, '/email')
  t.equal((await rig.ask(`/receipt/bounce/${'0'.repeat(32)}`, { method: 'POST' })).status, 404)
  const { headers: answered } = await rig.validate('sms')
  t.equal(answered['cache-control'], 'no-store')
  t.notOk('strict-transport-security' in answered, 'a proxy speaks for its own TLS')
  const sent = await fetch(`${rig.service().adminUrl}/console/send`, {
    method: 'POST',
    headers: {
      ...headers,
      origin: rig.service().adminUrl,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ kind: 'sms/login-code', to: '+8613800138000' }),
    redirect: 'manual',
  })
  t.match(await sent.text(), /[0-9a-f]{32}/)
  t.equal(rig.twilio.messages.length, 1)
})
