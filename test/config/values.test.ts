import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allSettings, settingNames } from '../../src/config/settings.ts'
import { describeFault, enough, entriesOf, faultsIn, load } from './settings.ts'

const recordOf = (name: string) =>
  readFileSync(join(import.meta.dirname, '../fixtures', name), 'utf8')
    .trimEnd()
    .split('\n')

t.test('what each text of a setting is read as, or what is wrong with it', async t => {
  const whole = {
    ...enough,
    BRAND_NAME: 'Example',
    STORE_SECRET: 'jdKw83nZqLs0vTbXm2RfYe',
    PUBLIC_URL: 'https://c.example.com',
    DKIM_KEY_FILE: 'dkim.pem',
    DKIM_NAME: 's._domainkey.example.com',
    EVENTS_URL: 'https://hooks.example.com',
    EVENTS_SECRET: 'whsec_dGhpcnR5LXR3byByYW5kb20gYnl0ZXMsIG9yIG1vcmU=',
    DDQ_AUTH_URL: 'https://api.example.com',
    DDQ_APP_ID: 'application-1',
    DDQ_APP_SECRET: 'a secret of the application',
    ALERTS: 'alert * 30 - ops@example.com',
  }
  for (const line of recordOf('setting-values.txt')) {
    const [, name = '', text = '', expected] = /^(\w+) (".*") ⇒ (.*)$/.exec(line) ?? []
    const given = { ...whole, [name]: String(JSON.parse(text)) }
    const read = faultsIn(given).join('; ') || JSON.stringify(load(given)[name as 'HOST'], entriesOf)
    t.equal(read, expected, `${name} ${text}`)
  }
  const long = 'a.example,'.repeat(5000)
  t.equal(load({ ...enough, NO_PROXY: long }).NO_PROXY, long)
  t.match(faultsIn({ ...enough, EVENTS_URL: 'https://hooks.example.com' }), [/^EVENTS_SECRET is missing/])
  const QUOTAS = Object.keys(allSettings.QUOTAS.parts ?? {}).join()
  t.same(load({ ...enough, QUOTAS }).QUOTAS, load(enough).QUOTAS, 'as the docs say')
})

t.test('what each setting must be is said in a sentence', async t => {
  const said = settingNames.flatMap(name =>
    ['?', '0', 'a b,c'].flatMap(text =>
      faultsIn({ ...enough, [name]: text }).filter(each => each.startsWith(name)),
    ),
  )
  t.same([...new Set(said)], recordOf('setting-faults.txt'))
})

t.test('what settings are together, or which of them is wrong', async t => {
  for (const line of recordOf('settings-together.txt')) {
    const [more = '', expected] = line.split(' ⇒ ')
    const given = { ...enough, ...(JSON.parse(more) as object) }
    const faults = faultsIn(given)
    const said = faults.length > 0 ? faults : load(given).warnings.map(each => `(${describeFault(each)})`)
    t.equal(said.join('; ') || 'fine', expected, more)
  }
})
