import t from 'tap'
import { REFUSALS } from '../../../sandbox/carriers/aliyun.ts'
import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import { quote } from '../../../src/language/sentence.ts'
import published from '../../../src/providers/aliyun.codes.json' with { type: 'json' }
import type { TemplateCarrierSettings } from '../../../src/providers/template-carrier.ts'
import { inEnglish } from '../../language/english.ts'
import { templateSms as sms, startCarrier } from '../carrier.ts'
import { never } from '../contract.ts'
import { judgementOf } from '../sms.ts'
import { NUMBER, openAliyun, refuse, SIGN_NAME, startAliyunServer, templatesOf } from './rig.ts'

const start = startCarrier(startAliyunServer, openAliyun)

t.test('what it asks for', async t => {
  const { server, send, provider } = await start(t)
  const message = sms()
  t.match(await send(message), { is: 'sent', reply: 'accepted', providerId: /./ })
  t.match(server.standIn.requests[0], {
    action: 'SendSms',
    refusal: null,
    query: {
      PhoneNumbers: NUMBER,
      SignName: SIGN_NAME,
      TemplateCode: 'SMS_1',
      TemplateParam: '{"code":"607182"}',
      OutId: message.id,
    },
    headers: {
      // Of an empty body.
      'x-acs-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-acs-date': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      'x-acs-signature-nonce': /^[\da-f]{32}$/,
      'x-acs-version': '2017-05-25',
      accept: 'application/json',
    },
  })
  t.match(server.standIn.messages[0]?.body, '【示例科技】您的验证码为607182')
  t.match(await provider.verify(), { ok: true })
})

t.test('a template without variables needs no names of them', async t => {
  const { server, send } = await start(t, { templates: templatesOf({ template: 'SMS_4', params: [] }) })
  t.match(await send(), { is: 'sent' })
  t.equal(server.standIn.requests[0]?.query['TemplateParam'], '{}')
})

t.test('abroad, by an international template', async t => {
  const { server, send } = await start(t, {
    templates: templatesOf({ template: 'SMS_2', signature: SIGN_NAME }),
  })
  t.match(await send(sms({ to: '+85251234567', country: 'HK', params: { code: '12345678' } })), {
    is: 'sent',
  })
  t.equal(server.standIn.requests[0]?.query['PhoneNumbers'], '85251234567')
})

t.test('an answer of the API means', async t => {
  const { server, send } = await start(t)
  const plain = (status: number, body: string, headers = {}) =>
    ({ is: 'answer', status, body, headers }) as const
  const ambiguous = { is: 'ambiguous' }
  const limit = (words: string, retryAfterMs: number): [CarrierFault, object] => [
    refuse('isv.BUSINESS_LIMIT_CONTROL', words),
    { is: 'limit', scope: 'recipient', retryAfterMs, reply: words },
  ]
  const rows: readonly (readonly [CarrierFault, object])[] = [
    limit('触发分钟级流控Permits:1', 60_000),
    limit('触发小时级流控Permits:5', 3_600_000),
    limit('触发天级流控Permits:10', 86_400_000),
    limit('Day-level limit, Permits:10', 86_400_000),
    limit('Hour-level limit', 3_600_000),
    limit('触发流控', 60_000),
    limit('too many', 60_000),
    [refuse('isv.DAY_LIMIT_CONTROL'), { is: 'limit', scope: 'account' }],
    [refuse('isv.NEW_CODE'), { is: 'retry', whose: 'ours', scope: undefined, code: 'isv.NEW_CODE' }],
    [refuse('isp.NEW_CODE'), ambiguous],
    [plain(400, '{"Code":"isp.NEW_CODE"}'), ambiguous],
    [refuse('Something.Else'), { is: 'retry', whose: 'ours' }],
    [
      refuse(
        'SignatureDoesNotMatch',
        'Specified signature is not matched. server string to sign is:POST&SignName=x&TemplateParam=abc',
      ),
      { is: 'retry', whose: 'ours', reply: /^Specified signature is not matched\.$/ },
    ],
    [refuse('Throttling.User'), { is: 'retry', whose: 'later', overload: 'requests' }],
    [
      plain(429, '', { 'retry-after': '7' }),
      { is: 'retry', whose: 'later', scope: 'account', retryAfterMs: 7000 },
    ],
    [
      plain(403, '<html>', { 'retry-after': '7' }),
      { is: 'retry', whose: 'ours', scope: 'account', code: 'http-403', overload: undefined },
    ],
    ...[401, 402, 404, 407].map((status): [CarrierFault, object] => [
      plain(status, ''),
      { is: 'retry', whose: 'ours', scope: 'account' },
    ]),
    [plain(400, ''), { is: 'retry', whose: 'ours', scope: 'message' }],
    [plain(405, ''), { is: 'retry', whose: 'ours', scope: 'message' }],
    [plain(200, '{"Code":"isv.NEW_CODE"}'), { whose: 'ours', reply: 'isv.NEW_CODE' }],
    [plain(307, ''), { is: 'retry', whose: 'ours', scope: 'transport', code: 'http-307' }],
    [plain(500, '{"Code":"OK"}'), ambiguous],
    [plain(502, '<html>'), ambiguous],
    [plain(200, '<html>'), ambiguous],
    [plain(200, '[]'), ambiguous],
    [plain(200, '{"Message":"OK"}'), ambiguous],
    [plain(200, '{"Code":"OK","Message":"OK"}'), { is: 'sent' }],
    ...['x'.repeat(65), 'a\u001b[31mb', ''].map((id): [CarrierFault, object] => [
      plain(200, JSON.stringify({ Code: 'OK', BizId: id })),
      { is: 'sent', providerId: undefined },
    ]),
    [refuse(`bad.${NUMBER.slice(-11)}`), { is: 'retry', code: 'unreadable-code', reply: /^(?!.*\d{5})/ }],
    [plain(200, `{"Code":"OK","x":"${'x'.repeat(300 * 1024)}"}`), ambiguous],
    [{ is: 'half' }, ambiguous],
    [plain(429, '{"Code":"isp.NEW"}'), { is: 'retry', whose: 'later', overload: 'requests' }],
  ]
  for (const [fault, expected] of rows) {
    server.fault = () => fault
    t.match(inEnglish(await send()), expected, JSON.stringify(fault).slice(0, 60))
  }
  server.fault = () => refuse('isv.NEW_CODE', 'QWERTY is a word')
  const lettered = sms({ params: { code: 'QWERTY' } })
  t.match(inEnglish(await send(lettered)), { reply: '… is a word' }, 'a code of letters')
})

