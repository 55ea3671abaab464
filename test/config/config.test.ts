import { readFileSync } from 'node:fs'
import fastifyEnv from '@fastify/env'
import { Ajv } from 'ajv'
import fastify from 'fastify'
import t from 'tap'
import {
  type Config,
  ConfigError,
  envSchemaOptions,
  jsonSchema,
  loadConfig,
  loadSomeSettings,
} from '../../src/config/config.ts'
import { allSettings, type SettingName, settingNames, settingOf } from '../../src/config/settings.ts'
import { adminAddress } from '../../src/config/sources.ts'
import { describeFault } from '../../src/settings/setting.ts'
import { makePages } from '../docs/settings-pages.ts'
import { enough, entriesOf, faultsIn, load, sourcesOf } from './settings.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const recordOf = (name: string) => read(`test/fixtures/${name}`)

t.test('the schema of the settings is a schema, which no start proves again', async t => {
  t.equal(new Ajv().validateSchema(jsonSchema), true)
})

t.test('the least that is needed gives every other setting its default, in its own type', async t => {
  const read = Object.entries(load(enough)).filter(([, value]) => value !== undefined)
  const told = read.map(([name, value]) => `${name} ${JSON.stringify(value, entriesOf)}\n`)
  t.equal(told.join(''), recordOf('setting-defaults.txt'))
})

t.test('defaults that follow from other settings', async t => {
  const config = load(enough)
  t.equal(config.MAIL_BOUNCE_TO, 'no-reply@example.com')
  t.equal(config.BRAND_NAME, 'Example')
  const own = load({ ...enough, MAIL_BOUNCE_TO: 'bounces@example.com', BRAND_NAME: 'Acme' })
  t.equal(own.MAIL_BOUNCE_TO, 'bounces@example.com')
  t.equal(own.BRAND_NAME, 'Acme')
})

t.test('one error names every fault at once, those of single settings and those between them', async t => {
  const env = {
    EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJgFdS',
    PORT: '99999',
    TLS: 'maybe',
    SMTP_URL: 'http://user:hunter2secret@mail.example.com',
    LOG_LEVEL: 'loud',
    ADMIN_HOST: '0.0.0.0',
    DATABASE_URL: 'postgres://localhost/courier',
  }
  const one = { ...enough, PORT: 'x' }
  const told = [{}, env, one, { ...enough, TLS: 'on' }, { EMAIL_TOKEN_FILE: '/none' }].map(each => {
    try {
      return String(load(each).PORT)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return `${error.message}\n${error.in('en')}\n${error.in('zh-CN')}\n`
    }
  })
  t.equal(told.join(''), recordOf('faults-at-once.txt'))
})

t.test('no fault and no warning repeats a secret', async t => {
  const secret = 'hunter2 #$ecret'
  const names = settingNames.filter(name => 'secret' in allSettings[name])
  t.equal(
    names.join(' '),
    'EMAIL_TOKEN SMS_TOKEN EMAIL_TOKEN_PREVIOUS SMS_TOKEN_PREVIOUS CALLBACK_KEYS ADMIN_TOKENS SMTP_URL SMTP_FALLBACK_URL SMTP_OAUTH2_CLIENT_SECRET SMTP_OAUTH2_REFRESH_TOKEN TWILIO_AUTH_TOKEN TWILIO_API_KEY ALIYUN_ACCESS_KEY_SECRET TENCENT_SECRET_KEY SMS_GATEWAYS SMS_GATEWAY_SECRETS ONLY_TO DATABASE_URL STORE_SECRET STORE_SECRET_PREVIOUS BOUNCE_IMAP_URL HTTPS_PROXY PROBE_TO DDQ_APP_SECRET ALERTS EVENTS_URL EVENTS_SECRET',
  )
  for (const name of names) {
    try {
      const config = load({ ...enough, [name]: secret })
      t.notMatch(config.warnings.map(describeFault).join('\n'), secret, name)
    } catch (error) {
      t.type(error, ConfigError)
      t.notMatch(String((error as Error).stack), secret, name)
    }
  }
})

