import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'
import { AUTH_TOKEN } from '../rigs/twilio-server.ts'

const root = join(import.meta.dirname, '../..')
const LEVELS: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** Rows of docs/logs.md by event. */
const documented = new Map(
  readFileSync(join(root, 'docs/logs.md'), 'utf8')
    .split('\n')
    .flatMap(line => {
      const [, event, levels = '', , fields = ''] =
        /^\| `([\w-]+)` \| ([a-z, ]+) \|([^|]*)\|([^|]*)\|$/.exec(line) ?? []
      if (event === undefined) return []
      const names = [...fields.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')
      return [[event, { levels: levels.split(', '), fields: new Set(names) }] as const]
    }),
)

t.test('every event that the source can log is documented, and no other', async t => {
  const emitted = new Set<string>()
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    if (!/\blog\??\.(?:debug|info|warn|error|fatal|child)\(/.test(text)) continue
    for (const [, event] of text.matchAll(/\{\s*event: '([\w-]+)'/g)) if (event) emitted.add(event)
  }
  t.ok(emitted.size > 20)
  t.same([...documented.keys()].sort(), [...emitted].sort())
})

t.test('lines have the fields and levels that are documented', async t => {
  const PUBLIC_URL = 'https://courier.example.com'
  const rig = await startRig(t, {
    PUBLIC_URL,
    LOG_LEVEL: 'debug',
    QUOTAS: 'sms-minute=3',
    TEMPLATES_DIR: t.testdir({ locales: { 'en.json': 'no JSON' } }),
    TLS_CERT_FIEL: 'x',
  })
  const report = (fields: Record<string, string>, signature: string) =>
    rig.ask('/receipt/twilio', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': signature,
      },
      body: new URLSearchParams(fields).toString(),
    })
  const form = (path: string, fields: Record<string, string>) =>
    fetch(`${rig.service().adminUrl}${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  const finals = (count: number) =>
    until(() => rig.events().filter(each => each['event'] === 'final').length >= count, `${count} ends`)

  // Sent, twice the same, refused by the provider, refused at the gate, nothing of ours, beyond a quota.
  await rig.validate('email')
  await rig.post('sms', smsBody())
  await rig.post('sms', smsBody())
  await rig.post('email', mailBody({ to: 'nobody@example.com' }))
  await rig.ask(`${rig.path('email')}x`)
  await rig.ask('/nothing')
  await rig.post('email', {})
  await finals(2)
  const sent = rig.events().find(each => each['event'] === 'final' && each['channel'] === 'sms')
  rig.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '550 5.1.1 no such user' } : undefined)
  await rig.post('email', mailBody({ to: 'gone@example.com' }))
  rig.smtp.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '535 5.7.8 no' } : undefined)
  await rig.post('email', mailBody({ to: 'later@example.com' }))
  for (let n = 0; n < 4; n += 1)
    await rig.post('sms', smsBody({ to: `1380013800${n}` }, { code: `10000${n}` }))

  // Delivery reports: right, late, and forged.
  for (const MessageStatus of ['delivered', 'sent']) {
    const fields = { MessageSid: String(sent?.['provider_id']), MessageStatus }
    await report(fields, getExpectedTwilioSignature(AUTH_TOKEN, `${PUBLIC_URL}/receipt/twilio`, fields))
  }
  await report({ MessageSid: 'SM1', MessageStatus: 'sent' }, 'nonsense')

  // The console: what is done there, and who is not let in.
  await form('/console/send', { kind: 'email/activation-code', to: 'ann@example.com' })
  await fetch(`${rig.service().adminUrl}/console`, { headers: { 'sec-fetch-site': 'cross-site' } })
  await rig.service().close()

  const seen = new Set<unknown>()
  for (const { level, time, message, event, ...fields } of rig.events()) {
    seen.add(event)
    const row = documented.get(String(event))
    t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.type(message, 'string')
    if (row === undefined) {
      t.fail(`${String(event)} is not documented`)
      continue
    }
    t.ok(row.levels.includes(LEVELS[Number(level)] ?? ''), `${String(event)} at ${LEVELS[Number(level)]}`)
    t.same(
      Object.keys(fields).filter(name => !row.fields.has(name)),
      [],
      `${String(event)} has no other fields`,
    )
  }
  for (const event of [
    'setting',
    'started',
    'callback',
    'stray',
    'twin',
    'over-quota',
    'attempt',
    'final',
    'receipt',
    'templates',
    'operator',
    'console-refused',
    'ending',
    'ended',
  ])
    t.ok(seen.has(event), `${event} happened`)
})
