import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { checkClock, readServerDate } from '../../../src/commands/check/clock.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

const NOW = 1_700_000_000_000
const look = async (theirs: number | null, settings = {}) =>
  linesOf(
    await checkClock(
      load({ ...enough, ...settings }),
      async () => theirs,
      () => NOW,
    ),
  )

t.test('a clock beside another one', async t => {
  t.match(await look(NOW - 600_000), [/^warn clock: is 600 s ahead of Twilio's → .*NTP/])
  t.match(await look(NOW + 90_000), [/^warn clock: is 90 s behind/])
  t.match(await look(NOW - 2000), [/^ok clock/])
  t.same(await look(null), [], 'nobody to compare it with')
  t.same(await look(0, { SMS_TOKEN: '' }), [], 'Twilio is not asked when SMS is off')
})

t.test('the time that a server says it is', async t => {
  const server = createServer((request, response) => {
    if (request.url === '/none') response.sendDate = false
    else response.setHeader('date', 'Tue, 14 Nov 2023 22:13:20 GMT')
    response.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.equal(await readServerDate(url), NOW)
  t.equal(await readServerDate(`${url}/none`), null)
  t.equal(await readServerDate('http://127.0.0.1:9'), null)
})
