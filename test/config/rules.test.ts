import t from 'tap'
import { createToken } from '../../src/commands/token.ts'
import { nearestName, reachableHost } from '../../src/config/sources.ts'
import { describeFault } from '../../src/settings/setting.ts'
import { enough, faultsIn, load } from './settings.ts'

const without = (...names: readonly string[]) =>
  Object.fromEntries(Object.entries(enough).filter(([name]) => !names.includes(name)))

const namesOf = (more: object) => faultsIn({ ...enough, ...more }).map(line => line.split(' ')[0])

/** Of what is right, what is warned of. */
const said = (env: object, files = {}) => load({ ...enough, ...env }, files).warnings.map(describeFault)

const EMAIL = ['EMAIL_TOKEN', 'SMTP_URL', 'MAIL_FROM']
const SMS = ['SMS_TOKEN', 'TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN', 'TWILIO_FROM', 'DEFAULT_AREA_CODE']

t.test('a channel that is off needs nothing', async t => {
  t.same(faultsIn(without(...SMS)), [])
  t.same(faultsIn({ ...without(...EMAIL), BRAND_NAME: 'Example' }), [])
  t.match(faultsIn({ ...without(...SMS, ...EMAIL) }), [/^EMAIL_TOKEN is missing.*SMS_TOKEN/])
})

t.test('a channel that is on says what it lacks', async t => {
  t.match(faultsIn({ ...without('SMTP_URL', 'MAIL_FROM'), BRAND_NAME: 'X' }), [
    /^SMTP_URL is/,
    /^MAIL_FROM is/,
  ])
  t.match(faultsIn({ ...without(...SMS), SMS_TOKEN: enough.SMS_TOKEN }), [
    /^SMS_TOKEN is set, and no SMS carrier is: .*TWILIO_ACCOUNT_SID, ALIYUN_ACCESS_KEY_ID, TENCENT_SECRET_ID, SMS_GATEWAYS/,
    /^DEFAULT_AREA_CODE is/,
  ])
  t.match(faultsIn(without('TWILIO_AUTH_TOKEN', 'TWILIO_FROM')), [/^TWILIO_AUTH_TOKEN is/, /^TWILIO_FROM is/])
  const wrong = { ...without(...SMS), SMS_TOKEN: enough.SMS_TOKEN, TWILIO_ACCOUNT_SID: 'AC1' }
  t.notMatch(faultsIn(wrong).join(), 'no SMS carrier is', 'one with a wrong value is one')
  const bounce = '{"bounce": {"request": {"url": "https://sms.example.com/", "json": "{}"}}}'
  t.match(faultsIn({ ...enough, SMS_GATEWAYS: bounce }).join(), 'calls a carrier bounce, as another one')
})

t.test('an API key, a messaging service and a list of countries will do', async t => {
  const env = {
    ...without('TWILIO_AUTH_TOKEN', 'TWILIO_FROM', 'DEFAULT_AREA_CODE'),
    TWILIO_API_KEY: `SK${'0'.repeat(31)}1:key-secret`,
    TWILIO_FROM: `MG${'0'.repeat(31)}1`,
    SMS_COUNTRIES: 'CN',
  }
  t.same(load(env).warnings, [])
  for (const wrong of [`SK${'0'.repeat(32)}:`, 'key-secret', ':key-secret'])
    t.match(faultsIn({ ...env, TWILIO_API_KEY: wrong }), [/^TWILIO_API_KEY must be SK and 32 hex digits/])
})