t.test('an empty or blank value is none', async t => {
  const config = load({ ...enough, PORT: '', LOCALE: '  ', SMTP_FALLBACK_URL: '', EMAIL_TOKEN_FILE: ' ' })
  t.equal(config.PORT, 8443)
  t.equal(config.LOCALE, 'en')
  t.equal(config.SMTP_FALLBACK_URL, undefined)
  t.equal(
    load({ ...enough, TWILIO_AUTH_TOKEN: ' a b ' }).TWILIO_AUTH_TOKEN,
    ' a b ',
    'a blank may be part of a secret',
  )
  t.match(faultsIn({ ...enough, CORP_ID: '' }), [/^CORP_ID is missing/])
})

t.test('the environment wins over the dotenv file', async t => {
  const files = { '.env': 'PORT=1111\nADMIN_PORT=2222\nMAIL_FROM=From File <file@example.com>\n' }
  const config = load({ ...enough, MAIL_FROM: undefined, PORT: '3333' }, files)
  t.equal(config.PORT, 3333)
  t.equal(config.ADMIN_PORT, 2222)
  t.same(config.MAIL_FROM, { name: 'From File', address: 'file@example.com' })
})

t.test('a dotenv file that is there but cannot be read stops the start', async t => {
  const readFile = () => {
    throw Object.assign(new Error('no'), { code: 'EACCES' })
  }
  t.throws(() => loadConfig({ env: enough, dotenvPath: '.env', readFile }), /\.env cannot be read \(EACCES\)/)
})

t.test(
  'a dotenv file that is not UTF-8 is refused with its line alone, and a byte order mark is none of it',
  async t => {
    const { EMAIL_TOKEN: _, ...rest } = enough
    const text = `EMAIL_TOKEN=${enough.EMAIL_TOKEN}\n`
    const gbk = Buffer.concat([Buffer.from(`${text}BRAND_NAME=`), Buffer.from([0xca, 0xbe, 0xc0, 0xfd])])
    for (const [bytes, fault] of [
      [gbk, 'line 2 of .env is not UTF-8: save the file as UTF-8'],
      // One of its two bytes is that of a line end.
      [Buffer.from(`${text}# 上\n`, 'utf16le'), 'line 1 of .env is UTF-16: save the file as UTF-8'],
      [Buffer.from(`\uFEFF${text}`, 'utf16le'), 'line 1 of .env is UTF-16: save the file as UTF-8'],
    ] as const)
      t.same(faultsIn(rest, { '.env': bytes.toString() }), [fault])
    t.equal(load(rest, { '.env': `\uFEFF${text}` }).EMAIL_TOKEN, enough.EMAIL_TOKEN)
  },
)

t.test('every secret may come from a file', async t => {
  const { EMAIL_TOKEN, SMTP_URL, ...rest } = enough
  const files = {
    '/run/token': `${EMAIL_TOKEN}\r\n`,
    '/run/smtp': `${SMTP_URL}\n`,
    '/run/empty': '\n',
    '.env': 'ALERTS_FILE=/run/alerts\n',
    '/run/alerts': '# all\nalert * 30 - a@example.com\n',
  }
  const named = { EMAIL_TOKEN_FILE: '/run/token', SMTP_URL_FILE: '/run/smtp' }
  const config = load({ ...rest, ...named }, files)
  t.equal(config.EMAIL_TOKEN, EMAIL_TOKEN, 'the last line end is not part of it')
  t.equal(config.ALERTS, '# all\nalert * 30 - a@example.com', 'and all others are')
  t.equal(config.SMTP_URL, SMTP_URL)

  t.same(faultsIn({ ...enough, EMAIL_TOKEN_FILE: '/none' }, files), [
    'EMAIL_TOKEN and EMAIL_TOKEN_FILE are both set: remove one of them',
  ])
  t.match(faultsIn({ ...rest, SMTP_URL, EMAIL_TOKEN_FILE: '/none' }, files), [
    /^EMAIL_TOKEN .*cannot be read \(ENOENT\)/,
  ])
  t.match(faultsIn({ ...rest, SMTP_URL, EMAIL_TOKEN_FILE: '/run/empty' }, files), [/file is empty/])
  const gateways = { ...enough, SMS_GATEWAYS_FILE: '/run/gateways' }
  t.match(
    faultsIn(gateways, { '/run/gateways': 'mine: 1' }),
    [/^SMS_GATEWAYS_FILE /],
    'what is wrong in a file is said of the setting that names it',
  )
})

