import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allSettings, settingNames } from '../../src/config/settings.ts'
import { enough, faultsIn, load } from './settings.ts'

/** What each text is read as; a fault for those that cannot be. */
function reads(name: string, right: Record<string, unknown>, wrong: readonly string[], more: object = {}) {
  t.test(name, async t => {
    const read = (text: string) => ({ ...enough, BRAND_NAME: 'Example', ...more, [name]: text })
    for (const [text, value] of Object.entries(right)) t.same(load(read(text))[name as 'HOST'], value, text)
    for (const text of wrong) t.match(faultsIn(read(text)), [new RegExp(`^${name} `)], text)
  })
}

reads(
  'LINKS_HTTPS_ONLY',
  { ' on ': true, TRUE: true, yes: true, '1': true, off: false, False: false, no: false, '0': false },
  ['maybe', '2'],
)

for (const [name, right, wrong] of [
  ['CORP_ID', ['a._~-', '9', 'Z'.repeat(64)], ['.a', 'a/b', 'Z'.repeat(65)]],
  ['BRAND_NAME', ['A b', '名'.repeat(40)], ['名'.repeat(41), 'a\nb']],
  ['PROBE_AT', ['00:00', '19:59', '23:05'], ['24:00', '9:00', '09:60', '09:000', '109:00']],
  ['STORE_SECRET', ['a secret\nof 22 letters'], ['a secret of 21 letter']],
  ['NO_PROXY', ['a.example,'.repeat(5000)], []],
] as const)
  reads(name, Object.fromEntries(right.map(each => [each, each])), wrong)

reads('PORT', { '0': 0, ' 443 ': 443, '1e3': 1000, '80.0': 80, '+5': 5, '0x10': 16 }, [
  '-1',
  '65536',
  '80.5',
  '1e5',
  'Infinity',
  'http',
])

t.test('whom a trial names, and the place of an entry that is none', async t => {
  reads(
    'ONLY_TO',
    {
      '+8613800138000,\nAnn@Example.com @QA.Example.com': [
        '+8613800138000',
        'Ann@example.com',
        '@qa.example.com',
      ],
    },
    [',', '13800138000', '@', '@example', 'ann@', '+86 138'],
  )
  t.match(faultsIn({ ...enough, BRAND_NAME: 'Example', ONLY_TO: 'ann@example.com, secret-name' }), [
    /^ONLY_TO (?!.*secret).*; entry 2 is none of them/,
  ])
})

reads(
  'PROBE_TO',
  {
    'me@Example.com +8613800138000': new Map([
      ['email', 'me@example.com'],
      ['sms', '+8613800138000'],
    ]),
  },
  ['@example.com', 'me@example.com, you'],
  { PUBLIC_URL: 'https://c.example.com' },
)

t.test('what each setting must be is said in a sentence', async t => {
  const said = settingNames.flatMap(name =>
    ['?', '0', 'a b,c'].flatMap(text =>
      faultsIn({ ...enough, [name]: text }).filter(each => each.startsWith(name)),
    ),
  )
  const expected = readFileSync(join(import.meta.dirname, '../fixtures/setting-faults.txt'), 'utf8')
  t.same([...new Set(said)], expected.trimEnd().split('\n'))
})

t.test('quotas', async t => {
  const usual = load(enough).QUOTAS
  t.same(
    load({ ...enough, QUOTAS: Object.keys(allSettings.QUOTAS.parts ?? {}).join() }).QUOTAS,
    usual,
    'as the docs say',
  )
  reads(
    'QUOTAS',
    {
      'sms-day=off': { ...usual, 'sms-day': 0 },
      'sms-day=999999999': { ...usual, 'sms-day': 999_999_999 },
      'sms-day=500,\temail-day=OFF sms-day=500': { ...usual, 'sms-day': 500, 'email-day': 0 },
    },
    [
      'sms-day=-5',
      'sms-day=many',
      'sms-day=1.5',
      'sms-day',
      'sms_day=5',
      'sms-day=5 sms-day=6',
      '500',
      'sms-day=1234567890',
    ],
  )
})

reads(
  'TRUSTED_PROXIES',
  {
    '10.0.0.0/8': ['10.0.0.0/8'],
    '192.0.2.7,2001:db8::/32  ::1': ['192.0.2.7', '2001:db8::/32', '::1'],
  },
  ['10.0.0.0/33', '2001:db8::/129', 'example.com', '10.0.0.0/8/8', 'fe80::1%eth0', '10.0.0/8', '10.0.0.0/'],
)

