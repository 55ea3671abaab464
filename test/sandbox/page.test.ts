import t from 'tap'
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
