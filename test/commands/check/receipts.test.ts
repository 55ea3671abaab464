import t from 'tap'
import { checkReceipts } from '../../../src/commands/check/receipts.ts'
import { receiptsUrl } from '../../../src/service/factories.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

const look = (settings: Record<string, string>) => {
  const config = load({ ...enough, ...settings })
  return linesOf(checkReceipts(config, receiptsUrl(config)))
}

t.test('delivery reports: where they go, or why there are none', async t => {
  const url = { PUBLIC_URL: 'https://courier.example.com' }
  const key = { TWILIO_API_KEY_SID: `SK${'0'.repeat(32)}`, TWILIO_API_KEY_SECRET: 'key-secret' }
  t.same(look(url), [
    'ok receipts: Twilio reports what becomes of each SMS to https://courier.example.com/receipt/twilio',
  ])
  t.match(look({}), [/^warn receipts: off: .*not told where to report → set PUBLIC_URL$/])
  t.match(look({ ...url, ...key, TWILIO_AUTH_TOKEN: '' }), [
    /^warn receipts: off: .*Only an API key is set.* → set TWILIO_AUTH_TOKEN beside the API key/,
  ])
  t.match(look({ ...url, ...key }), [/^ok receipts/])
  t.same(look({ SMS_TOKEN: '' }), [], 'nor is anything said of them when SMS is off')
})
