import t from 'tap'
import type { CarrierFault } from '../../../sandbox/carriers/api-server.ts'
import { numberRefusalOf, REFUSALS } from '../../../sandbox/carriers/tencent.ts'
import { quote } from '../../../src/language/sentence.ts'
import published from '../../../src/providers/tencent.codes.json' with { type: 'json' }
import type { TencentSettings } from '../../../src/providers/tencent.ts'
import { inEnglish } from '../../language/english.ts'
import { templateSms as sms, startCarrier } from '../carrier.ts'
import { never } from '../contract.ts'
import { judgementOf } from '../sms.ts'
import { NUMBER, openTencent, refuse, SIGN_NAME, startTencentServer, templatesOf } from './rig.ts'

const start = startCarrier(startTencentServer, openTencent)

t.test('what it asks for', async t => {
  const { server, send, provider } = await start(t)
  const message = sms()
  t.match(await send(message), { is: 'sent', reply: 'accepted', providerId: /^5000:/ })
  t.match(server.standIn.requests[0], {
    action: 'SendSms',
    refusal: null,
    params: {
      PhoneNumberSet: [NUMBER],
      SmsSdkAppId: '1400006666',
      TemplateId: '1110',
      SignName: SIGN_NAME,
      TemplateParamSet: ['607182', '5'],
      SessionContext: message.id,
    },
  })
  t.equal(server.standIn.messages[0]?.body, '【示例科技】验证码607182，5分钟内有效。')
  t.match(await provider.verify(), { ok: true })
})

t.test('abroad, without the signature of the mainland', async t => {
  const { server, send } = await start(t, {
    templates: templatesOf({ template: '1111', params: ['607182'] }),
  })
  t.match(await send(sms({ to: '+85251234567', country: 'HK' })), { is: 'sent' })
  t.notHas(server.standIn.requests[0]?.params, { SignName: String })
})

t.test('an answer of the API means', async t => {
  const { server, send } = await start(t)
  const plain = (status: number, body: string): CarrierFault => ({ is: 'answer', status, body })
  const inRow = (code: string): CarrierFault => ({ is: 'answer', ...numberRefusalOf(NUMBER, code) })
  const ambiguous = { is: 'ambiguous' }
  const ours = { is: 'retry', whose: 'ours' }
  const cutOff = 'FailedOperation.TemplateParamSetNotMatchApprovedTemplat'
  const rows: readonly (readonly [CarrierFault, object])[] = [
    [
      inRow('LimitExceeded.PhoneNumberThirtySecondLimit'),
      { is: 'limit', scope: 'recipient', retryAfterMs: 30_000 },
    ],
    [
      refuse('LimitExceeded.PhoneNumberOneHourLimit'),
      { is: 'limit', scope: 'recipient', retryAfterMs: 3_600_000 },
    ],
    [inRow('LimitExceeded.PhoneNumberDailyLimit'), { is: 'limit', scope: 'recipient' }],
    [refuse('LimitExceeded.NewPhoneNumberRule'), { is: 'limit', scope: 'recipient' }],
    [refuse('LimitExceeded.NewRule'), { is: 'limit', scope: 'account' }],
    [refuse('RequestLimitExceeded.New'), { whose: 'later', scope: 'account', overload: 'requests' }],
    [refuse('AuthFailure.New'), { ...ours, scope: 'account' }],
    [refuse('UnauthorizedOperation.New'), { ...ours, scope: 'account' }],
    [inRow(cutOff), { ...ours, code: cutOff }],
    [inRow('FailedOperation.New'), { ...ambiguous, scope: 'message' }],
    [inRow(cutOff.slice(0, -1)), ours],
    [inRow(cutOff.slice(0, -2)), ambiguous],
    [refuse('InternalError.New'), { ...ambiguous, scope: 'transport' }],
    [refuse('NewFamily.New'), ours],
    [inRow('OK'), ours],
    [inRow('O'), ours],
    [{ is: 'answer', ...numberRefusalOf('+8613700000000', 'Ok') }, ambiguous],
    [
      plain(
        200,
        JSON.stringify({
          Response: { SendStatusSet: [{ PhoneNumber: NUMBER, Code: 'Ok', SerialNo: 'x'.repeat(65) }] },
        }),
      ),
      { is: 'sent', providerId: undefined },
    ],
    [inRow(`Bad.${NUMBER.slice(-11)}`), { ...ours, code: 'unreadable-code' }],
    [plain(200, '{"Response":{"SendStatusSet":[]}}'), ambiguous],
    [plain(200, '{"Response":{"SendStatusSet":null,"RequestId":"x"}}'), ambiguous],
    [plain(200, '{"Response":[]}'), ambiguous],
    [plain(200, '<html>'), ambiguous],
    [plain(503, '{"Response":{"Error":{"Code":"RequestLimitExceeded"}}}'), ambiguous],
    [plain(403, '<html>'), { ...ours, code: 'http-403' }],
  ]
  for (const [fault, expected] of rows) {
    server.fault = () => fault
    t.match(await send(), expected, JSON.stringify(fault).slice(0, 160))
  }
})

t.test('every published code has an outcome, in a row and of the whole request alike', async t => {
  const { server, send } = await start(t)
  t.ok(REFUSALS.length > 70)
  for (const { code } of REFUSALS) {
    const { verdict, scope } =
      [...published.send, ...published.common.codes].find(each => each.code === code) ?? {}
    server.fault = () => refuse(code)
    t.same(judgementOf(await send()), { verdict, scope }, code)
    server.fault = () => ({ is: 'answer', ...numberRefusalOf(NUMBER, code) })
    t.same(judgementOf(await send()), { verdict, scope }, code)
  }
})

