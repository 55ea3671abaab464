import t from 'tap'
import { loadConfig } from '../../src/config/config.ts'
import { readReplacedSettings } from '../../src/config/earlier.ts'
import { describeAdvice } from '../../src/settings/setting.ts'
import { mailBody, startRig } from '../rigs/service.ts'

const enough = {
  CORP_ID: 'corp-1',
  EMAIL_TOKEN: 'a-token-long-enough-for-anybody',
  SMTP_URL: 'smtps://user:secret@smtp.example.com',
  MAIL_FROM: 'Example <no-reply@example.com>',
  TLS: 'off',
}
const removed = (env: Record<string, string>, dotenv = '') =>
  loadConfig({
    env: { ...enough, ...env },
    dotenvPath: '.env',
    readFile: () => dotenv,
  })

t.test('a removed setting is told by its own sentence, wherever it stands', t => {
  const { removed: found, warnings } = removed(
    { ADMIN_TOKENS: 'a-password-of-my-own', QUOTA_SMS_CARRIER_PER_DAY: 'twilio=500' },
    'SMS_COSTS=twilio:*=0.08\nQUOTA_SMS_COST_PER_DAY=200\n',
  )
  t.match(found, [
    {
      name: 'QUOTA_SMS_COST_PER_DAY',
      problem: /holds nothing back$/,
      remedy: /^set sms-day in QUOTAS/,
      isBrake: true,
    },
    { name: 'QUOTA_SMS_CARRIER_PER_DAY', remedy: /sms-country-day in QUOTAS/, isBrake: true },
    { name: 'SMS_COSTS', remedy: /take it out/, isBrake: false },
  ])
  t.same(warnings, [], 'and not as an unknown one that resembles another')
  t.end()
})

t.test('a brake that was off is no brake that is gone; an empty setting is none', t => {
  t.match(removed({ QUOTA_SMS_COST_PER_DAY: '0' }).removed, [{ isBrake: false }])
  t.same(removed({ QUOTA_SMS_COST_PER_DAY: ' ' }).removed, [])
  t.same(removed({}).removed, [])
  t.end()
})

t.test(
  'a service that counts on a brake that is gone says so at start and at /readyz, and works',
  async t => {
    const rig = await startRig(t, {
      ADMIN_TOKENS: 'a-password-of-my-own',
      QUOTA_SMS_COST_PER_DAY: '200',
      SMS_COSTS: 'twilio:*=0.08',
    })
    const told = rig.events().filter(({ event }) => event === 'setting')
    t.match(
      told.map(({ message }) => message),
      [
        /^QUOTA_SMS_COST_PER_DAY is not read any more and holds nothing back/,
        /^SMS_COSTS is not read any more/,
      ],
    )
    const ready = await fetch(`${rig.service().adminUrl}/readyz`)
    t.equal(ready.status, 200)
    t.same(await ready.json(), { status: 'ready', degraded: ['quotas'] })
    t.equal((await rig.post('email', mailBody({}))).errCode, 0)
  },
)

t.test('what was removed and was no brake degrades nothing', async t => {
  const rig = await startRig(t, { SMS_COSTS: 'twilio:*=0.08', QUOTA_SMS_COST_PER_DAY: '0' })
  t.same(await (await fetch(`${rig.service().adminUrl}/readyz`)).json(), { status: 'ready', degraded: [] })
})

t.test('what set traces is told once a name, and degrades nothing', t => {
  const { removed: found } = removed({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318',
    OTEL_SDK_DISABLED: 'true',
  })
  t.match(found, [
    {
      name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      problem: /sends no traces$/,
      remedy: /^take it out/,
      isBrake: false,
    },
    { name: 'OTEL_SDK_DISABLED', isBrake: false },
  ])
  t.end()
})

const DEVICES = {
  DDQ_AUTH_URL: 'https://api.example.com',
  DDQ_APP_ID: 'application-1',
  DDQ_APP_SECRET: 'a secret of the application',
  ALERTS: 'alert * 30 - ops@example.com',
}

