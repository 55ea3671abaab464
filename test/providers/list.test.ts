import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadStandIn } from '../../sandbox/stand-ins.ts'
import { allSettings } from '../../src/config/settings.ts'
import { longestAttemptMs, openProviders, providerModules } from '../../src/providers/list.ts'
import { NO_TEMPLATES } from '../../src/providers/sms-templates.ts'
import { enough, faultsIn, load } from '../config/settings.ts'
import { makePages } from '../docs/settings-pages.ts'
import { type ContractRig, providerContract } from './contract.ts'

const ROOT = join(import.meta.dirname, '../..')
const names = providerModules.map(({ name }) => name)

t.same(
  names,
  ['smtp', 'twilio', 'aliyun', 'aliyun-pnvs', 'tencent', 'http-gateway'],
  'in the order of the pages',
)

for (const { name } of providerModules) {
  const { variants } = (await import(`./${name}/contract.ts`)) as {
    variants: Readonly<Record<string, () => Promise<ContractRig>>>
  }
  for (const [variant, start] of Object.entries(variants))
    t.test(`${name} ${variant} keeps the contract`, async t => providerContract(t, start))
}

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