t.test('nobody can guess the URL: a weak Token stops the start', async t => {
  const weak = { ...enough, EMAIL_TOKEN: 'fifteen-letters' }
  t.match(faultsIn(weak), [/^EMAIL_TOKEN has fewer than 16 characters/])
  t.match(faultsIn({ ...enough, SMS_TOKEN_PREVIOUS: 'short' }), [/^SMS_TOKEN_PREVIOUS has fewer/])
  t.match(faultsIn({ ...weak, ALLOWED_SOURCES: '0.0.0.0/0' }), [/^EMAIL_TOKEN/], 'everybody is no protection')
  t.match(faultsIn({ ...weak, ALLOWED_SOURCES: '10.0.0.0/8, ::/0' }), [/^EMAIL_TOKEN/])
  t.match(
    faultsIn({ ...weak, CALLBACK_KEYS: 'sms:jdKw83nZqLs0vTbXm2RfYe' }),
    [/^EMAIL_TOKEN/],
    'the other channel',
  )
  for (const wrong of ['email:too-short', 'jdKw83nZqLs0vTbXm2RfYe', 'mail:jdKw83nZqLs0vTbXm2RfYe'])
    t.match(faultsIn({ ...weak, CALLBACK_KEYS: wrong }), [/^CALLBACK_KEYS must be email:KEY/])
  for (const wrong of [{ CALLBACK_KEYS: 'email:too-short' }, { ALLOWED_SOURCES: 'here' }])
    t.equal(faultsIn({ ...weak, ...wrong }).length, 1, 'what protects it is set, and wrong')

  t.same(faultsIn({ ...weak, CALLBACK_KEYS: 'email:jdKw83nZqLs0vTbXm2RfYe' }), [])
  t.same(faultsIn({ ...weak, ALLOWED_SOURCES: '203.0.113.0/24' }), [])
  t.equal(
    faultsIn({ ...weak, POST_SIGNATURE: 'required' }).length,
    faultsIn(weak).length,
    'who guesses the Token from the URL signs as well',
  )
  t.same(faultsIn({ ...enough, EMAIL_TOKEN: 'sixteen-letters-' }), [])
})

t.test('the private listener needs a password as soon as others can reach it', async t => {
  const open = without('ADMIN_TOKENS')
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'courier.internal', '127.0.0.1.example.com'])
    t.match(faultsIn({ ...open, ADMIN_HOST: host }), [/^ADMIN_TOKENS is missing: console/], host)
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost'])
    t.same(faultsIn({ ...open, ADMIN_HOST: host }), [], host)
  t.same(faultsIn({ ...open, ADMIN_HOST: '::', ADMIN_TOKENS: 'sixteen-letters-' }), [])
  for (const weak of ['aaaaaaaaaaaaaaaa', '1212121212121212121212', 'abcdabcdabcdabcd'])
    t.match(faultsIn({ ...open, ADMIN_TOKENS: weak }), [
      /^ADMIN_TOKENS has fewer than 8 different characters/,
    ])
  for (const wrong of ['short', 'fifteen-letters', 'ann:fifteen-letters', 'x'.repeat(257)]) {
    const faults = faultsIn({ ...open, ADMIN_HOST: '::', ADMIN_TOKENS: wrong })
    t.match(faults, [/^ADMIN_TOKENS must be name:token .* 16 to 256/])
    t.equal(faults.length, 1, 'it is wrong, and not missing')
  }
  t.match(faultsIn({ ...open, PORT: '9090' }), [/^ADMIN_PORT is the same as PORT/])
  t.same(faultsIn({ ...open, PORT: '0', ADMIN_PORT: '0' }), [], '0 is any free port')
})

