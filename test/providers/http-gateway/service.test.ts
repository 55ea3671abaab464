import t from 'tap'
import { readExample } from '../../../sandbox/carriers/http-gateway.ts'
import { deriveReceiptKey } from '../../../src/providers/receipts.ts'
import { SMS_TOKEN, smsBody, startRig, until } from '../../rigs/service.ts'
import { EXAMPLES, startServer } from './rig.ts'

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
  const { adminUrl } = rig.service()
  const page = async (path: string) => (await fetch(`${adminUrl}${path}`)).text()
  t.match(await page('/console/messages'), /delivered/)
  t.match(await page('/console'), /vonage/)
  const metrics = await page('/metrics')
  t.match(metrics, /attempts_total\{channel="sms",provider="vonage",outcome="sent"/)
  t.match(metrics, /attempts_total\{channel="sms",provider="vonage",outcome="retry",reason="8"/)
  t.match(metrics, /attempts_total\{channel="sms",provider="twilio",outcome="sent"/)
  t.match(
    rig.events().filter(each => each['event'] === 'attempt'),
    [{ provider: 'vonage', outcome: 'retry', code: '8' }],
  )
  const [newest] = [...(await page('/console/messages')).matchAll(/\/console\/messages\/[0-9a-f]{32}/g)]
  t.match(await page(newest?.[0] ?? ''), /vonage[\s\S]*twilio/, 'the timeline names both')
  for (const line of rig.log)
    for (const secret of [...Object.values(secrets), '13800138', 'secret-51d0'])
      t.notOk(line.includes(secret), 'nothing of it in the log')
})
