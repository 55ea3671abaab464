import t, { type Test } from 'tap'
import { NO_TEMPLATES } from '../../../src/providers/sms-templates.ts'
import { twilio } from '../../../src/providers/twilio.ts'
import { enough, load } from '../../config/settings.ts'
import { ACCOUNT_SID, AUTH_TOKEN, KEY_SECRET, KEY_SID, startTwilioServer } from '../../rigs/twilio-server.ts'
import { sms } from './rig.ts'

/** Sends one SMS with the account's settings and these. @returns the request as Twilio saw it. */
async function sendWith(t: Test, settings: Readonly<Record<string, string>>) {
  const server = await startTwilioServer()
  const config = load({
    ...enough,
    TWILIO_ACCOUNT_SID: ACCOUNT_SID,
    TWILIO_AUTH_TOKEN: AUTH_TOKEN,
    TWILIO_API_URL: server.url,
    ...settings,
  })
  const [provider] = await twilio.open(config, {
    clock: { now: Date.now },
    templates: NO_TEMPLATES,
    limits: twilio.limits,
  })
  if (provider === undefined) throw new Error('SMS is on')
  t.teardown(async () => Promise.all([provider.close(), server.close()]))
  t.equal(provider.concurrency, 200)
  t.match(await provider.send(sms(), new AbortController().signal), { is: 'sent' })
  return server.requests[0]
}

t.test('each setting reaches Twilio', async t => {
  const request = await sendWith(t, { PUBLIC_URL: 'https://courier.example.com' })
  t.equal(request?.username, ACCOUNT_SID)
  t.match(request?.form, {
    From: '+15005550006',
    StatusCallback: /^https:\/\/courier\.example\.com\/receipt\/twilio\?id=[0-9a-f]{32}$/,
  })
})

t.test('an API key beside the Auth Token: it logs in, and the token proves the reports', async t => {
  const request = await sendWith(t, {
    PUBLIC_URL: 'https://courier.example.com',
    TWILIO_API_KEY: `${KEY_SID}:${KEY_SECRET}`,
  })
  t.equal(request?.username, KEY_SID)
  t.match(request?.form, { StatusCallback: /receipt/ })
})

t.test('an API key and a messaging service instead', async t => {
  const service = `MG${'a'.repeat(32)}`
  const request = await sendWith(t, {
    PUBLIC_URL: 'https://courier.example.com',
    TWILIO_AUTH_TOKEN: '',
    TWILIO_API_KEY: `${KEY_SID}:${KEY_SECRET}`,
    TWILIO_FROM: service,
  })
  t.equal(request?.username, KEY_SID)
  t.match(request?.form, { MessagingServiceSid: service })
  t.notHas(request?.form, { From: String })
  t.notHas(request?.form, { StatusCallback: String }, 'a key does not sign reports')
})