t.test('operators and Prometheus have passwords of their own', async t => {
  const open = without('ADMIN_TOKENS')
  const [ann, bob] = ['Yv7gQm2sLp9rTzKx', 'Hd4wNc8bJf6eVuRa']
  const both = { ...open, ADMIN_TOKENS: `ann:${ann}\nbob:${bob}\n` }
  t.same(
    [...(load(both).ADMIN_TOKENS ?? [])],
    [
      ['ann', ann],
      ['bob', bob],
    ],
  )
  t.same(faultsIn({ ...both, ADMIN_HOST: '0.0.0.0' }), [], 'they will do off loopback')
  const files = { '/run/operators': `ann:${ann}\r\nbob:x:${bob}\r\n` }
  t.equal(load({ ...open, ADMIN_TOKENS_FILE: '/run/operators' }, files).ADMIN_TOKENS?.get('bob'), `x:${bob}`)
  t.equal(load({ ...open, ADMIN_TOKENS: `ann:${ann} bob:${bob}` }).ADMIN_TOKENS?.size, 2)
  for (const wrong of ['ann', `:${ann}`, 'ann:short', `a b:${ann}`, `ann ${ann}`, `<b>:${ann}`])
    t.match(faultsIn({ ...open, ADMIN_TOKENS: wrong }), [/^ADMIN_TOKENS must be name:token/], wrong)
  for (const wrong of [`ann:${ann} ann:${bob}`, `local:${ann}`, `${ann} admin:${bob}`])
    t.match(faultsIn({ ...open, ADMIN_TOKENS: wrong }), [/^ADMIN_TOKENS must be .*each name once/], wrong)
  for (const two of [`metrics/prom=${ann}`, `${bob} status/shop=${ann}`, `ann:metrics/prom:${ann}`])
    t.match(
      faultsIn({ ...open, ADMIN_TOKENS: two }),
      [/^ADMIN_TOKENS must be name:token .* a colon between/],
      two,
    )
  t.same([...(load({ ...open, ADMIN_TOKENS: ann }).ADMIN_TOKENS ?? [])], [['admin', ann]])
  t.match(faultsIn({ ...open, ADMIN_TOKENS: `ann:${ann} bob:${ann}` }), [/^ADMIN_TOKENS repeats another/])
  for (const program of [`metrics/prometheus:${bob}`, `status/shop:${bob}`]) {
    t.match(faultsIn({ ...open, ADMIN_TOKENS: program }), [/^ADMIN_TOKENS has passwords of programs alone/])
    t.match(faultsIn({ ...open, ADMIN_HOST: '::', ADMIN_TOKENS: program }), [
      /^ADMIN_TOKENS is missing: cons/,
    ])
    t.same(faultsIn({ ...open, ADMIN_TOKENS: `${ann} ${program}` }), [])
    t.match(faultsIn({ ...open, ADMIN_TOKENS: `${bob} ${program}` }), [/^ADMIN_TOKENS repeats another/])
  }
  t.notMatch(faultsIn({ ...open, ADMIN_TOKENS: `ann:${ann}!ö` }).join(''), ann)
})

t.test('a secret of few characters, one that repeats itself and a plain run stop the start', async t => {
  for (const weak of [
    '1234567890123456',
    '6543210987654321',
    'abcdefghijklmnop',
    'QWERTYUIOPasdfgh',
    'abcd1234abcd1234',
    'aaaaaaaabbbbbbbb',
    'changeme-changeme',
    'kX9mQ2vRkX9mQ2vR',
  ])
    for (const place of ['', 'ann:', 'Yv7gQm2sLp9rTzKx metrics/prometheus:'])
      t.match(
        faultsIn({ ...enough, ADMIN_TOKENS: `${place}${weak}` }),
        [
          'ADMIN_TOKENS has fewer than 8 different characters, repeats itself, or is a run such as 1234567890123456',
        ],
        weak,
      )
})

t.test('a secret that is made at random is none of these', async t => {
  const made = Array.from({ length: 500 }, (_, n) => `n${n}:${createToken()}`)
  t.same(faultsIn({ ...enough, ADMIN_TOKENS: made.join(' ') }), [])
  for (const fine of [
    'correct-horse-battery',
    '9f86d081884c7d659a2feaa0c55ad015',
    '9f86d081884c7d65',
    '8273640915520718',
    'kX9mQ2vRtWkX9mQ2',
  ])
    t.same(faultsIn({ ...enough, ADMIN_TOKENS: fine }), [], fine)
})

