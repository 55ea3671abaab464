import t from 'tap'
import { readExample } from '../../../sandbox/carriers/http-gateway.ts'
import { createGatewayReceipts } from '../../../src/providers/http-gateway/answers.ts'
import { deriveReceiptKey } from '../../../src/providers/receipts.ts'
import { SMS_TOKEN, smsBody, startRig, until } from '../../rigs/service.ts'
import { EXAMPLES, gatewayOf, startServer } from './rig.ts'

t.test('a gateway is a carrier as the others are: route, report, timeline, console, metrics', async t => {
  const { dialect, secrets } = EXAMPLES.vonage
  const vonage = await startServer(dialect)
  t.teardown(() => vonage.standIn.close())
  const rig = await startRig(t, {
    SMS_GATEWAYS: readExample('vonage', vonage.url).replace('format: json', 'format: query'),
    SMS_GATEWAY_SECRETS: JSON.stringify(secrets),
    SMS_ROUTES: '*=vonage,twilio',
    PUBLIC_URL: 'https://courier.example.com',
  })
  t.equal((await rig.post('sms', smsBody({ to: '13800138001' }))).errCode, 0)
  const [taken] = vonage.standIn.messages
  if (taken === undefined) return t.fail('the gateway has nothing')
  const key = deriveReceiptKey('vonage', SMS_TOKEN)
  const { pathname } = new URL(new URLSearchParams(vonage.standIn.requests[0]?.body).get('callback') ?? '')
  t.equal(pathname, `/receipt/vonage/${key}`)
  const report = new URLSearchParams(dialect.report(taken, true) as Record<string, string>).toString()
  t.equal((await rig.ask(`/receipt/vonage/${key.slice(1)}0?${report}`)).status, 403)
  t.equal((await rig.ask(`${pathname}?${report}`)).status, 204)
  t.equal((await rig.ask(`${pathname}?${report}`)).status, 204, 'twice is once')
  t.ok((await rig.ask(pathname, { method: 'POST', body: '{}' })).status >= 400)

  vonage.fault = () => ({ is: 'answer', ...dialect.refusal('8') })
  t.equal((await rig.post('sms', smsBody({ to: '13800138002' }))).errCode, 0)
  await until(() => rig.twilio.messages.length === 1, 'the second carrier')
  t.match(await rig.page('/console/messages'), /delivered/)
  t.match(await rig.page('/console'), /vonage/)
  const metrics = await rig.page('/metrics')
  t.match(metrics, /attempts_total\{channel="sms",provider="vonage",outcome="sent"/)
  t.match(metrics, /attempts_total\{channel="sms",provider="vonage",outcome="retry",reason="8"/)
  t.match(metrics, /attempts_total\{channel="sms",provider="twilio",outcome="sent"/)
  const attempts = rig.events().filter(each => each['event'] === 'attempt')
  t.match(attempts, [{ provider: 'vonage', outcome: 'retry', code: '8' }])
  const [newest] = [...(await rig.page('/console/messages')).matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
  t.match(await rig.page(newest?.[0] ?? ''), /vonage[\s\S]*twilio/, 'the timeline names both')
  for (const line of rig.log)
    for (const secret of [...Object.values(secrets), '13800138', 'secret-51d0'])
      t.notOk(line.includes(secret), 'nothing of it in the log')
})

t.test(
  'who is unreachable by one carrier is asked for by the next, and refused when he is by all',
  async t => {
    const [telegram, phone, whatsapp] = [EXAMPLES.telegram, EXAMPLES['android-phone'], EXAMPLES.whatsapp]
    const [first, second] = await Promise.all([startServer(telegram.dialect), startServer(phone.dialect)])
    t.teardown(() => Promise.all([first.standIn.close(), second.standIn.close()]))
    const files = [readExample('telegram', first.url), readExample('android-phone', second.url)]
    const rig = await startRig(t, {
      SMS_GATEWAYS: [...files, readExample('whatsapp', 'https://whatsapp.invalid')].join('\n'),
      SMS_GATEWAY_SECRETS: JSON.stringify({ ...telegram.secrets, ...phone.secrets, ...whatsapp.secrets }),
      SMS_ROUTES: '*=telegram,android-phone',
      ANSWER_WITHIN_MS: '20000',
    })
    const unreachable = (dialect: typeof phone.dialect, code: string) => () =>
      ({ is: 'answer', ...dialect.refusal(code) }) as const
    first.fault = unreachable(telegram.dialect, 'PHONE_NUMBER_NOT_FOUND')
    t.equal((await rig.post('sms', smsBody({ to: '13800138001' }))).errCode, 0)
    t.match(second.standIn.messages, [{ to: '+8613800138001' }])
    second.fault = unreachable(phone.dialect, 'invalid phone number')
    t.equal((await rig.post('sms', smsBody({ to: '13800138002' }))).errCode, 4002002)
    first.fault = () => ({ is: 'answer', status: 200, body: '{"ok":false,"error":"CODE_INVALID"}' })
    const { errCode } = await rig.post('sms', smsBody({ to: '13800138003' }))
    t.equal(errCode, 4002001, 'the first might have sent it')
    t.equal(second.standIn.requests.length, 3)
    const ready = await rig.page('/readyz')
    t.notMatch(ready, /telegram|android-phone/, 'no carrier is at fault')

    const hook = `/receipt/whatsapp/${deriveReceiptKey('whatsapp', SMS_TOKEN)}`
    const challenge = async (path: string, said: string) => {
      const { status, text } = await rig.ask(
        `${path}?hub.mode=subscribe&hub.challenge=${said}&hub.verify_token=x`,
      )
      return [status, text]
    }
    t.same(await challenge(hook, '1158201444'), [200, '1158201444'])
    t.same(await challenge(hook, '%3Cscript%3E'), [200, ''])
    t.equal((await challenge(`${hook.slice(0, -1)}x`, '1158201444'))[0], 403)
  },
)

t.test('a list of reports is read whole, wherever it is parted', async t => {
  const { reports } = gatewayOf(readExample('whatsapp', 'https://x.example'))
  if (reports === undefined) throw new Error('it has reports')
  const source = createGatewayReceipts('whatsapp', reports, ['k'])
  const [one, other, third] = ['1', '2', '3'].map(each => ({
    biz_opaque_callback_data: each.repeat(32),
    status: 'failed',
    errors: [{ code: 131026 }],
  }))
  const changes = (...statuses: readonly unknown[]) => ({ changes: [{ value: { statuses } }, { value: {} }] })
  const body = { entry: [changes(one, other), {}, changes(third)] }
  t.match(source.parseReports({ headers: {}, query: '', body }), [
    { id: '1'.repeat(32), status: 'undelivered', fault: { verdict: 'recipient', scope: 'recipient' } },
    { id: '2'.repeat(32) },
    { id: '3'.repeat(32) },
  ])
})