t.test('@fastify/env decorates the app with the same values', async t => {
  const config = load({ ...enough, PORT: '1234', ALLOWED_SOURCES: '10.0.0.0/8, ::1' })
  const app = fastify()
  await app.register(fastifyEnv, envSchemaOptions(config))
  await app.ready()
  const decorated = (app as unknown as { config: Config }).config
  const { warnings: _, ...values } = config
  t.same(decorated, values)
  await app.close()
})

t.test('the examples and the pages of settings say what the code says', async t => {
  t.ok(settingNames.length <= 98, `${settingNames.length} are more than one person keeps in mind`)
  for (const language of ['en', 'zh-CN'] as const) {
    const { example, exampleText, page, pageText } = makePages(language)
    t.equal(read(example), exampleText, 'run: npm run env:example')
    t.equal(read(page), pageText, 'run: npm run env:example')
    for (const name of settingNames) t.match(pageText, `\n### \`${name}\`\n`)
    t.ok(exampleText.split('\n').length <= 41, 'an example has 40 lines at most')
    const named = [...exampleText.matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name = '']) => name)
    const given = named.map(name => [name, String(settingOf(name)?.example)])
    const faults = faultsIn(Object.fromEntries(given)).filter(fault => !/everybody knows/.test(fault))
    t.same(faults, [], 'what stands there is enough')
    t.same(load({ ...enough, ADMIN_TOKENS: 'a-password-of-my-own' }, { '.env': exampleText }).warnings, [])
  }
})

t.test('every example is a right value', async t => {
  for (const name of settingNames) {
    const { example = settingOf(name)?.default } = settingOf(name) ?? {}
    const faults = faultsIn({ ...enough, [name]: String(example) }).filter(
      fault =>
        fault.startsWith(`${name} `) && !/everybody knows|both set|of which nothing is set/.test(fault),
    )
    t.same(faults, [], name)
    t.same(load({ ...enough, ADMIN_TOKENS: 'a-password-of-my-own' }).warnings, [])
  }
})

t.test('nothing is read but what it is given', async t => {
  process.env.PORT = '7777'
  t.teardown(() => delete process.env.PORT)
  t.equal(loadConfig(sourcesOf(enough)).PORT, 8443)
})

t.test('asks where the private listener is', async t => {
  const at = (env: Record<string, string>, files = {}) => adminAddress(sourcesOf(env, files))
  t.equal(at({}), 'http://127.0.0.1:9090')
  t.equal(at({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '9191' }), 'http://127.0.0.1:9191')
  t.equal(at({ ADMIN_HOST: '::' }), 'http://[::1]:9090')
  t.equal(at({ ADMIN_HOST: '::1' }), 'http://[::1]:9090')
  t.equal(at({ ADMIN_HOST: '192.0.2.1' }), 'http://192.0.2.1:9090')
  t.equal(at({}, { '.env': 'ADMIN_PORT=9292' }), 'http://127.0.0.1:9292')
})

t.test('a tool reads some settings alone, and hears of what is wrong with those', async t => {
  const files = { '/run/gateways': 'mine: 1' }
  const given = {
    PORT: 'x',
    EMAIL_TOKEN_FILE: '/none',
    SMS_GATEWAYS_FILE: '/run/gateways',
    DATABASE_URL: 'file:a',
  }
  const some = (...names: readonly SettingName[]) => loadSomeSettings(sourcesOf(given, files), names)
  const read = { DATABASE_URL: { kind: 'file', path: 'a' }, STORE_SECRET: undefined, HOST: '0.0.0.0' }
  t.same(some('DATABASE_URL', 'STORE_SECRET', 'HOST'), read)
  for (const [name, said] of [
    ['PORT', 'PORT'],
    ['EMAIL_TOKEN', 'EMAIL_TOKEN'],
    ['SMS_GATEWAYS', 'SMS_GATEWAYS_FILE'],
  ] as const)
    t.throws(() => some('HOST', name), { message: new RegExp(`^One setting .*:\\n  ${said} .*$`) })
})