/** What 1.0.0 was told, by group, and what it is called now. */
const REPLACED: readonly (readonly [old: Record<string, string>, now: Record<string, string>])[] = [
  [
    {
      ADMIN_TOKEN: 'pass:Yv7gQm2sLp9rTzKx',
      METRICS_TOKEN: 'Hd4wNc8bJf6eVuRa',
      STATUS_TOKEN: 'Kx2vNc8bJf6eVuQz',
      ADMIN_TOKENS: 'ann:Bf6eVuRaKx2vNc8b',
    },
    {
      ADMIN_TOKENS:
        'admin:pass:Yv7gQm2sLp9rTzKx metrics/prometheus:Hd4wNc8bJf6eVuRa status/program:Kx2vNc8bJf6eVuQz ann:Bf6eVuRaKx2vNc8b',
    },
  ],
  [
    {
      EMAIL_CALLBACK_KEY: 'kjahsdkjashdkjashdkjahs',
      SMS_CALLBACK_KEY_PREVIOUS: 'qwdkjnqwdkjnqwdkjnqwdkjn',
      EMAIL_CALLBACK_KEY_PREVIOUS: 'zxmnczxmnbczxmnbczxmnbc',
    },
    {
      CALLBACK_KEYS:
        'email:kjahsdkjashdkjashdkjahs sms-previous:qwdkjnqwdkjnqwdkjnqwdkjn email-previous:zxmnczxmnbczxmnbczxmnbc',
    },
  ],
  [
    { QUOTA_SMS_PER_DAY: '500', QUOTA_EMAIL_PER_DAY: 'off', QUOTAS: 'sms-minute=7, email-day=off' },
    { QUOTAS: 'sms-day=500 email-day=off sms-minute=7' },
  ],
  [{ EMAIL_WORDS: 'platform', SMS_WORDS: 'ours' }, { PLATFORM_WORDS: 'email' }],
  [
    { DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 's1.x', DKIM_KEY_FILE: 'dkim.pem' },
    { DKIM_NAME: 's1.x._domainkey.example.com', DKIM_KEY_FILE: 'dkim.pem' },
  ],
  [
    {
      TWILIO_API_KEY_SID: `SK${'0'.repeat(32)}`,
      TWILIO_API_KEY_SECRET: 'a:secret',
      TWILIO_MESSAGING_SERVICE_SID: `MG${'0'.repeat(32)}`,
    },
    { TWILIO_API_KEY: `SK${'0'.repeat(32)}:a:secret`, TWILIO_FROM: `MG${'0'.repeat(32)}` },
  ],
  [
    { DDQ_HOST: 'ddq.example.com', ...DEVICES },
    { DDQ_URL: 'http://ddq.example.com:80', ...DEVICES },
  ],
  [
    {
      DDQ_HOST: '2001:db8::7',
      DDQ_PORT: '8080',
      DDQ_TLS: 'True',
      DDQ_AUTH_PATH: '/a&b',
      DDQ_SUBSCRIBE_PATH: '/sub',
      DDQ_HEARTBEAT: 'post:/x',
      DDQ_ANY_PRODUCT: '#+',
      ...DEVICES,
    },
    {
      DDQ_URL: 'https://[2001:db8::7]:8080?auth=/a%26b&subscribe=/sub&heartbeat=post:/x&any-product=%23%2B',
      ...DEVICES,
    },
  ],
]

t.test('settings of 1.0.0 mean what they meant, and the start says what they are called now', t => {
  for (const [old, now] of REPLACED) {
    const [{ warnings, ...before }, { warnings: none, ...after }] = [removed(old), removed(now)]
    t.same(before, after)
    const said = warnings.filter(({ sentence }) => !none.some(each => each.sentence === sentence))
    t.equal(said.length, Object.entries(now).filter(([name, text]) => old[name] !== text).length)
    for (const name of Object.keys(old))
      if (!(name in now)) t.match(said.map(({ sentence }) => sentence).join(), name)
    for (const [name, secret] of Object.entries(old))
      if (/(?:TOKEN|KEY|SECRET|PREVIOUS)S?$/.test(name))
        t.notMatch(said.map(describeAdvice).join(), `:${secret}`)
  }
  t.match(removed({ ADMIN_TOKEN: 'Yv7gQm2sLp9rTzKx' }).warnings, [
    {
      sentence: 'ADMIN_TOKEN will not be read from 1.3 on',
      remedy: 'put `admin:…` into ADMIN_TOKENS instead',
    },
  ])
  t.throws(() => removed({ ADMIN_TOKEN: 'short' }), /ADMIN_TOKENS \(ADMIN_TOKEN\) must be name:token/)
  t.end()
})

t.test('of an old setting and the one in its place only one may say something', t => {
  const [old, now] = [`MG${'0'.repeat(32)}`, `MG${'1'.repeat(32)}`]
  const both = { TWILIO_MESSAGING_SERVICE_SID: old, TWILIO_FROM: now }
  t.throws(() => removed(both), /TWILIO_FROM .*and TWILIO_MESSAGING_SERVICE_SID are both set/)
  t.same(removed({ ...both, TWILIO_FROM: old }).TWILIO_FROM, { messagingServiceSid: old }, 'the same twice')
  t.end()
})

t.test('a replaced secret may still stand in a file', t => {
  const read = { '/run/token': 'Yv7gQm2sLp9rTzKx\n' }
  const env = { ...enough, ADMIN_TOKEN_FILE: '/run/token' }
  const config = loadConfig({ env, readFile: path => read[path as keyof typeof read] })
  t.same(config.ADMIN_TOKENS, new Map([['admin', 'Yv7gQm2sLp9rTzKx']]))
  t.match(config.warnings, [{ sentence: /^ADMIN_TOKEN will not be read/ }])
  t.end()
})

t.test('from 1.3 on an old name stops the start, and is never ignored', t => {
  const read = (name: string) => (name === 'EMAIL_CALLBACK_KEY' ? 'kjahsdkjashdkjashdkjahs' : undefined)
  for (const version of ['1.3.0', '1.10.0', '2.0.0']) {
    const { texts, faults, warnings } = readReplacedSettings(read, {}, version)
    t.match(faults, [{ name: 'EMAIL_CALLBACK_KEY', problem: 'is not read any more' }], version)
    t.same([texts, warnings], [{}, []])
  }
  t.same(readReplacedSettings(read, {}, '1.2.9').faults, [])
  t.end()
})
