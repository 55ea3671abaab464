import t from 'tap'
import { messagePages } from '../../src/admin/console/messages.ts'
import type { ConsoleOptions } from '../../src/admin/console/page.ts'
import { sendPages, testBody } from '../../src/admin/console/send.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { inZone } from '../rigs/in-zone.ts'
import { EMAIL_TOKEN, mailBody, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'
import { startTwoCarriers } from '../rigs/two-carriers.ts'
import { sentMessage, viewOf } from '../rigs/view.ts'

const code = (to: string, digits: string) =>
  mailBody({ to, subject: 'Your code' }, { type: 5, url: undefined, code: digits, hour: '0.5' })

async function form(rig: ServiceRig, path: string, fields: Record<string, string>, language = 'en') {
  return fetch(`${rig.service().adminUrl}${path}`, {
    method: 'POST',
    headers: { 'accept-language': language },
    body: new URLSearchParams(fields),
    redirect: 'manual',
  })
}

async function read(rig: ServiceRig, path: string): Promise<string> {
  const response = await fetch(`${rig.service().adminUrl}${path}`)
  t.equal(response.status, 200, path)
  return response.text()
}

const settled = (rig: ServiceRig, state: string, count: number) =>
  until(
    () => rig.events().filter(each => each['event'] === 'final' && each['state'] === state).length >= count,
    `${count} ${state}`,
  )

t.test('a recipient is found by hash, and stands in no address and on no page', async t => {
  const rig = await startRig(t)
  await rig.post('email', code('ann@example.com', '104729'))
  await rig.post('email', mailBody({ to: 'bob@example.org' }))
  await rig.post('sms', smsBody())
  await settled(rig, 'sent', 3)
  t.match(
    await read(rig, '/console'),
    /icon" href="data:,"[^]*<footer>callback-courier \d+\.\d+\.\d+/,
    'and its version',
  )
  const find = async (recipient: string) => {
    const found = await form(rig, '/console/messages', { recipient })
    t.equal(found.status, 303)
    const where = found.headers.get('location') ?? ''
    t.notMatch(where, recipient.slice(0, 3))
    return read(rig, where)
  }
  const [mail, sms] = [await find('ann <ann@example.com>'), await find('+8613800138000')]
  t.match(mail, 'a***@example.com')
  t.notMatch(mail, 'b***@example.org')
  t.match(sms, '+86*******8000')
  t.match(await find('nobody@example.com'), /No message to this recipient[^]*to anybody came at \d{4}-/)
  const id = /\/console\/messages\/[0-9a-f]{32}/.exec(mail)?.[0] ?? ''
  const detail = await read(rig, id)
  t.match(detail, /smtp took it [\d.]+ m?s after it came, at [^]*junk folder[^]*250 /)
  for (const page of [mail, sms, detail])
    for (const secret of ['ann@example.com', '13800138000', '104729', 'code=abc', EMAIL_TOKEN])
      t.notMatch(page, secret)
})

t.test('a filter that is none is named, and its value is not repeated', async t => {
  const rig = await startRig(t)
  t.notMatch(await read(rig, '/console/messages?state=sent&channel=&kind='), 'not filtered by')
  const page = await read(rig, '/console/messages?state=vanished&chanel=sms&channel=email')
  t.match(page, 'This list is not filtered by state, chanel:')
  t.notMatch(page, 'vanished')
})

t.test('what servers and browsers say is text on every page, never HTML', async t => {
  const rig = await startRig(t)
  const hostile = '<img src=x onerror=alert(1)>"\'&'
  rig.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: `450 4.7.1 ${hostile}` } : undefined)
  await rig.post('email', mailBody({ to: 'ann@example.com' }))
  await until(() => rig.events().some(each => each['event'] === 'attempt'), 'an attempt')
  const list = await read(rig, '/console/messages')
  const id = /\/console\/messages\/([0-9a-f]{32})/.exec(list)?.[1] ?? ''
  for (const page of [list, await read(rig, `/console/messages/${id}`), await read(rig, '/console')]) {
    t.match(page, '&lt;img src=x onerror=alert(1)&gt;&#34;&#39;&amp;', 'it is shown')
    t.notMatch(page, '<img')
  }
  const filter = new URLSearchParams(
    ['channel', 'state', 'kind', 'who', 'before'].map((name): [string, string] => [name, '"><img src=x>']),
  ).toString()
  const filtered = await read(rig, `/console/messages?${filter}`)
  t.notMatch(filtered, '<img')
  t.notMatch(filtered, 'one recipient chosen')
  const posted = await form(rig, '/console/messages', { recipient: '"><img src=x>', kind: '"><img src=x>' })
  t.equal(posted.status, 404)
  t.notMatch(await posted.text(), '<img')
})

