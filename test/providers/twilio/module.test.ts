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

t.test('each setting reaches Twilio, and reports are proved by the Auth Token alone', async t => {
  const TWILIO_API_KEY = `${KEY_SID}:${KEY_SECRET}`
  const service = `MG${'a'.repeat(32)}`
  const report = /^https:\/\/courier\.example\.com\/receipt\/twilio\?id=[0-9a-f]{32}$/
  for (const [settings, username, form] of [
    [{}, ACCOUNT_SID, { From: '+15005550006', StatusCallback: report }],
    [{ TWILIO_API_KEY }, KEY_SID, { From: '+15005550006', StatusCallback: report }],
    [
      { TWILIO_API_KEY, TWILIO_AUTH_TOKEN: '', TWILIO_FROM: service },
      KEY_SID,
      { MessagingServiceSid: service, From: undefined, StatusCallback: undefined },
    ],
  ] as const) {
    const request = await sendWith(t, { PUBLIC_URL: 'https://courier.example.com', ...settings })
    t.match(request, { username, authorized: true, url: new RegExp(ACCOUNT_SID) })
    t.match(request?.form, form)
  }
})
