import t from 'tap'
import { SOURCE_REFUSED } from '../../../src/callback/authenticate.ts'
import type { CallbackAnswer } from '../../../src/commands/callback-client.ts'
import { checkCallbackUrls } from '../../../src/commands/check/callback-urls.ts'
import { quote, tell } from '../../../src/language/sentence.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

const entry = { channel: 'sms', url: 'https://c.example/sms', token: 'x', setting: 'SMS_TOKEN' } as const
const says = (status: number, errCode: number | null, errMsg = ''): CallbackAnswer => ({
  is: 'answered',
  status,
  errCode,
  errMsg,
  body: '',
  ms: 7,
})
const nobody: CallbackAnswer = {
  is: 'unreachable',
  why: quote('EADDRNOTAVAIL'),
  certificateRefused: false,
  ms: 1,
}

/** What is said of an answer. */
async function said(answer: CallbackAnswer, own: CallbackAnswer | null = null) {
  const client = { validate: async () => answer }
  const ownClient = own && { validate: async () => own }
  const [line = ''] = linesOf(await checkCallbackUrls([entry], load(enough), client, ownClient))
  return line
}

t.test('each answer has its words', async t => {
  const refused = { ...nobody, certificateRefused: true }
  const shown =
    'warn sms URL: the certificate that is shown at PUBLIC_URL is refused from here: EADDRNOTAVAIL → the platform will refuse it, too, unless it was told to trust it: serve one of a public authority, for this name, with its whole chain; one of your own is named in TLS_CA_FILE'
  const others =
    'the running service has other settings than these: restart it, or run check with its settings'
  t.same(
    [
      await said(nobody),
      await said(refused),
      await said(refused, refused),
      await said(refused, says(200, 0)),
      await said(says(500, 0)),
      await said(says(200, 0)),
      await said(says(403, 4031002, SOURCE_REFUSED)),
      await said(says(200, 4, 'why')),
      await said(says(200, null)),
    ],
    [
      'warn sms URL: nobody answers at PUBLIC_URL from here: EADDRNOTAVAIL → start the service; or the way to it is not open from this machine',
      shown,
      shown,
      'warn sms URL: validates, by an authority of TLS_CA_FILE alone → have the platform trust that authority, or serve a certificate of a public one',
      `fail sms URL: HTTP 500, err_code 0 → ${others}`,
      'ok sms URL: validates, in 7 ms',
      'ok sms URL: answers, and lets nobody in from this machine (ALLOWED_SOURCES, TRUSTED_PROXIES) → validate once more in the platform’s console: only its own networks can try key and Token',
      `fail sms URL: HTTP 200, err_code 4 why → ${others}`,
      'fail sms URL: HTTP 200, err_code none → something else answers at PUBLIC_URL: look at the proxy in front',
    ],
  )
  const client = { validate: async () => says(400, 4002012, 'to: not an address') }
  const [finding] = await checkCallbackUrls([entry], load(enough), client, null)
  t.equal(
    finding && tell(finding.what).in('zh-CN'),
    'HTTP 400，err_code 4002012 邮件收件人不对（to: not an address）',
  )
})
