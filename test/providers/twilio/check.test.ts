import t from 'tap'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { twilio } from '../../../src/providers/twilio.ts'
import { linesOf } from '../../commands/check/lines.ts'
import { enough, load } from '../../config/settings.ts'

async function look(settings: Record<string, string>) {
  const config = load({ ...enough, ...settings, TWILIO_API_URL: 'http://127.0.0.1:9' })
  const [provider] = await twilio.open(config, {
    clock: { now: Date.now },
    templates: NO_TEMPLATES,
    limits: twilio.limits,
  })
  if (provider === undefined) return []
  const findings = await twilio.check(config, provider, NO_TEMPLATES)
  await provider.close()
  return linesOf(findings.filter(({ about }) => about === 'receipts'))
}

t.test('delivery reports: where they go, or why there are none', async t => {
  const url = { PUBLIC_URL: 'https://courier.example.com' }
  const key = { TWILIO_API_KEY: `SK${'0'.repeat(32)}:key-secret` }
  t.same(await look(url), [
    'ok receipts: Twilio reports what becomes of each SMS to https://courier.example.com/receipt/twilio',
  ])
  const untold =
    'warn receipts: off: nobody will know whether an SMS reached its phone. Twilio is not told where to report → set PUBLIC_URL'
  for (const more of [{}, key]) t.same(await look(more), [untold])
  t.same(await look({ ...url, ...key, TWILIO_AUTH_TOKEN: '' }), [
    'warn receipts: off: nobody will know whether an SMS reached its phone. Only an API key is set, and Twilio signs its reports with the Auth Token → set TWILIO_AUTH_TOKEN beside the API key; SMS are sent with the key all the same',
  ])
  t.match(await look({ ...url, ...key }), [/^ok receipts/])
  t.same(await look({ SMS_TOKEN: '' }), [], 'nor is anything said of them when SMS is off')
})
