import { createHash } from 'node:crypto'
import t from 'tap'
import { CORP_ID, EMAIL_TOKEN, mailBody, SMS_TOKEN, smsBody, startRig } from '../rigs/service.ts'

t.test('a wrong key, enterprise or channel opens nothing, for GET and POST', async t => {
  const rig = await startRig(t)
  const right = rig.path('email')
  const [, , corp = '', key = ''] = right.split('/')
  const wrong: readonly (readonly [string, number])[] = [
    [right.replace(key, 'x'.repeat(32)), 4031003],
    [right.replace(key, key.slice(0, -1)), 4031003],
    [right.replace(key, `${key}0`), 4031003],
    [right.replace(key, key.toUpperCase()), 4031003],
    [right.replace(key, '%00'), 4031003],
    [right.replace(key, '..%2f..'), 4031003],
    [right.replace(key, '__proto__'), 4031003],
    [right.replace(key, rig.path('sms').split('/')[3] ?? ''), 4031003],
    [right.replace(corp, 'another'), 4041010],
    [right.replace(corp, '__proto__'), 4041010],
  ]
  for (const [path, code] of wrong) {
    const post = await rig.ask(path, { method: 'POST', body: JSON.stringify(mailBody()) })
    t.equal(post.errCode, code, `POST ${path}`)
    t.equal(post.status, Math.trunc(code / 10_000))
    t.equal((await rig.ask(`${path}?${rig.sign('email')}`)).errCode, code, `GET ${path}`)
  }
  t.equal(rig.smtp.mails.length, 0, 'no mail')
  t.equal((await rig.post('email', mailBody())).errCode, 0)
  t.equal(rig.smtp.mails.length, 1)
})

t.test('outside the callbacks there is one constant answer', async t => {
  const rig = await startRig(t)
  const right = rig.path('email')
  const paths = [
    '/',
    '/callback',
    '/callback/',
    '/console',
    '/metrics',
    '/healthz',
    '/readyz',
    '/.env',
    '/callback/%E0%A4%A/x/email',
    `${right}/more`,
    right.replace('email', 'fax'),
    `//${right}`,
    `/x/..${right}x`,
    `/callback/${'a'.repeat(300)}/b/email`,
    '/callback/corp/canary-key-in-the-path/%ZZ',
    `/${'%2e%2e/'.repeat(20)}etc/passwd`,
    `/${'a'.repeat(6000)}`,
  ]
  const bodies = new Set<string>()
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      const answer = await rig.ask(path, { method, ...(method === 'GET' ? {} : { body: '{"a":' }) })
      t.equal(answer.status, 404, `${method} ${path.slice(0, 80)}`)
      bodies.add(answer.text)
      t.equal(answer.headers.location, undefined)
    }
  }
  t.same([...bodies], ['{"err_code":4041001,"err_msg":"no such path"}'])
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'] as const)
    t.equal((await rig.ask(right, { method })).status, 405, method)
})

t.test('the private listener cannot be reached from the public one', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS: 'canary-admin-token-8f' })
  for (const path of ['/console', '/metrics', '/console/send', '/healthz', '/readyz']) {
    const answer = await rig.ask(path, { headers: { authorization: 'Bearer canary-admin-token-8f' } })
    t.equal(answer.text, '{"err_code":4041001,"err_msg":"no such path"}', path)
  }
  const callbacks = await fetch(`${rig.service().adminUrl}${rig.path('email')}`, {
    headers: { authorization: 'Bearer canary-admin-token-8f' },
  })
  t.equal(callbacks.status, 404, 'nor are the callbacks on the private one')
})

t.test('every answer keeps the URL to itself', async t => {
  const rig = await startRig(t)
  const answers = [
    await rig.validate('email'),
    await rig.validate('email', 'timestamp=1&signature=2'),
    await rig.post('sms', smsBody()),
    await rig.post('sms', '{'),
    await rig.ask('/nowhere'),
    await rig.ask(rig.path('sms'), { method: 'DELETE' }),
    await rig.ask('/callback/%E0%A4%A/x/email'),
  ]
  for (const { headers, status } of answers) {
    t.equal(headers['referrer-policy'], 'no-referrer', String(status))
    t.equal(headers['cache-control'], 'no-store')
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['strict-transport-security'], 'max-age=63072000', 'of this host, not of those below it')
    t.match(headers['content-type'], 'application/json')
    t.notOk('location' in headers)
    t.notOk('server' in headers || 'x-powered-by' in headers)
  }
})

t.test('only allowed networks get in, by what the nearest proxy says', async t => {
  const rig = await startRig(t, { ALLOWED_SOURCES: '192.0.2.0/24', TRUSTED_PROXIES: '127.0.0.0/8' })
  for (const [forwarded, code] of [
    ['192.0.2.1, 198.51.100.1', 4031003],
    ['198.51.100.1, 192.0.2.1', 0],
  ] as const) {
    const headers = { 'x-forwarded-for': forwarded, forwarded: 'for=192.0.2.1', 'x-real-ip': '192.0.2.1' }
    const body = JSON.stringify(mailBody())
    t.equal((await rig.ask(rig.path('email'), { method: 'POST', headers, body })).errCode, code, forwarded)
    t.equal(rig.smtp.mails.length, code === 0 ? 1 : 0)
  }
})

/**
 * What somebody makes of a signature that was seen, without the Token: SHA-1 goes on from where it ended, so it also
 * signs the same text, its padding (RFC 3174, 4) and anything after it.
 */
function extended(timestamp: string): string {
  const signed = Buffer.from(`${CORP_ID}${SMS_TOKEN}${timestamp}`)
  const padding = Buffer.alloc(64 - ((signed.length + 8) % 64) + 8)
  padding[0] = 0x80
  padding.writeUInt32BE(signed.length * 8, padding.length - 4)
  const digest = createHash('sha1').update(signed).update(padding).update('1').digest('hex')
  const bytes = [...padding].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
  return `timestamp=${timestamp}${bytes}1&signature=${digest}`
}

t.test('required: a POST that is unsigned, wrong, of another channel or old sends nothing', async t => {
  const rig = await startRig(t, { POST_SIGNATURE: 'required' })
  const now = Math.floor(Date.now() / 1000)
  const wrong = {
    unsigned: '',
    'only a timestamp': `timestamp=${now}`,
    'no hex': `timestamp=${now}&signature=${'z'.repeat(40)}`,
    'the other channel': rig.sign('email'),
    'another Token': rig.sign('sms', String(now), EMAIL_TOKEN),
    'ten minutes old': rig.sign('sms', String(now - 600)),
    'from the future': rig.sign('sms', String(now + 600)),
    'old, in milliseconds': rig.sign('sms', String((now - 600) * 1000)),
    twice: `${rig.sign('sms')}&${rig.sign('sms')}`,
    'an array': rig.sign('sms').replace('signature=', 'signature[]='),
    'something after it': `${rig.sign('sms')}%80%00%00`,
    'length extension': extended(String(now)),
  }
  for (const [what, query] of Object.entries(wrong)) {
    const answer = await rig.post('sms', smsBody(), { query })
    t.equal(answer.errCode, 4031003, what)
    t.equal(answer.status, 403, what)
  }
  t.equal(rig.twilio.requests.length, 0)
  t.equal((await rig.validate('sms', extended('1700000000'))).errCode, 4031003, 'nor does it validate')
  t.equal((await rig.post('sms', smsBody(), { query: rig.sign('sms') })).errCode, 0)
  t.equal(rig.twilio.messages.length, 1)
})
