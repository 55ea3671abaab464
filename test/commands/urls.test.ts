import t from 'tap'
import { enough } from '../config/settings.ts'
import { command } from './rig.ts'

const env = { ...enough, PUBLIC_URL: 'https://courier.example.com/iot/' }

t.test('prints what to paste for each channel that is on', async t => {
  const { code, out } = await command(['urls'], env)
  t.equal(code, 0)
  const email = 'callback/100fa4b2/cf4808697195d60ef3fa98d1ae509e5b/email'
  t.match(out, `E-mail\n  URL    https://courier.example.com/iot/${email}\n`)
  t.match(out, /SMS\n {2}URL {4}https:\/\/courier.example.com\/iot\/callback\/100fa4b2\/[0-9a-f]{32}\/sms\n/)
  // printf tGmZwHcYsBxKrVjNdQpF | sha256sum
  t.match(out, 'the value of SMS_TOKEN (20 characters, fingerprint 17c2e7)')
  t.notMatch(out, enough.EMAIL_TOKEN)
  t.notMatch(out, enough.SMS_TOKEN)

  const { SMS_TOKEN: _, ...mailOnly } = env
  t.notMatch((await command(['urls'], mailOnly)).out, 'SMS')
})

t.test('an own key stands in the URL; the previous one does not', async t => {
  const own = 'own-key-of-thirty-letters-more'
  const { out } = await command(['urls', '--json'], {
    ...env,
    CALLBACK_KEYS: `email:${own} email-previous:previous-key-of-thirty-letters`,
  })
  const [email, sms] = JSON.parse(out) as { channel: string; url: string; tokenSetting: string }[]
  t.same(email, {
    channel: 'email',
    url: `https://courier.example.com/iot/callback/100fa4b2/${own}/email`,
    tokenSetting: 'EMAIL_TOKEN',
  })
  t.equal(sms?.channel, 'sms')
})

t.test('asks for PUBLIC_URL, or takes another base', async t => {
  const { code, err } = await command(['urls'], enough)
  t.equal(code, 1)
  t.match(err, 'PUBLIC_URL is missing')
  const { out } = await command(['urls', '--base', 'https://other.example.com:8443'], enough)
  t.match(out, 'https://other.example.com:8443/callback/100fa4b2/')
  t.match(
    (await command(['urls', '--base', 'https://other.example.com'], env)).out,
    'https://other.example.com/',
  )
  for (const base of ['foo', '', 'http://other.example.com', 'https://other.example.com/?a=b'])
    t.match(await command(['urls', '--base', base], env), {
      code: 2,
      out: '',
      err: /--base must be an https address/,
    })
})

t.test('a carrier that does not sign its reports has a URL to enter in its console', async t => {
  const aliyun = { ALIYUN_ACCESS_KEY_ID: 'LTAItest', ALIYUN_ACCESS_KEY_SECRET: 'canary-secret' }
  const given = { ...env, TWILIO_ACCOUNT_SID: '', TWILIO_AUTH_TOKEN: '', TWILIO_FROM: '', ...aliyun }
  const url = 'https://courier.example.com/iot/receipt/aliyun/792367c25fad0340123a2e9f26dbc360'
  t.match(
    (await command(['urls'], given)).out,
    `Delivery reports of aliyun: enter this URL in its console\n  URL    ${url}\n`,
  )
  t.match(JSON.parse((await command(['urls', '--json'], given)).out), [{}, {}, { carrier: 'aliyun', url }])
  t.notMatch((await command(['urls'], env)).out, /receipt\/(?:aliyun|twilio)/, 'Twilio signs')
})

t.test('mails that came back have a URL, and the line that makes Postfix hand them over', async t => {
  const url = 'https://courier.example.com/iot/receipt/bounce/6728f3f1177f3b4e8aeea4124977f513'
  t.match(
    (await command(['urls'], env)).out,
    `  URL      ${url}\n  Postfix  in /etc/aliases, for the address of MAIL_BOUNCE_TO:\n           bounces: "|curl -sf -m 30 --data-binary @- ${url} || exit 75"\n`,
  )
  t.match(JSON.parse((await command(['urls', '--json'], env)).out).at(-1), { bounces: url })
  t.notMatch((await command(['urls'], { ...env, EMAIL_TOKEN: '' })).out, 'bounce')
})
