import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { REFUSALS as aliyunRefusals } from '../../sandbox/carriers/aliyun.ts'
import { REFUSALS as tencentRefusals } from '../../sandbox/carriers/tencent.ts'
import { FEED_FAULTS } from '../../sandbox/emulator/ddq-feed.ts'
import { RULES } from '../../sandbox/emulator/device-simulator.ts'
import { SAMPLE_REQUESTS } from '../../sandbox/emulator/page.ts'
import { CHINESE } from '../../sandbox/words.ts'
import chineseOfSandbox from '../../sandbox/zh-CN.json' with { type: 'json' }
import { address, post, status } from './page-rig.ts'

t.test('no other web page can read it or press its buttons', async t => {
  const json = { 'content-type': 'application/json' }
  const { host } = new URL(address)
  t.equal(await status('GET', '/state', { host: 'attacker.example' }), 403)
  t.equal(await status('GET', '/state', { host: 'localhost.attacker.example' }), 403)
  t.equal(await status('GET', '/state', { host: 'attacker-localhost' }), 403)
  t.equal(await status('POST', '/clear', { ...json, origin: 'http://attacker.example' }), 403)
  t.equal(await status('POST', '/clear', { ...json, origin: 'null' }), 403)
  t.equal(await status('POST', '/clear', { 'content-type': 'text/plain' }), 415)
  t.equal(await status('POST', '/clear', { ...json, origin: address }), 200)
  t.equal(await status('GET', '/state', { host }), 200)
})

t.test('the page loads nothing from elsewhere, and no other page can frame it', async t => {
  const policy = (await fetch(address)).headers.get('content-security-policy')?.split('; ')
  for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
    t.ok(policy?.includes(directive), directive)
})

t.test('what does not exist is not found, and what is nonsense is refused', async t => {
  t.equal(await status('GET', '/mail/99', {}), 404)
  t.equal(await status('GET', '/mail/99/html', {}), 404)
  t.equal(await status('GET', '/../stage.ts', {}), 404)
  t.match(await post('/play', { channel: 'email', action: 'send', kind: 'no-such-kind' }), { error: String })
  t.match(await post('/play', { channel: 'fax', action: 'send' }), { statusCode: 400 })
  t.match(await post('/fault', { channel: 'sms', name: 'toString' }), { error: String })
})

t.test('the page of the emulated platform has its words in Chinese', async t => {
  const read = (file: string) =>
    readFileSync(join(import.meta.dirname, '../../sandbox/emulator/page', file), 'utf8')
  const shown = [...read('index.html').matchAll(/>([^<>{}]*[a-z]{2}[^<>{}]*)<|aria-label="([^"]*)"/g)]
  const words = [
    ...shown.map(([, text, label]) => (text ?? label ?? '').trim()),
    ...Object.values(SAMPLE_REQUESTS),
    ...Object.values(FEED_FAULTS),
    ...RULES.map(({ describe }) => describe),
  ]
  t.ok(words.length > 25)
  for (const each of words.filter(text => text !== 'API')) t.type(CHINESE[each], 'string', each)
})

t.test('the menus say in Chinese what a carrier’s code means', async t => {
  for (const { code, en } of [...aliyunRefusals, ...tencentRefusals])
    t.match(CHINESE[en] ?? '', code.endsWith('MFAFailure') ? '' : /\p{Script=Han}/u, `${code}: ${en}`)
})

t.test('what it adds to the Chinese of the service has the places of the English', async t => {
  const placesOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()
  for (const [english, chinese] of Object.entries(chineseOfSandbox))
    t.same(placesOf(chinese), placesOf(english), english)
})