t.test('host names', async () => {
  reads('LINK_HOSTS', { 'WWW.example.com, *.iot.example.com': ['www.example.com', '*.iot.example.com'] }, [
    'https://example.com',
    'example.com/path',
    'a b..c',
    '*.*.example.com',
    '-x.example.com',
  ])
  const label = 'a'.repeat(63)
  reads('WEBOTP_DOMAIN', { 'Example.com': 'example.com', [`${label}.com`]: `${label}.com` }, [
    'example',
    'https://example.com',
    `a${label}.com`,
  ])
})

reads('LOCALE', { en: 'en', zh_cn: 'zh-CN', zh_hans_cn: 'zh-Hans-CN', AR: 'ar' }, ['english please', '-'])
reads('DEFAULT_AREA_CODE', { '86': '86', '+86': '86', '0086': '86', '1': '1' }, ['0', '1684', 'CN'])
reads(
  'SMS_COUNTRIES',
  { '*': '*', 'cn, HK': ['CN', 'HK'], 'CN，HK、JP；US;GB': ['CN', 'HK', 'JP', 'US', 'GB'] },
  ['China', 'UK', 'EU', 'UN', 'ZZ', 'XX'],
)

reads(
  'MAIL_FROM',
  {
    'a@example.com': { address: 'a@example.com' },
    'Example Shop <a@example.com>': { name: 'Example Shop', address: 'a@example.com' },
    '"Example, Inc." <a@example.com>': { name: 'Example, Inc.', address: 'a@example.com' },
    '设备云 <a@例子.测试>': { name: '设备云', address: 'a@xn--fsqu00a.xn--0zwm56d' },
    '<a@localhost>': { address: 'a@localhost' },
    [`a@${'example.'.repeat(31)}tests`]: { address: `a@${'example.'.repeat(31)}tests` },
    [`${'a'.repeat(64)}@example.com`]: { address: `${'a'.repeat(64)}@example.com` },
  },
  [
    'Example',
    'a@b@c',
    'a b@example.com',
    'a@example.com, b@example.com',
    'X <a@[127.0.0.1]>',
    'Exam\u0007ple <a@example.com>',
    'Example\r\nBcc: x <a@example.com>',
    '@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'example.'.repeat(31)}testes`,
  ],
)
reads('MAIL_BOUNCE_TO', { 'b@example.com': 'b@example.com' }, ['Bounces <b@example.com>', 'b@'])

t.test('addresses of servers', async t => {
  const api = 'SMTP_OAUTH2_TOKEN_URL'
  for (const name of ['localhost', '127.0.0.1', '[::1]'])
    t.notMatch(
      faultsIn({ ...enough, [api]: `http://${name}:8080/token` }).join(),
      'must be an https address',
      name,
    )
  for (const name of ['localhost.evil.com', '127.0.0.1.evil.com', 'api.example.com'])
    t.match(
      faultsIn({ ...enough, [api]: `http://${name}/token` }).join(),
      `${api} must be an https address`,
      name,
    )
  reads('SMTP_URL', { 'smtps://u:p%40ss@mail.example.com:465': 'smtps://u:p%40ss@mail.example.com:465' }, [
    'mail.example.com:587',
    'smtp://',
    'https://mail.example.com',
    'smtp://u:100%@mail.example.com',
  ])
  reads(
    'PUBLIC_URL',
    {
      'https://courier.example.com/': 'https://courier.example.com',
      'https://example.com:8443/iot/': 'https://example.com:8443/iot',
    },
    [
      'http://courier.example.com',
      'courier.example.com',
      'https://u:p@example.com',
      'https://example.com/?a=b',
      'https://example.com/#a',
    ],
  )
  reads(
    'TWILIO_API_URL',
    { 'http://127.0.0.1:4010/': 'http://127.0.0.1:4010', 'https://api.twilio.com': 'https://api.twilio.com' },
    ['http://api.twilio.com', 'twilio'],
  )
})

