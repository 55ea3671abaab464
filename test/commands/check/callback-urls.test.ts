import t from 'tap'
import { SOURCE_REFUSED } from '../../../src/callback/authenticate.ts'
import type { CallbackAnswer } from '../../../src/commands/callback-client.ts'
import { checkCallbackUrls } from '../../../src/commands/check/callback-urls.ts'
import { quote } from '../../../src/language/sentence.ts'
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
  t.match(await said(nobody), /^warn sms URL: nobody answers at PUBLIC_URL from here: EADDRNOTAVAIL/)
  const refused = { ...nobody, certificateRefused: true }
  t.match(await said(refused), /^warn .* the certificate that is shown .* named in TLS_CA_FILE$/)
  t.match(await said(refused, refused), /^warn .* the certificate that is shown/)
  t.match(
    await said(refused, says(200, 0)),
    /^warn .* by an authority of TLS_CA_FILE alone → have the platform/,
  )
  t.match(await said(says(500, 0)), /^fail sms URL: HTTP 500, err_code 0 → the running service has other/)
  t.match(await said(says(200, 0)), 'ok sms URL: validates, in 7 ms')
  t.match(
    await said(says(403, 4031002, SOURCE_REFUSED)),
    /^ok sms URL: answers, and lets nobody in from this/,
  )
  t.match(await said(says(200, 4)), /^fail sms URL: HTTP 200, err_code 4 →/)
  t.match(await said(says(200, null)), /^fail .* err_code none → something else answers at PUBLIC_URL/)
})
