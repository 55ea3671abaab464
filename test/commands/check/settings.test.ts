import t from 'tap'
import { checkSettings, checkTemplates, resultOfFault } from '../../../src/commands/check/settings.ts'
import { quote } from '../../../src/language/sentence.ts'
import type { Renderer } from '../../../src/words/render.ts'
import { enough, load } from '../../config/settings.ts'
import { linesOf } from './lines.ts'

const look = (settings: Record<string, string>, what: string) =>
  linesOf(checkSettings(load({ ...enough, ...settings }))).filter(line => line.includes(` ${what}: `))

t.test('who is let in, and what would protect better', async t => {
  const key = 'ok callers: let in by the key in the URL'
  const better = 'once the console or the metrics show that POSTs come signed, set POST_SIGNATURE=required'
  t.same(look({}, 'callers'), [`${key} → ${better}`])
  t.same(look({ POST_SIGNATURE: 'required' }, 'callers'), [`${key}, a signature on every POST`])
  t.same(look({ ALLOWED_SOURCES: '192.0.2.0/24' }, 'callers'), [`${key}, 1 allowed networks → ${better}`])
  t.match(look({}, 'settings'), ['ok settings: read; email is on, sms is on'])
  t.match(look({ SMS_TOKEN: '' }, 'settings'), ['ok settings: read; email is on, sms is off'])
})

t.test('what is wrong with a setting has a next step, its own or the page that describes it', async t => {
  const fault = { name: 'SMTP_URL', problem: quote('is no URL') }
  t.same(
    linesOf([resultOfFault('fail', fault), resultOfFault('warn', { ...fault, remedy: quote('mend it') })]),
    ['fail SMTP_URL: is no URL → see `callback-courier settings`', 'warn SMTP_URL: is no URL → mend it'],
  )
})

t.test('where links may lead: both settings are needed', async t => {
  const hosts = { LINK_HOSTS: 'a.example.com b.example.com' }
  const advice = 'when you know what links the platform sends, set LINK_HOSTS and LINKS_HTTPS_ONLY=on'
  t.same(look({}, 'links'), [`ok links: to any host, http too → ${advice}`])
  t.same(look(hosts, 'links'), [`ok links: to a.example.com, b.example.com, http too → ${advice}`])
  t.same(look({ LINKS_HTTPS_ONLY: 'on' }, 'links'), [`ok links: to any host, https only → ${advice}`])
  t.same(look({ ...hosts, LINKS_HTTPS_ONLY: 'on' }, 'links'), [
    'ok links: to a.example.com, b.example.com, https only',
  ])
})

t.test('a brake that is off is said of a channel that is on', async t => {
  const off = { QUOTAS: 'sms-day=off email-day=off sms-minute=off email-minute=off' }
  const what = (settings: Record<string, string>) =>
    look({ ...off, ...settings }, 'quotas').map(line => line.split(' →')[0])
  t.same(what({}), [
    'warn quotas: the quota sms-minute is off',
    'warn quotas: the quota sms-day is off',
    'warn quotas: the quota email-minute is off',
  ])
  t.equal(what({ EMAIL_TOKEN: '' }).length, 2)
  t.equal(what({ SMS_TOKEN: '' }).length, 1)
})

t.test('a name that a phone may take for the code is said', async t => {
  const said = (name: string, more = {}) => look({ BRAND_NAME: name, ...more }, 'BRAND_NAME')
  for (const name of ['12306', 'Bank 95588', 'X5S7 智能', 'a1b2c3'])
    t.match(said(name), [`warn BRAND_NAME: ${name} looks like a code, and phones may`])
  for (const name of ['Northwind', '360', 'Example 2', '云智2026网', 'Northwind20261128'])
    t.same(said(name), [], name)
  const PLUGIN_SENDERS = '{"p": {"signature": "示例 8848"}}'
  t.match(said('Northwind', { PLUGIN_SENDERS }), [/示例 8848 looks like a code/])
})

t.test('templates: all is well only where nothing is wrong', async t => {
  const renderer = (is?: 'refused' | 'ignored') =>
    ({
      locales: ['en', 'es'],
      problems: () => (is === undefined ? [] : [{ file: 'a.html', line: 3, reason: 'no', is }]),
    }) as unknown as Renderer
  const said = (is?: 'refused' | 'ignored') => linesOf(checkTemplates(renderer(is), load(enough)))
  t.match(said(), [/^ok templates: en \(there are en, es\); built in$/])
  t.same(said('refused'), [
    'fail templates: a.html:3: no → mend the file in TEMPLATES_DIR; until then the built-in words are used',
  ])
  t.same(said('ignored'), ['warn templates: a.html:3: no → see TEMPLATES_DIR, LOCALE and LOCALE_BY_COUNTRY'])
})