t.test('proxies and web sites', async () => {
  const proxy = 'http://u:p%40ss@proxy.example.com:3128'
  reads('HTTPS_PROXY', { [proxy]: proxy }, [
    'proxy.example.com:3128',
    'socks5://proxy.example.com',
    'http://proxy.example.com/path',
    'http://proxy.example.com/?a=b',
  ])
  reads('BRAND_URL', { 'http://Example.com': 'http://example.com/' }, [
    'example.com',
    'https://u:p@example.com',
  ])
})

t.test('where the store is', async t => {
  reads(
    'DATABASE_URL',
    {
      'file:/data/outbox.db': { kind: 'file', path: '/data/outbox.db' },
      'file:///data/outbox.db': { kind: 'file', path: '/data/outbox.db' },
      'file:outbox.db': { kind: 'file', path: 'outbox.db' },
    },
    [
      'outbox.db',
      'mysql://db/courier',
      'file:',
      'postgres://',
      'postgres://one,two:5433/c',
      'postgres://one,two/c?target_session_attrs=any',
      'postgres://one/c?target_session_attrs=standby',
      'postgres://one:x,two/c?target_session_attrs=read-write',
      'postgres://one/c',
    ],
  )
  const secret = { STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe' }
  const { DATABASE_URL } = load({
    ...enough,
    ...secret,
    DATABASE_URL: 'postgresql://u:p@db:5432/c?sslmode=disable',
  })
  t.same(DATABASE_URL, { kind: 'postgres', url: 'postgresql://u:p@db:5432/c?sslmode=disable' })
  const url = 'postgres://u:p@one:5432,two:5433/c?target_session_attrs=read-write&sslmode=disable'
  t.same(load({ ...enough, ...secret, DATABASE_URL: url }).DATABASE_URL, { kind: 'postgres', url })
})

t.test('senders of SMS', async () => {
  reads(
    'TWILIO_FROM',
    {
      ...Object.fromEntries(
        ['+15005550006', '+1234567', '+123456789012345', '123', '12345678', 'Example', 'A 2&c+d_e-1'].map(
          from => [from, { from }],
        ),
      ),
      [`MG${'0aF9'.repeat(8)}`]: { messagingServiceSid: `MG${'0aF9'.repeat(8)}` },
    },
    [
      'A name of 12',
      '+0123',
      '+0123456',
      '+123456',
      '+1234567890123456',
      '12',
      '123456789',
      `MG${'a'.repeat(31)}`,
    ],
  )
  const service = `MG${'a'.repeat(32)}`
  reads(
    'PLUGIN_SENDERS',
    {
      [`{"p1": {"signature": "甲", "from": "+15005550006"}, "2": {"from": "${service}"}, "3": {"signature": "${'C'.repeat(40)}", "signatures": {"aliyun": "乙"}}}`]:
        new Map<string, unknown>([
          ['p1', { signature: '甲', from: '+15005550006' }],
          ['2', { messagingServiceSid: service }],
          ['3', { signature: 'C'.repeat(40), signatures: { aliyun: '乙' } }],
        ]),
    },
    [
      '{',
      '[]',
      '{"p": "x"}',
      '{"p": {"signatures": "x"}}',
      '{"p": {"signatures": {"aliyun": 1}}}',
      '{"p": {"form": "+15005550006"}}',
      '{"p": {"from": 1}}',
      '{"p":{"signature":"a\\nb"}}',
      `{"p":{"signature":"${'a'.repeat(41)}"}}`,
    ],
  )
  reads('SENDER_BY_COUNTRY', { '{"US": "+15005550006"}': new Map([['US', { from: '+15005550006' }]]) }, [
    '{"USA": "+15005550006"}',
    '{"US": ""}',
    'US=1',
  ])
  reads('LOCALE_BY_COUNTRY', { '{"TW": "zh-tw"}': new Map([['TW', 'zh-TW']]) }, [
    '{"TW": 1}',
    '{"TW": "chinese please"}',
    '{"T": "en"}',
  ])
})

reads('BRAND_COLOR', { '#0A7D55': '#0a7d55', '0a7d55': '#0a7d55' }, ['red', '#123', '0a7d5'])

t.test('where events are sent, and the secrets they are signed with', async t => {
  const key = (bytes: string) => `whsec_${Buffer.from(bytes).toString('base64')}`
  const secret = key('thirty-two random bytes, or more')
  const urls = [
    'https://hooks.example.com/a?b=c',
    'http://127.0.0.1:8080/x',
    'http://[::1]/',
    'http://localhost/',
  ]
  reads(
    'EVENTS_URL',
    Object.fromEntries(urls.map(url => [url, url])),
    [
      'http://hooks.example.com/',
      'http://localhost.example.com/',
      'https://user:pass@hooks.example.com/',
      'https://hooks.example.com/#part',
      'ftp://127.0.0.1/',
      'hooks',
    ],
    { EVENTS_SECRET: secret },
  )
  const right = [key('twenty-four random bytes'), key('sixty-four random bytes, '.repeat(3).slice(0, 64))]
  reads(
    'EVENTS_SECRET',
    Object.fromEntries([`${secret} ${secret}`, ...right].map(each => [each, each])),
    [
      secret.slice('whsec_'.length),
      `${secret}more!`,
      'whsec_',
      key('too short by one letter'),
      key('a'.repeat(32)),
      `whsec_${Buffer.alloc(65, secret).toString('base64')}`,
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    ],
    { EVENTS_URL: 'https://hooks.example.com' },
  )
  t.match(faultsIn({ ...enough, EVENTS_URL: 'https://hooks.example.com' }), [/^EVENTS_SECRET is missing/])
})

t.test('replaced secrets', async () => {
  const [one, other] = ['kbXvWqzRtYpLmNhJgFdSac', 'Yv7gQm2sLp9rTzKxHd4wNc']
  reads('STORE_SECRET_PREVIOUS', { [`${one} ${other}`]: [one, other] }, [`${one} ${other.slice(1)}`])
})

t.test('which URLs name a mailbox, and which would let a password cross a network in the clear', async () => {
  const given = { host: 'imap.example.com', user: 'ann@example.com', pass: 'p/w', mailbox: 'INBOX' }
  reads(
    'BOUNCE_IMAP_URL',
    {
      'imaps://ann%40example.com:p%2Fw@imap.example.com': {
        ...given,
        port: 993,
        secure: true,
        startTls: true,
      },
      'imap://ann%40example.com:p%2Fw@imap.example.com:1143/Post%20box': {
        ...given,
        port: 1143,
        secure: false,
        startTls: true,
        mailbox: 'Post box',
      },
      'imap://ann:pw@[::1]/?ignoreTLS=true': {
        host: '::1',
        port: 143,
        secure: false,
        startTls: false,
        user: 'ann',
        pass: 'pw',
        mailbox: 'INBOX',
      },
    },
    [
      'imap.example.com',
      'https://ann:pw@imap.example.com',
      'imaps://imap.example.com/INBOX',
      'imaps://ann:pw@imap.example.com/INBOX#part',
      'imap://ann:pw@imap.example.com?ignoreTLS=true',
      'imaps://ann:pw@imap.example.com?tls=off',
      'imaps://ann:p%w@imap.example.com',
    ],
  )
})

t.test(
  'keys, passwords and the name of a key in the DNS, each as short and as long as it may be',
  async () => {
    // Letters that are none of a row, as many as are wanted.
    const some = (length: number) =>
      'kbXvWqzRtYpLmNhJgFdSac'.padEnd(length, 'Yv7gQm2sLp9rTzKxHd4wNc').slice(0, length)
    const keys = [22, 128].map(length => some(length))
    reads(
      'CALLBACK_KEYS',
      Object.fromEntries(
        keys.map(key => [
          `email:${key}\nsms-previous:${key}`,
          new Map([
            ['email', key],
            ['sms-previous', key],
          ]),
        ]),
      ),
      [`email:${some(21)}`, `email:${some(129)}`],
    )
    const name = 'n'.repeat(64)
    const [token, program] = [some(256), some(255)]
    reads(
      'ADMIN_TOKENS',
      {
        [`ann:${program} status/${name}:${token}`]: new Map([
          ['ann', program],
          [`status/${name}`, token],
        ]),
      },
      [`n${name}:${token}`, `ann:x${token}`],
    )
    reads(
      'DKIM_NAME',
      Object.fromEntries(
        ['s', 's'.repeat(63)].map(selector => [
          ` ${selector}._domainkey.Example.com `,
          { selector, domain: 'example.com' },
        ]),
      ),
      [`${'s'.repeat(64)}._domainkey.example.com`, 's._domainkey.example', 'example.com'],
      { DKIM_KEY_FILE: 'dkim.pem' },
    )
  },
)