t.test(
  'what an operator does to a message is told once it is done, and not when the store declines',
  async t => {
    const page = messagePages.find(({ method, path }) => method === 'POST' && path.endsWith(':id'))
    const done = async (does: boolean, action: string) => {
      const events: string[] = []
      const act = async () => does
      const options = {
        view: {
          queries: { findMessage: async (id: string) => ({ id, channel: 'sms', kind: 'login-code' }) },
        },
        actions: { retryMessage: act, allowAgain: act, cancelMessage: act },
        tryNow: (channel: string) => events.push(`try ${channel}`),
        emit: (event: { type: string; did?: string; state?: string }) =>
          events.push(`${event.type} ${event.did ?? event.state}`),
      } as unknown as ConsoleOptions
      const asked = { operator: 'ann', params: { id: 'a1' }, query: {} } as const
      const response = await page?.handle({ ...asked, fields: { do: action } }, options)
      t.same(response, { is: 'redirect', to: '/console/messages/a1' })
      return events
    }
    t.same(await done(true, 'retry'), ['try sms', 'operator retry'])
    t.same(await done(true, 'allow'), ['operator allow-again'])
    t.same(await done(true, 'cancel'), ['operator cancel', 'final superseded'])
    for (const action of ['retry', 'allow', 'cancel']) t.same(await done(false, action), [], action)
    t.same(await done(true, 'delete'), [])
  },
)

t.test('a message’s page offers what can be done to it, and stays current while it can change', async t => {
  const now = Date.parse('2026-11-21T02:04:00Z')
  const row = {
    ...sentMessage,
    channel: 'email',
    kind: 'file',
    maskedRecipient: 'a***@example.com',
    state: 'queued',
    arrivedAt: now - 5000,
    expiresAt: now + 60_000,
    dueAt: now,
    finalAt: null,
    attempts: 3,
  }
  const show = async (path: string, more: object, query = {}) => {
    const found = { ...row, ...more }
    const queries = {
      findMessage: async () => found,
      listMessages: async () => ({ messages: [found], lookedFrom: null }),
    }
    const response = await messagePages
      .find(each => each.method === 'GET' && each.path === path)
      ?.handle({ operator: '', params: {}, fields: {}, query }, {
        view: viewOf({ now: () => now, queries: { ...viewOf().queries, ...queries } as never }),
      } as unknown as ConsoleOptions)
    return response?.is === 'page' ? { liveMs: response.liveMs, text: response.content.in('en') } : undefined
  }
  const detail = (more: object) => show('/console/messages/:id', more)
  t.match(await detail({}), { liveMs: 5000, text: /Try now.*Cancel/ })
  const ended = { state: 'sent', finalAt: now - 4000, dueAt: null }
  t.match(await detail({ ...ended }), { liveMs: undefined, text: /after 1\.0 s/ })
  for (const more of [{ state: 'sending' }, ended]) t.notMatch((await detail(more))?.text, 'Try now')
  const back = (ms: number, verdict: string, more = {}) => ({
    ...ended,
    receipt: {
      status: 'failed',
      errorCode: '5.1.1',
      at: now - ms,
      fault: { verdict, scope: 'recipient', reason: 'x' },
    },
    ...more,
  })
  const DAY = 86_400_000
  t.match((await detail(back(DAY, 'recipient')))?.text, 'Allow again')
  for (const more of [
    back(DAY + 1, 'recipient'),
    back(0, 'content'),
    back(0, 'recipient', { channel: 'sms' }),
    ended,
  ])
    t.notMatch((await detail(more))?.text, 'Allow again')
  t.match(await show('/console/messages', {}), { liveMs: 5000, text: /1 message<.*5\.0 s so far/s })
  const text = /failed 5\.1\.1<.*class="n">3<.*>1\.0 s</s
  t.match(await show('/console/messages', back(0, ''), { before: '5' }), { liveMs: undefined, text })
})

