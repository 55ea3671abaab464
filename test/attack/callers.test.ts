import { createHash } from 'node:crypto'
import t from 'tap'
import { CORP_ID, SMS_TOKEN, smsBody, startRig } from '../rigs/service.ts'

t.test('outside the callbacks there is one constant answer', async t => {
  const rig = await startRig(t, { ADMIN_TOKENS: 'canary-admin-token-8f' })
  const headers = { authorization: 'Bearer canary-admin-token-8f' }
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
      const given = method === 'GET' ? {} : { body: '{"a":' }
      const answer = await rig.ask(path, { method, headers, ...given })
      t.equal(answer.status, 404, `${method} ${path.slice(0, 80)}`)
      bodies.add(answer.text)
      for (const name of ['location', 'server', 'x-powered-by']) t.notOk(name in answer.headers, name)
    }
  }
  t.same([...bodies], ['{"err_code":4041001,"err_msg":"no such path"}'])
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

t.test('a signature that was seen signs nothing else', async t => {
  const rig = await startRig(t, { POST_SIGNATURE: 'required' })
  const query = extended(String(Math.floor(Date.now() / 1000)))
  t.match(await rig.post('sms', smsBody(), { query }), { status: 403, errCode: 4031003 })
  t.equal((await rig.validate('sms', extended('1700000000'))).errCode, 4031003, 'nor does it validate')
  t.equal((await rig.post('sms', smsBody(), { query: rig.sign('sms') })).errCode, 0)
  t.equal(rig.twilio.messages.length, 1)
})