t.test('what does not fit is not sent', async t => {
  const rows: readonly (readonly [Partial<TencentSettings>, RegExp])[] = [
    [
      { templates: { templateFor: () => ({ why: quote('no template for this kind') }) } },
      /^no template for this kind$/,
    ],
    [{ signName: undefined }, /has no signature: set TENCENT_SMS_SIGN_NAME/],
    [{ templates: templatesOf({ params: { code: '607182' } }) }, /must be a list/],
  ]
  const { server, send } = await start(t, { templates: templatesOf({ params: { code: '1' } }) })
  for (const [settings, why] of rows) {
    const provider = openTencent(server.url, settings)
    t.match(provider.fits?.(sms()), why)
    await provider.close()
  }
  t.match(await send(), { is: 'retry', whose: 'ours', code: 'no-template', untouched: true })
  t.equal(server.standIn.requests.length, 0)
})

t.test('after a lost answer a report that names us tells that it was accepted', async t => {
  const { server, provider, send } = await start(t, {}, { namesContext: true })
  server.fault = () => ({ is: 'reset', accept: true })
  const [lost, other] = [sms(), sms()]
  t.match(await send(lost), { is: 'ambiguous' })
  server.fault = undefined
  const since = Date.now() - 1000
  t.match(await provider.lookUp?.(lost, since, never), { is: 'accepted', providerId: /^5000:/ })
  t.match(await provider.lookUp?.(other, since, never), { is: 'not-known', reply: /no report yet/ })
  t.match(await provider.lookUp?.(lost, Date.now() + 600_000, never), { is: 'not-known' })
  server.fault = () => refuse('AuthFailure.UnauthorizedOperation')
  t.match(await provider.lookUp?.(lost, since, never), { is: 'unreachable', reply: /UnauthorizedOperation/ })
  server.fault = () => ({ is: 'answer', status: 502, body: '' })
  t.match(inEnglish(await provider.lookUp?.(lost, since, never)), { is: 'unreachable', reply: 'HTTP 502' })
})

t.test('reports are asked for by a wide span, in seconds, of the 7 days that Tencent keeps', async t => {
  const second = Date.UTC(2026, 0, 15, 4) / 1000
  const now = second * 1000 + 600
  const { server, provider } = await start(t, { clock: { now: () => now } })
  const spanAsked = async (since: number) => {
    await provider.lookUp?.(sms(), since, never)
    return server.standIn.requests.at(-1)?.params as { readonly BeginTime: number; readonly EndTime: number }
  }
  t.match(await spanAsked(now - 10_000), { BeginTime: second - 310, EndTime: second + 301, Limit: 100 })
  const { BeginTime } = await spanAsked(now - 30 * 86_400_000)
  t.equal(BeginTime, second - 7 * 86_400 + 60)
})

t.test('a report that names nobody is taken for nobody’s, and one that is missing for nothing', async t => {
  const silent = await start(t)
  const message = sms()
  await silent.send(message)
  t.match(await silent.provider.lookUp?.(message, Date.now() - 1000, never), {
    is: 'not-known',
    reply: /SessionContext/,
  })
  const slow = await start(t, {}, { namesContext: true, reportsAfterMs: 60_000 })
  await slow.send(message)
  const lookUp = () => slow.provider.lookUp?.(message, Date.now() - 1000, never)
  t.match(await lookUp(), { is: 'not-known', reply: /no report yet/ })
  const rows = [{ SessionContext: 'another' }, {}]
  const body = JSON.stringify({ Response: { PullSmsSendStatusSet: rows } })
  slow.server.fault = () => ({ is: 'answer', status: 200, body })
  t.match(await lookUp(), { is: 'not-known', reply: /SessionContext/ }, 'one without a name may be ours')
})

t.test('the limits of a number, and a signature of each kind of wrong', async t => {
  let now = Date.UTC(2026, 0, 15, 4)
  const wall = () => now
  const clock = { now: wall }
  const limits = { sameIn30s: 1, day: 2 }
  const { send, server } = await start(t, { wall, clock }, { limits, now: wall })
  const message = () => sms({ expiresAt: now + 60_000 })
  t.match(await send(message()), { is: 'sent' })
  now += 10_000
  t.match(await send(message()), { is: 'limit', retryAfterMs: 30_000 })
  now += 21_000
  t.match(await send(message()), { is: 'sent' })
  now += 31_000
  const untilMidnight = Date.UTC(2026, 0, 15, 16) - now
  t.match(await send(message()), { is: 'limit', retryAfterMs: untilMidnight })
  for (const [code, scope] of [
    ['LimitExceeded.AppDailyLimit', 'account'],
    ['LimitExceeded.AppGlobalDailyLimit', 'country'],
  ] as const) {
    server.fault = () => refuse(code)
    t.match(
      await send(message()),
      { is: 'limit', scope, retryAfterMs: 3_600_000 },
      'which the operator may raise',
    )
  }
  server.fault = undefined
  for (const [settings, code] of [
    [{ keyId: 'other', wall, clock }, 'AuthFailure.SecretIdNotFound'],
    [{ secret: 'other', wall, clock }, 'AuthFailure.SignatureFailure'],
    [{ wall: () => now - 6 * 60_000, clock }, 'AuthFailure.SignatureExpire'],
  ] as const) {
    const provider = openTencent(server.url, settings)
    t.match(await provider.send(message(), never), { is: 'retry', whose: 'ours', code })
    t.match(await provider.verify(), { ok: false, detail: new RegExp(code) })
    await provider.close()
  }
})