t.test('what waits can be tried now or cancelled', async t => {
  const rig = await startRig(t)
  // Nothing is due by itself for two minutes.
  rig.twilio.fault = () => ({
    is: 'answer',
    status: 429,
    body: JSON.stringify({ code: 20429, message: 'Too Many Requests', status: 429 }),
    headers: { 'content-type': 'application/json', 'retry-after': '120' },
  })
  await rig.post('sms', smsBody({ to: '13800138000' }))
  await rig.post('sms', smsBody({ to: '13900139000' }))
  const ids = rig.events().flatMap(each => (each['event'] === 'callback' ? (each['ids'] as string[]) : []))
  const [retried = '', cancelled = ''] = ids
  const waiting = await read(rig, `/console/messages/${retried}`)
  t.match(waiting, 'Try now')
  t.match(waiting, '20429')
  // The second one is asked for when the pause after the first answer is over.
  await until(
    async () => (await read(rig, `/console/messages/${cancelled}`)).includes('20429'),
    'its own answer',
  )
  rig.twilio.fault = undefined
  t.equal((await form(rig, `/console/messages/${cancelled}`, { do: 'cancel' })).status, 303)
  t.match(await read(rig, `/console/messages/${cancelled}`), 'cancelled')
  t.equal((await form(rig, `/console/messages/${retried}`, { do: 'retry' })).status, 303)
  await settled(rig, 'sent', 1)
  t.match(
    rig.events().filter(each => each['event'] === 'operator'),
    [
      { did: 'cancel', channel: 'sms', ids: [cancelled] },
      { did: 'retry', channel: 'sms', ids: [retried] },
    ],
  )
  const end = rig.events().find(each => each['event'] === 'final' && each['id'] === cancelled)
  t.match(end, { state: 'superseded' }, 'the log has the end of what was cancelled')
  t.same(
    rig.twilio.messages.map(message => message.to),
    ['+8613800138000'],
  )
})

t.test('a test send goes the road of every message', async t => {
  const rig = await startRig(t)
  const mail = { kind: 'email/activation-code', to: 'ann@example.com' }
  t.match(await (await form(rig, '/console/send', mail, 'zh-CN')).text(), '已接受')
  await until(() => rig.smtp.mails.length === 1, 'the test mail')
  t.match(rig.smtp.mails[0]?.data.toString(), /Subject: Test /, 'in the language of messages')
  const sendCode = (to: string) => form(rig, '/console/send', { kind: 'sms/login-code', to })
  t.match(await (await sendCode('+8613800138000')).text(), '<li class="ok">login-code: accepted')
  t.match(await (await sendCode('+49301234567')).text(), '<li class="fail">login-code: err_code 4002')
  rig.twilio.fault = () => ({ is: 'answer', status: 400, body: '{"code": 21211, "status": 400}' })
  t.match(
    await (await sendCode('+8613800138001')).text(),
    /err_code 4002\d+[^<]*<a href="\/console\/messages\/[0-9a-f]{32}">/,
  )
  t.equal((await form(rig, '/console/send', { kind: 'sms/nothing', to: '+8613800138000' })).status, 400)
  t.equal((await sendCode('a@example.com,b@example.com')).status, 400)
})