t.test('every published code has an outcome, the one that its verdict says', async t => {
  const { server, send } = await start(t)
  t.ok(REFUSALS.length > 60)
  const listed = [...published.send, ...published.gateway.codes]
  for (const { code } of REFUSALS) {
    server.fault = () => refuse(code)
    const { verdict, scope } = listed.find(each => each.code.replace(/\*$/, '') === code) ?? {}
    t.same(judgementOf(await send()), { verdict, scope }, code)
  }
})

t.test('template, signature and country of a message are named', async t => {
  const { provider } = await start(t)
  const { template } = templatesOf({}).templateFor('aliyun', sms()) as { template: string }
  t.same(provider.scopesOf?.(sms()), { template, sender: SIGN_NAME, country: 'CN' })
  const none = await start(t, { templates: { templateFor: () => ({ why: 'none' }) } })
  t.same(none.provider.scopesOf?.(sms()), { country: 'CN' })
})

t.test('what does not fit is not sent', async t => {
  const rows: readonly (readonly [Partial<TemplateCarrierSettings>, RegExp])[] = [
    [
      { templates: { templateFor: () => ({ why: quote('no template for this kind') }) } },
      /^no template for this kind$/,
    ],
    [{ signName: undefined }, /has no signature: set ALIYUN_SMS_SIGN_NAME/],
    [{ templates: templatesOf({ params: ['607182'] }) }, /must be named/],
  ]
  const { server, send } = await start(t, { templates: templatesOf({ params: ['1'] }) })
  for (const [settings, why] of rows) {
    const provider = openAliyun(server.url, settings)
    t.match(provider.fits?.(sms()), why)
    await provider.close()
  }
  t.match(await send(), { is: 'retry', whose: 'ours', code: 'no-template', untouched: true })
  t.equal(server.standIn.requests.length, 0)
})

t.test('after a lost answer the details tell that it was accepted, and never that it was not', async t => {
  const { server, provider, send } = await start(t)
  server.fault = () => ({ is: 'reset', accept: true })
  const [lost, other] = [sms(), sms()]
  t.match(await send(lost), { is: 'ambiguous' })
  server.fault = undefined
  const since = Date.now() - 1000
  t.match(await provider.lookUp?.(lost, since, never), { is: 'accepted', reply: /waiting for the carrier/ })
  t.match(await provider.lookUp?.(other, since, never), { is: 'not-known' })
  for (let more = 0; more < 60; more += 1) await send()
  t.match(await provider.lookUp?.(lost, since, never), { is: 'accepted' }, 'on the second page')
  server.fault = () => refuse('isp.RAM_PERMISSION_DENY')
  t.match(await provider.lookUp?.(lost, since, never), { is: 'unreachable', reply: /RAM_PERMISSION_DENY/ })
  server.fault = () => ({ is: 'answer', status: 502, body: '<html>' })
  t.match(await provider.lookUp?.(lost, since, never), { is: 'unreachable' })
  const asked = server.standIn.requests.filter(({ action }) => action === 'QuerySendDetails')
  t.same(new Set(asked.map(({ query }) => query['PageSize'])), new Set(['50']))
})

