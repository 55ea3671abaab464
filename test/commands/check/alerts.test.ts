import t from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { checkAlerts } from '../../../src/commands/check/alerts.ts'
import { enough, load } from '../../config/settings.ts'
import { inEnglish } from '../../language/english.ts'

const table =
  'alert * 30 - ops@example.com, +8613800138000, dev@example.com; alert p1 30 - ops@example.com; state * 0 en ops@example.com; state * 0 zh-CN qa@example.com, lin@example.com'
const locales = ['en', 'zh-CN']

t.test('table and login are looked at, and nothing is subscribed to', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const findings = await checkAlerts(load({ ...enough, ...emulator.settings, ALERTS: table }), locales)
  t.match(inEnglish(findings), [
    { is: 'ok', what: '4 rows, 5 recipients, 3 topics' },
    { is: 'ok', what: `the application logs in at ${emulator.baseUrl}` },
  ])
  t.equal(emulator.ddq.statistics().connections, 0)
  t.same(await checkAlerts(load({ ...enough, DDQ_AUTH_URL: emulator.baseUrl }), locales), [], 'they are off')
})

t.test('a wrong row and a wrong secret fail, each with what to do', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const wrong = {
    ...enough,
    ...emulator.settings,
    DDQ_APP_SECRET: 'wrong-secret',
    ALERTS: 'alarm * 1 - a@example.com',
  }
  const findings = await checkAlerts(load(wrong), locales)
  t.match(inEnglish(findings), [
    {
      is: 'fail',
      about: 'ALERTS',
      what: /^line 1: the topic must be/,
      next: /^docs\/alerts\.md shows what a row is$/,
    },
    { is: 'fail', what: /refused: HTTP 403, code 4031003/, next: /DDQ_APP_SECRET/ },
  ])
  t.notMatch(JSON.stringify(findings), /a@example\.com|wrong-secret/)
})

t.test('without DDQ_URL there is nothing to say', async t => {
  t.same(await checkAlerts(load(enough), locales), [])
})
