import t from 'tap'
import { SOURCE_REFUSED } from '../../../src/callback/authenticate.ts'
import type { CallbackAnswer } from '../../../src/commands/callback-client.ts'
import { checkCallbackUrls } from '../../../src/commands/check/callback-urls.ts'
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
const nobody: CallbackAnswer = { is: 'unreachable', why: 'EADDRNOTAVAIL', certificateRefused: false, ms: 1 }
const refused = says(403, 4031002, SOURCE_REFUSED)

/** What is said when each address is answered so; `here`: the one that the system chooses. */
async function look(answers: Readonly<Record<string, CallbackAnswer>>, own: readonly string[] = []) {
  const asked: string[] = []
  const config = load({ ...enough, ALLOWED_SOURCES: '192.0.2.0/24' })
  const callFrom = (address = 'here') => ({
    validate: async () => {
      asked.push(address)
      return answers[address] ?? nobody
    },
  })
  const [line = ''] = linesOf(await checkCallbackUrls([entry], config, callFrom, own))
  return { asked, line }
}

t.test('who is refused by address is asked again from each own address that is allowed', async t => {
  const own = ['198.51.100.1', '192.0.2.1', '192.0.2.2', '192.0.2.3']
  t.same(await look({ here: refused, '192.0.2.2': says(200, 0) }, own), {
    asked: ['here', '192.0.2.1', '192.0.2.2'],
    line: 'ok sms URL: validates, in 7 ms',
  })
  t.same((await look({ here: says(200, 0) }, own)).asked, ['here'])
  t.match(await look({ here: refused }, own), {
    line: /^warn sms URL: this machine is in ALLOWED_SOURCES, and is refused.* → behind a proxy/,
  })
  t.match(await look({ here: refused }, ['198.51.100.1']), {
    asked: ['here'],
    line: /^ok sms URL: answers, and lets nobody in from this machine/,
  })
})

t.test('each other answer has its words', async t => {
  const said = async (here: CallbackAnswer) => (await look({ here })).line
  t.match(await said(nobody), /^warn sms URL: nobody answers at PUBLIC_URL from here: EADDRNOTAVAIL/)
  t.match(await said({ ...nobody, certificateRefused: true }), /^warn .* the certificate that is shown/)
  t.match(await said(says(500, 0)), /^fail sms URL: HTTP 500, err_code 0 → the running service has other/)
  t.match(await said(says(200, 4)), /^fail sms URL: HTTP 200, err_code 4 →/)
  t.match(await said(says(200, null)), /^fail .* err_code none → something else answers at PUBLIC_URL/)
})