t.test('a password crosses no network in the clear, unless a second setting says so', async t => {
  const clear = 'smtp://courier:hunter2secret@mail.example.com?ignoreTLS=true'
  t.match(faultsIn({ ...enough, SMTP_URL: clear }), [/^SMTP_URL .*in the clear.*SMTP_LOGIN_WITHOUT_TLS/])
  t.match(faultsIn({ ...enough, SMTP_FALLBACK_URL: clear }), [/^SMTP_FALLBACK_URL .*in the clear/])
  for (const host of ['localhost.evil.example', '127.0.0.1.evil.example', 'my-localhost', '128.0.0.1']) {
    const elsewhere = { ...enough, SMTP_URL: clear.replace('mail.example.com', host) }
    t.match(faultsIn(elsewhere), [/^SMTP_URL .*in the clear/], host)
  }
  for (const fine of [
    clear.replace('courier:hunter2secret@', ''),
    clear.replace('mail.example.com', 'localhost'),
    clear.replace('mail.example.com', '127.0.0.1'),
    clear.replace('mail.example.com', '[::1]'),
    clear.replace('?ignoreTLS=true', '?requireTLS=false'),
  ])
    t.same(faultsIn({ ...enough, SMTP_URL: fine }), [], fine)
  const told = { ...enough, SMTP_URL: clear, SMTP_LOGIN_WITHOUT_TLS: 'on' }
  t.same(faultsIn(told), [])
  t.match(said(told), [/^SMTP_LOGIN_WITHOUT_TLS lets .*in the clear/])
})