t.test('both days around midnight are asked for, of China’s clock and of UTC', async t => {
  let now = 0
  const { server, provider } = await start(t, { clock: { now: () => now } })
  const daysAsked = async (since: number, at: number) => {
    now = at
    const before = server.standIn.requests.length
    t.match(await provider.lookUp?.(sms(), since, never), { is: 'not-known' })
    return server.standIn.requests.slice(before).map(({ query }) => query['SendDate'])
  }
  const noon = Date.UTC(2026, 0, 15, 4)
  t.same(await daysAsked(noon, noon + 30_000), ['20260115'])
  const midnightInChina = Date.UTC(2026, 0, 15, 16)
  const both = ['20260116', '20260115']
  t.same(await daysAsked(midnightInChina - 60_000, midnightInChina - 30_000), both)
  t.same(await daysAsked(midnightInChina + 60_000, midnightInChina + 90_000), both)
  const midnight = Date.UTC(2026, 0, 16)
  t.same(await daysAsked(midnight - 1000, midnight + 1000), both)
  const night = Date.UTC(2026, 0, 15, 20)
  t.same(await daysAsked(night, night), both, 'whichever zone it counts in')
  const days = ['20260117', '20260116', '20260115']
  t.same(await daysAsked(midnight + 240_000, midnight + 86_280_000), days, 'our clock may be late by 5 min')
  t.same(await daysAsked(noon - 2 * 86_400_000, noon), ['20260115', '20260114', '20260113'])
})

t.test('a row with our OutId is ours, whatever became of it; no row proves nothing', async t => {
  const { server, provider } = await start(t)
  const message = sms()
  const asked = (fields: object) => {
    const body = JSON.stringify({ Code: 'OK', ...fields })
    server.fault = () => ({ is: 'answer', status: 200, body })
    return provider.lookUp?.(message, Date.now() - 1000, never)
  }
  const listing = (...rows: unknown[]) => asked({ SmsSendDetailDTOs: { SmsSendDetailDTO: rows } })
  for (const [SendStatus, state] of [
    [1, 'waiting for the carrier'],
    ['2', 'not delivered'],
    [3, 'delivered'],
    [9, 'its state is not known'],
  ] as const) {
    const found = await listing({ OutId: 'other' }, { OutId: message.id, SendStatus, Content: '【x】123456' })
    t.same(inEnglish(found), { is: 'accepted', reply: `found among the sent ones, ${state}` })
  }
  t.match(await listing({ OutId: 'other' }, {}), { is: 'not-known' })
  t.match(await listing(1, null, { OutId: message.id }), { is: 'accepted' })
  t.match(await asked({ TotalCount: 2, SmsSendDetailDTOs: null }), { is: 'not-known' })
  t.match(await asked({ TotalCount: 'x' }), { is: 'not-known' })
  for (const [TotalCount, pages] of [
    [50, ['1']],
    [51, ['1', '2']],
    [999, ['1', '2', '3', '4']],
  ] as const) {
    const before = server.standIn.requests.length
    await asked({ TotalCount })
    const queries = server.standIn.requests.slice(before).map(({ query }) => query)
    const [day] = queries.map(each => each['SendDate'])
    const said = queries.flatMap(each => (each['SendDate'] === day ? each['CurrentPage'] : []))
    t.same(said, pages, `${TotalCount} rows`)
  }
})

t.test('a signature of each kind of wrong', async t => {
  const now = Date.now()
  const wall = () => now
  const { server } = await start(t, { wall }, { now: wall })
  for (const [settings, code] of [
    [{ keyId: 'other', wall }, 'InvalidAccessKeyId.NotFound'],
    [{ secret: 'other', wall }, 'SignatureDoesNotMatch'],
    [{ wall: () => now - 16 * 60_000 }, 'InvalidTimeStamp.Expired'],
  ] as const) {
    const provider = openAliyun(server.url, settings)
    t.match(await provider.send(sms(), never), { is: 'retry', whose: 'ours', code })
    t.match(await provider.verify(), { ok: false, detail: new RegExp(code) })
    await provider.close()
  }
})
