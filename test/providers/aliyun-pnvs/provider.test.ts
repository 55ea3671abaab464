import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { reportOf } from '../../../sandbox/carriers/aliyun.ts'
import { aliyun } from '../../../src/providers/aliyun.ts'
import { aliyunPnvs } from '../../../src/providers/aliyun-pnvs.ts'
import { deriveReceiptKey } from '../../../src/providers/receipts.ts'
import { NO_TEMPLATES, type TemplateUse } from '../../../src/providers/sms-templates.ts'
import { enough, faultsIn, load } from '../../config/settings.ts'
import { inEnglish } from '../../language/english.ts'
import { SMS_TOKEN, smsBody, startRig, until } from '../../rigs/service.ts'
import { ALONE, refuse, SIGN_NAME, startAliyunServer, templatesOf } from '../aliyun/rig.ts'
import { mappedBy, openAndCheck, templateSms as sms, startCarrier } from '../carrier.ts'
import { never } from '../contract.ts'
import { GIVEN, NUMBER, openPnvs, startPnvs } from './rig.ts'

const { signName: signature, templateCode: template } = GIVEN

t.test('it sends our own code, under our id and what Aliyun gave, to +86 alone', async t => {
  const { server, provider, send } = await startCarrier(startPnvs, openPnvs)(t, {}, { intervalSeconds: 60 })
  const message = sms()
  t.match(await send(message), { is: 'sent', providerId: /\^0$/ })
  t.same(server.standIn.requests[0]?.query, {
    PhoneNumber: NUMBER,
    SignName: signature,
    TemplateCode: template,
    TemplateParam: '{"code":"607182","min":"5"}',
    OutId: message.id,
  })
  t.match(await send(), { is: 'limit', scope: 'recipient', retryAfterMs: 60_000 })
  t.equal(provider.lookUp, undefined, 'a lost answer is its report’s to settle')
  t.equal(await provider.verify().then(({ ok }) => ok), true)

  const misfits: readonly (readonly [Parameters<typeof sms>[0], RegExp])[] = [
    [{ to: '+4915112345678', country: 'DE' }, /^it sends to numbers of mainland China \(\+86\) only$/],
    [{ to: '+85251234567', country: 'HK' }, /\+86/],
    [{ kind: 'device-offline', params: { device: 'Pump 3' } }, /^it sends verification codes only$/],
  ]
  for (const [changes, why] of misfits) t.match(provider.fits?.(sms(changes)), why)
  const bare = (use: Partial<TemplateUse>) => openPnvs(server.url, { templates: templatesOf(use) })
  t.match(inEnglish(bare({ template }).fits?.(sms())), 'it has no signature: set SMS_TEMPLATES_FILE')
  const sent = server.standIn.messages.length
  t.match(await provider.send(sms({ to: '+4915112345678', country: 'DE' }), never), { untouched: true })
  t.equal(server.standIn.messages.length, sent)

  const ours = { is: 'retry', whose: 'ours' }
  for (const [fault, expected] of [
    [
      { is: 'answer', status: 200, body: '{"Code":"OK","Model":null}' },
      { is: 'sent', providerId: undefined },
    ],
    [refuse('FREQUENCY_FAIL'), { is: 'limit', retryAfterMs: 60_000 }],
    [refuse('FUNCTION_NOT_OPENED'), { ...ours, scope: 'account' }],
    [refuse('isv.SMS_SIGNATURE_ILLEGAL'), { ...ours, scope: 'sender' }],
  ] as const) {
    server.fault = () => fault
    t.match(await send(), expected, JSON.stringify(fault))
  }
  for (const code of ['FUNCTION_NOT_OPENED', 'isv.RAM_PERMISSION_DENY', 'ServiceUnavailable']) {
    server.fault = () => refuse(code)
    t.match(await provider.verify(), { ok: false, detail: new RegExp(code) })
  }
})