t.test('what works but should not stay so is said', async t => {
  for (const name of ['EMAIL_TOKEN', 'SMS_TOKEN', 'EMAIL_TOKEN_PREVIOUS', 'SMS_TOKEN_PREVIOUS'])
    t.match(said({ [name]: 'kbXvWqzRtYpLm\\NhJgFd7' }), [
      RegExp(`^${name} ends in a digit`),
      RegExp(`^${name} has a character`),
    ])
  t.same(said({ EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJ' }), [], 'sixteen characters will do')
  const served = { TLS: 'on', TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem' }
  t.same(said({ ...served, ALLOWED_SOURCES: '203.0.113.0/24' }), [], 'no proxy is in front')
  t.same(said({ ALLOWED_SOURCES: '203.0.113.0/24', TRUSTED_PROXIES: '10.0.0.1' }), [])
  t.match(said({ SMS_TOKEN: 'kbXvWqzRtYpLm$NhJgFd' }), [/^SMS_TOKEN has a character/])
  t.match(said({ EMAIL_TOKEN: 'short', CALLBACK_KEYS: 'email:jdKw83nZqLs0vTbXm2RfYe' }), [/can be guessed/])
  t.match(said({ ALLOWED_SOURCES: '0.0.0.0/0', TRUSTED_PROXIES: '::/0' }), [
    /^ALLOWED_SOURCES/,
    /^TRUSTED_PROXIES/,
  ])
  for (const line of ['BRAND_NAME=A#1', 'BRAND_NAME=A $shop', 'BRAND_NAME=ab${cd}', 'BRAND_NAME="ab$cd"'])
    t.match(said({}, { '.env': line }), [/^BRAND_NAME in \.env is read differently by Compose/], line)
  for (const line of ["BRAND_NAME='ab$cd #1' # ours", 'BRAND_NAME=A $ # shop$a', 'BRAND_NAME="a#b"'])
    t.same(said({}, { '.env': line }), [], line)
  t.equal(load(enough, { '.env': "BRAND_NAME='ab$cd #1'" }).BRAND_NAME, 'ab$cd #1')
})

t.test('a line of the dotenv file that sets nothing is named by its number, and never repeated', t => {
  const dotenv = `# a remark
constructor

SMS_TOKEN: hunter2secret=x
export LOCALE=de
BRAND_NAME = Example
WEBOTP_DOMAIN="example.com
hunter2secret"
`
  const warned = said({}, { '.env': dotenv.replace('example.com\nhunter2secret', 'example.com') })
  t.match(warned, [
    /^line 2 of \.env sets nothing: write NAME=value/,
    /^line 4 of \.env .* names SMS_TOKEN: write SMS_TOKEN=/,
  ])
  t.equal(warned.length, 2)
  const faults = faultsIn({ ...enough, PORT: 'x' }, { '.env': dotenv })
  t.equal(
    faults.filter(each => each.startsWith('line ')).length,
    2,
    'told beside the faults; quotes may span lines',
  )
  t.notMatch(faults.join(), /hunter2/)
  const after = faultsIn({ ...enough, PORT: 'x' }, { '.env': 'BRAND_NAME="a\nb"\nFOO\n' })
  t.match(after.join(), 'line 3 of .env sets nothing', 'the lines of quotes count')
  t.end()
})

t.test('a name that nobody reads is said, with the one that was probably meant', async t => {
  t.match(said({ SMTP_URLS: 'x' }), [/^SMTP_URLS is not a setting.*did you mean SMTP_URL\?/])
  t.match(said({ PUBLIC_ULR: 'x' }), [/did you mean PUBLIC_URL\?/])
  t.match(said({ TWILIO_FORM: 'x' }), [/did you mean TWILIO_FROM\?/])
  t.match(said({ EMAIL_TOKEN_FIEL: 'x' }), [/did you mean EMAIL_TOKEN_FILE\?/])
  t.same(said({ PUBLIC_HAT: 'x', PORTS_OF: 'x' }), [], 'three other letters are another word')
  t.same(said({ HOME: '/root', PATH: '/bin', HOSTNAME: 'x', SMTP_HOST_PORT: 'x', npm_config_x: '1' }), [])
  t.same(said({ SSL_CERT_FILE: '/etc/ssl/cert.pem', SSL_CERT_DIR: '/etc/ssl' }), [], 'they are OpenSSL’s')
  t.match(said({}, { '.env': 'NONSENSE=1\nPORT_FILE=x\n' }), [
    /^NONSENSE is not a setting/,
    /^PORT_FILE is not/,
  ])
  const others =
    'COMPOSE_FILE COMPOSE_PROJECT_NAME DOCKER_HOST NODE_ENV ACME_EMAIL CADDY_HOST POSTGRES_DB SSL_CERT_DIR TZ LANG LC_ALL LC_MESSAGES PATH HTTP_PROXY PUBLIC_HOST MALLOC_ARENA_MAX'
  t.same(said({}, { '.env': others.replaceAll(' ', '=x\n').concat('=x\n') }), [])
  for (const [name, known, near] of [
    ['ABCDEFGH', ['ABCDEFXH'], 'ABCDEFXH'],
    ['ABCDEFGH', ['ABCDEFXY'], null],
    ['PORTX', ['PORTA', 'PORTB'], 'PORTA'],
    ['ABCDEFGH', ['ABCDEFGX', 'ABCDEFG'], 'ABCDEFG'],
    ['PORX', ['PORT'], null],
    ['porta', ['PORTA'], null],
    ['TWILIO_SID', ['TWILIO_ACCOUNT_SID'], null],
  ] as const)
    t.equal(nearestName(name, known), near, name)
  const hosts = ['0.0.0.0', '::', '::1', '192.0.2.1', 'localhost']
  t.same(hosts.map(reachableHost), ['127.0.0.1', '[::1]', '[::1]', '192.0.2.1', 'localhost'])
})

t.test('a name that 1.1.0 still read stops the start, and the new one is said', async t => {
  for (const [now, ...former] of [
    ['ADMIN_TOKENS', 'ADMIN_TOKEN', 'METRICS_TOKEN', 'STATUS_TOKEN_FILE'],
    ['CALLBACK_KEYS', 'EMAIL_CALLBACK_KEY', 'SMS_CALLBACK_KEY_PREVIOUS'],
    ['QUOTAS', 'QUOTA_RECIPIENT_PER_10_MINUTES', 'QUOTA_ALARM_RECIPIENT_PER_HOUR'],
    ['QUOTAS', 'QUOTA_SMS_COST_PER_DAY', 'QUOTA_EMAIL_PER_DAY'],
    ['PLATFORM_WORDS', 'EMAIL_WORDS', 'SMS_WORDS'],
    ['TWILIO_API_KEY', 'TWILIO_API_KEY_SID', 'TWILIO_API_KEY_SECRET'],
    ['TWILIO_FROM', 'TWILIO_MESSAGING_SERVICE_SID'],
    ['DKIM_NAME', 'DKIM_SELECTOR', 'DKIM_DOMAIN'],
    ['DDQ_URL', 'DDQ_HOST', 'DDQ_PORT', 'DDQ_TLS', 'DDQ_AUTH_PATH', 'DDQ_SUBSCRIBE_PATH'],
    ['DDQ_URL', 'DDQ_HEARTBEAT', 'DDQ_ANY_PRODUCT'],
  ] as const)
    for (const old of former)
      t.match(faultsIn({ ...enough, [old]: 'x' }), [
        new RegExp(`^${old} is not read any more: put its value into ${now} \\(.*settings ${now}`),
      ])
  t.same(faultsIn({ ...enough, ADMIN_TOKEN: ' ', DDQ_QUEUE: 'x', QUOTA_OF_SOMEBODY: 'x' }), [])
})

t.test('one judgement for every secret of ours', async t => {
  const weak = 'changeme-changeme-change'
  for (const name of ['EMAIL_TOKEN', 'SMS_TOKEN_PREVIOUS', 'STORE_SECRET'])
    t.same(namesOf({ [name]: weak }), [name], name)
  for (const place of ['email', 'sms-previous'])
    t.same(namesOf({ CALLBACK_KEYS: `${place}:${weak}` }), ['CALLBACK_KEYS'])
  t.same(namesOf({ STORE_SECRET_PREVIOUS: weak }), [], 'it is being replaced')
  for (const protection of [
    { CALLBACK_KEYS: 'email:jdKw83nZqLs0vTbXm2RfYe' },
    { ALLOWED_SOURCES: '203.0.113.0/24' },
  ])
    t.same(namesOf({ EMAIL_TOKEN: weak, ...protection }), [], 'nothing follows from it')
  t.match(faultsIn({ ...enough, STORE_SECRET: weak, CALLBACK_KEYS: `sms:${weak}` }), [
    /^CALLBACK_KEYS has fewer.*: make one .* also serves here$/,
    /^STORE_SECRET has fewer.* keep this one in STORE_SECRET_PREVIOUS/,
  ])
})

t.test('a database over a network is reached by TLS, or the URL says that it is not', async t => {
  const faults = (url: string) =>
    faultsIn({ ...enough, DATABASE_URL: url, STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe' })
  for (const url of [
    'postgres://u:p@db.example.com/c',
    'postgres://u:p@192.0.2.1:5432/c',
    'postgres://u:p@127.0.0.1,db.example.com/c?target_session_attrs=read-write',
    'postgres://u:p@localhost/c?host=db.example.com',
    'postgres://u:p@127.0.0.1.example.com/c',
    'postgres://u:p@db.example.com/c?sslmode=verify-full&sslmode=',
    'postgres://u:p@db.example.com/c?ssl_min_protocol_version=TLSv1.3&sslcompression=1',
    'postgres://u:p@db.example.com/c?host=localhost&host=db.example.com',
  ])
    t.match(faults(url), [/^DATABASE_URL leads over a network without TLS.*: add sslmode=verify-full/], url)
  for (const url of [
    'file:data/outbox.db',
    'postgres://u:p@localhost/c',
    'postgres://u:p@[::1]:5432/c',
    'postgres://u:p@127.0.0.1/c',
    'postgres://u@localhost/c?host=%2Frun%2Fpostgresql',
    'postgres://u@%2Frun%2Fpostgresql/c',
    'postgres://u:p@db.example.com/c?sslmode=verify-full',
    'postgres://u:p@db.example.com/c?sslmode=disable',
    'postgres://u:p@db.example.com/c?sslrootcert=ca.pem',
  ])
    t.same(faults(url), [], url)
})
