import { createServer } from 'node:http'
import t from 'tap'
import { checkClock, readServerDate } from '../../../src/commands/check/machine.ts'
import { enough, load } from '../../config/settings.ts'
import { listen } from '../../rigs/listen.ts'
import { linesOf } from './lines.ts'

const NOW = 1_700_000_000_000
const look = async (theirs: Record<string, number>, settings = {}) =>
  linesOf(
    await checkClock(
      load({ ...enough, ...settings }),
      async url => theirs[new URL(url).host] ?? null,
      () => NOW,
    ),
  )
const twilio = (time: number) => ({ 'api.twilio.com': time })

t.test('a clock beside another one', async t => {
  t.match(await look(twilio(NOW - 600_000)), [/^warn clock: is 600 s ahead of that of twilio → .*NTP/])
  t.match(await look(twilio(NOW + 90_000)), [/^warn clock: is 90 s behind that of twilio/])
  t.match(await look(twilio(NOW - 2000)), [/^ok clock/])
  for (const apart of [-5000, 5000]) t.match(await look(twilio(NOW + apart)), [/^ok clock/])
  t.match(await look(twilio(NOW + 5001)), [/^warn clock: is 5 s behind/])
  t.same(await look({}), [], 'nobody to compare it with')
  t.same(await look(twilio(0), { SMS_TOKEN: '' }), [], 'Twilio is not asked when SMS is off')
})

t.test('only carriers in use are asked for the time, one after the other', async t => {
  const aliyun = {
    ALIYUN_ACCESS_KEY_ID: 'id',
    ALIYUN_ACCESS_KEY_SECRET: 'secret',
    ALIYUN_API_URL: 'https://aliyun.example',
    ALIYUN_SMS_SIGN_NAME: 'Acme',
  }
  const without = { TWILIO_ACCOUNT_SID: '', TWILIO_AUTH_TOKEN: '', TWILIO_FROM: '' }
  const times = { ...twilio(NOW), 'aliyun.example': NOW + 90_000 }
  t.match(await look(times, { ...aliyun, ...without }), [/^warn clock: is 90 s behind that of aliyun/])
  const both = { ...aliyun, SMS_ROUTES: 'CN=aliyun; *=twilio' }
  t.match(await look({ 'aliyun.example': NOW + 90_000 }, both), [/that of aliyun/], 'Twilio does not answer')
})

t.test('the time that a server says it is', async t => {
  const server = createServer((request, response) => {
    if (request.url === '/none') response.sendDate = false
    else response.setHeader('date', 'Tue, 14 Nov 2023 22:13:20 GMT')
    response.writeHead(404).end()
  })
  const port = await listen(t, server)
  const url = `http://127.0.0.1:${port}`
  t.equal(await readServerDate(url), NOW)
  t.equal(await readServerDate(`${url}/none`), null)
  t.equal(await readServerDate('http://127.0.0.1:9'), null)
})