t.test('it is there when a route names it, on the key of aliyun', async t => {
  const server = await startPnvs()
  t.teardown(() => server.standIn.close())
  const given = { ...enough, ...ALONE, ALIYUN_PNVS_API_URL: server.url }
  t.same(faultsIn(given), [], 'a key alone is that of aliyun')
  const both = { ...given, SMS_ROUTES: 'CN=aliyun,aliyun-pnvs' }
  t.same(faultsIn(both), [])
  t.match(faultsIn({ ...enough, SMS_ROUTES: 'CN=aliyun-pnvs,twilio' }), [
    /leads to aliyun-pnvs, of which nothing is set/,
  ])
  const options = { clock: { now: Date.now }, limits: aliyun.limits, templates: NO_TEMPLATES }
  const alone = load({ ...given, SMS_ROUTES: 'CN=aliyun-pnvs' })
  t.same(await aliyun.open(alone, options), [], 'the other one is not missed')
  t.same(await aliyunPnvs.open(load(given), options), [])
  t.equal(await aliyunPnvs.openReceipts?.(load(given)), undefined)

  const code = { kind: 'login-code', region: 'mainland', template, params: { code: 'code' } } as const
  const check = async (use: Partial<TemplateUse>, settings = {}) => {
    const signatures = 'signature' in use ? [signature] : []
    const templates = mappedBy(templatesOf(), 'aliyun-pnvs')([{ ...code, ...use }], signatures)
    return (await openAndCheck(t, aliyunPnvs, { ...both, ...settings }, templates)).results
  }
  t.match(await check({ signature }), [
    { about: 'aliyun-pnvs', is: 'ok', what: 'the key works' },
    { is: 'ok', what: /\+86 only.* without your brand.* one in 60 s \(Interval\)/ },
    { about: 'receipts', is: 'warn' },
  ])
  t.match(await check({}), [
    {},
    { about: 'SMS_TEMPLATES_FILE', is: 'fail', next: /no signature of aliyun-pnvs/ },
    {},
  ])
  t.match(await check({ signature }, { ALIYUN_ACCESS_KEY_SECRET: 'canary-wrong' }), [
    { is: 'fail', what: /SignatureDoesNotMatch/ },
  ])
})

t.test('what aliyun refuses goes out by it, and a report settles a lost answer', async t => {
  const [first, second] = await Promise.all([
    startAliyunServer({ signatures: [] }),
    startPnvs({ intervalSeconds: 60 }),
  ])
  t.teardown(() => Promise.all([first.standIn.close(), second.standIn.close()]))
  const file = join(t.testdir(), 'templates.json')
  const params = { code: 'code', min: 'minute' }
  const codes = (mainland: object) => ({ 'login-code': { mainland } })
  await writeFile(
    file,
    JSON.stringify({
      aliyun: codes({ template: 'SMS_1', params: { code: 'code' } }),
      'aliyun-pnvs': codes({ template, signature, params }),
    }),
  )
  const rig = await startRig(t, {
    ...ALONE,
    ALIYUN_API_URL: first.url,
    ALIYUN_PNVS_API_URL: second.url,
    SMS_ROUTES: 'CN=aliyun,aliyun-pnvs',
    SMS_TEMPLATES_FILE: file,
    ANSWER_WITHIN_MS: '300',
  })
  second.fault = () => ({ is: 'reset', accept: true })
  await rig.post('sms', smsBody({}, { type: 4 }))
  await until(() => rig.events().some(each => each['outcome'] === 'ambiguous'), 'the end of the attempt')
  const [taken] = second.standIn.messages
  if (taken === undefined) return t.fail('it has nothing')
  t.match(taken.body, new RegExp(`^【${signature}】`))
  t.notMatch(taken.body, SIGN_NAME)
  const path = `/receipt/aliyun-pnvs/${deriveReceiptKey('aliyun-pnvs', SMS_TOKEN)}`
  const headers = { 'content-type': 'application/json' }
  const report = async (body: object) =>
    rig.ask(path, { method: 'POST', headers, body: JSON.stringify([body]) })
  const stranger = reportOf({ ...taken, bizId: '1^0', outId: 'f'.repeat(32) })
  t.match(await report(stranger), { status: 200, text: /"code":0/ }, 'of no message of ours')
  const finals = () => rig.events().filter(each => each['event'] === 'final')
  t.same(finals(), [])
  t.equal((await report(reportOf(taken))).status, 200)
  await until(() => finals().length > 0, 'the end')
  t.match(finals(), [{ state: 'sent' }])
  t.equal(second.standIn.messages.length, 1)
  const [number, code] = [taken.phoneNumber, /\d{4,6}/.exec(taken.body)?.[0] ?? '?']
  for (const line of rig.log)
    t.notOk(line.includes(number) || line.includes(code), 'nothing of it in the log')
})
