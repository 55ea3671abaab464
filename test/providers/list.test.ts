import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadStandIn } from '../../sandbox/stand-ins.ts'
import { allSettings } from '../../src/config/settings.ts'
import { longestAttemptMs, openProviders, providerModules } from '../../src/providers/list.ts'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import { describeFault } from '../../src/settings/setting.ts'
import { enough, faultsIn, load } from '../config/settings.ts'
import { makePages } from '../docs/settings-pages.ts'
import { type ContractRig, providerContract } from './contract.ts'

const ROOT = join(import.meta.dirname, '../..')
const names = providerModules.map(({ name }) => name)

// In the order of the pages.
t.same(names, ['smtp', 'twilio', 'aliyun', 'aliyun-pnvs', 'tencent', 'http-gateway'])

// Most of a contract waits for limits; more beside each other would reach those that nothing stalls for.
t.test('each carrier keeps the contract', { jobs: 3 }, async t => {
  for (const name of names) {
    const { variants } = (await import(`./${name}/contract.ts`)) as {
      variants: Readonly<Record<string, () => Promise<ContractRig>>>
    }
    for (const [variant, start] of Object.entries(variants))
      void t.test(`${name} ${variant}`, { buffered: true }, async t => providerContract(t, start))
  }
})

t.test('all that is a provider’s own is found by its name', async t => {
  const folder = join(ROOT, 'src/providers')
  for (const name of names) {
    t.ok(existsSync(join(folder, `${name}.ts`)) || existsSync(join(folder, name)), name)
    t.ok((await loadStandIn(name)).faults['none'], `${name} has a stand-in`)
  }
})

t.test('its settings are settings of the service, and stand on their page', async t => {
  const page = makePages('en').pageText
  for (const module of providerModules)
    for (const [name, setting] of Object.entries(module.settings)) {
      t.equal(allSettings[name as keyof typeof allSettings], setting, name)
      t.match(page, `### \`${name}\``)
    }
})

const USER = 'smtp://courier%40example.com@smtp.example.com'
const CLEAR = 'smtp://courier:hunter2@mail.example.com?ignoreTLS=true'
const TOKEN = { SMTP_OAUTH2_TOKEN_URL: 'https://login.example.com/token', SMTP_OAUTH2_CLIENT_ID: 'client' }
const SECRET = { SMTP_OAUTH2_CLIENT_SECRET: 'hunter2secret' }
/** Settings that are right or wrong together. */
const TOGETHER: readonly Readonly<Record<string, string>>[] = [
  { SMTP_URL: USER, SMTP_FALLBACK_URL: USER },
  { ...TOKEN, ...SECRET },
  { SMTP_URL: '', ...TOKEN, ...SECRET },
  { SMTP_URL: USER, ...TOKEN, ...SECRET },
  { SMTP_FALLBACK_URL: USER, ...TOKEN, ...SECRET },
  { SMTP_URL: USER, ...TOKEN },
  { SMTP_URL: USER, ...TOKEN, SMTP_OAUTH2_REFRESH_TOKEN: 'x' },
  { SMTP_URL: USER, ...TOKEN, ...SECRET, SMTP_OAUTH2_CLIENT_ID: '' },
  { SMTP_OAUTH2_SCOPE: 'x' },
  { SMTP_URL: USER, ...TOKEN, ...SECRET, SMTP_OAUTH2_TOKEN_URL: 'http://login.example.com' },
  { SMTP_URL: `${USER}?ignoreTLS=true`, SMTP_FALLBACK_URL: CLEAR, ...TOKEN, ...SECRET },
  { SMTP_URL: CLEAR, SMTP_LOGIN_WITHOUT_TLS: 'on' },
  { SMTP_URL: CLEAR.replace('smtp:', 'smtps:') },
  { SMTP_URL: CLEAR.replace('mail.example.com', '127.0.0.1') },
  { SMTP_URL: CLEAR.replace('courier:hunter2@', '') },
  { SMTP_URL: CLEAR.replace('ignoreTLS=true', 'requireTLS=false') },
  { TWILIO_AUTH_TOKEN: '', TWILIO_API_KEY: `SK${'0'.repeat(32)}:key-secret` },
]

t.test('settings: what is secret, usual, wrong and missing, and what is wrong together', async t => {
  const said = [
    ...providerModules.flatMap(({ settings, name, findFaults, ...module }) => [
      `${name} ${JSON.stringify(module)}`,
      ...Object.entries(settings).map(([name, { meaning: _text, ...setting }]) => {
        const wrong = faultsIn({ ...enough, [name]: '?' }).filter(each => each.startsWith(name))
        return `  ${name} ${JSON.stringify(setting)} ${wrong.join('; ')}`.trimEnd()
      }),
      ...[...findFaults({})].map(fault => `  none of them: ${String(describeFault(fault))}`),
    ]),
    ...TOGETHER.map(
      given => `${JSON.stringify(given)} ${faultsIn({ ...enough, ...given }).join('; ') || 'fine'}`,
    ),
  ]
  const record = readFileSync(join(ROOT, 'test/fixtures/provider-settings.txt'), 'utf8')
  t.same(said, record.trimEnd().split('\n'))
})

t.test('a channel that is on asks for its provider, and opens only that', async t => {
  const { SMTP_URL: _url, ...noServer } = enough
  t.match(faultsIn(noServer), [/^SMTP_URL is missing/])
  const { EMAIL_TOKEN: _email, ...smsOnly } = enough
  const { SMS_TOKEN: _sms, ...emailOnly } = enough
  for (const [given, expected] of [
    [enough, ['smtp', 'twilio']],
    [{ ...smsOnly, BRAND_NAME: 'Example' }, ['twilio']],
    [emailOnly, ['smtp']],
  ] as const) {
    const providers = await openProviders(load(given), { clock: { now: Date.now }, templates: NO_TEMPLATES })
    const opened = providers.map(({ name }) => name)
    t.same(opened, expected)
    for (const provider of providers) await provider.close()
  }
})

t.test('a lease outlives the longest attempt of any provider, a fallback included', async t => {
  const config = load(enough)
  t.equal(longestAttemptMs(config), 390_000)
  const withFallback = load({ ...enough, SMTP_FALLBACK_URL: 'smtp://mail2.example.com' })
  t.equal(longestAttemptMs(withFallback), 480_000)
  t.equal(longestAttemptMs(config, { smtp: { replyMs: 1000 }, twilio: { answerMs: 200_000 } }), 420_000)
  const slow = { aliyun: { answerMs: 300_000 } }
  t.equal(longestAttemptMs(config, slow), 620_000, 'it may be asked what became of an earlier copy, too')
  const routed = { ...config, SMS_ROUTES: new Map([['*', ['aliyun', 'twilio']]]) }
  t.equal(longestAttemptMs(routed, slow), 700_000, 'the carriers of a route, one after the other')
})