t.test('a test send has a code of its own where its kind has one, and a subject that says when', async t => {
  inZone(t, 'Asia/Shanghai')
  const at = Date.parse('2026-11-21T02:04:05Z')
  const bodies = callbackKinds.map(kind => ({
    kind,
    body: testBody(kind, 'to', at, 'en') as Record<string, unknown>,
  }))
  for (const { kind, body } of bodies) {
    const params = body[kind.channel === 'sms' ? 'sms_param' : 'email_param'] as Record<string, unknown>
    const { code } = kind.sample.params
    if (code === undefined) t.notOk('code' in params, kind.name)
    else t.match(params['code'], /^\d{6}$/)
    t.equal(params['type'], kind.type)
    t.match(body['subject'] ?? 'none', kind.channel === 'sms' ? 'none' : /^Test 10:04:05: ./)
  }
  const [file] = callbackKinds.filter(({ name }) => name === 'file')
  t.match(file && testBody(file, 'to', at, 'zh-CN'), { subject: /^测试 10:04:05：\p{Script=Han}/u })
  const codes = Array.from({ length: 5 }, () =>
    JSON.stringify(bodies.map(({ kind }) => testBody(kind, 'to', at, 'en'))),
  )
  t.equal(new Set(codes).size, 5, 'a second one is no duplicate of the first')
})

t.test('only kinds of channels that are on can be sent', async t => {
  const [get, post] = sendPages
  const options = { view: viewOf({ channels: ['email'] }) } as unknown as ConsoleOptions
  const asked = { operator: '', params: {}, query: {}, fields: {} } as const
  const form = await get?.handle(asked, options)
  t.match(form, { is: 'page' })
  const text = form?.is === 'page' ? form.content.in('en') : ''
  t.match(text, 'value="email/file"')
  t.notMatch(text, 'value="sms/')
  const fields = { kind: 'sms/login-code', to: '+8613800138000' }
  t.match(await post?.handle({ ...asked, fields }, options), { is: 'page', status: 400 })
  const bodies: unknown[] = []
  const sending = {
    ...options,
    sampleLanguage: 'zh-CN',
    emit: () => {},
    testSend: async (_channel: string, body: unknown) => ({
      ids: [],
      err_code: bodies.push(body),
      err_msg: '',
    }),
  } as unknown as ConsoleOptions
  await post?.handle({ ...asked, fields: { kind: 'email/file', to: 'ann@example.com' } }, sending)
  t.match(bodies, [{ to: 'ann@example.com', subject: /^测试 / }])
})

t.test('who has a password may see the URLs, and take a copy of the store, which the log says', async t => {
  const { settings } = await startTwoCarriers(t)
  const PUBLIC_URL = 'https://courier.example.com'
  const rig = await startRig(t, { ...settings, PUBLIC_URL, ADMIN_TOKENS: 'ann:a-password-of-this-test-1' })
  const authorization = 'Bearer a-password-of-this-test-1'
  const copy = await fetch(`${rig.service().adminUrl}/backup`, { method: 'POST', headers: { authorization } })
  t.match([copy.status, copy.headers.get('content-length')], [200, /^\d+$/])
  t.match(await copy.text(), /^SQLite format 3\0/)
  const shown = await fetch(`${rig.service().adminUrl}/console/urls`, { headers: { authorization } })
  const urls = await shown.text()
  for (const [channel, name] of [
    ['email', 'e-mail'],
    ['sms', 'SMS'],
  ] as const)
    t.match(
      urls.split('</details>').find(each => each.includes(rig.path(channel))),
      `Show the ${name} URL`,
    )
  t.match(urls, /<code>https:[^<]+<\/code> <button type="button" data-copied="Copied" hidden>Copy</)
  for (const carrier of ['aliyun', 'tencent'])
    t.match(
      urls,
      RegExp(`Delivery reports of ${carrier}: .*?<code>${PUBLIC_URL}/receipt/${carrier}/[0-9a-f]{32}</code>`),
    )
  t.match(urls, RegExp(`Mails that came back: .*?<code>${PUBLIC_URL}/receipt/bounce/[0-9a-f]{32}</code>`))
  const did = rig.events().filter(each => each['event'] === 'operator')
  t.match(did, [{ operator: 'ann', did: 'backup' }])
})
