import t from 'tap'
import type { ConfigError } from '../../src/config/config.ts'
import { DDQ_TIMINGS, readAlerts } from '../../src/service/device-alerts.ts'
import { describeFault, enough, load } from '../config/settings.ts'

t.test('device alerts keep the times of the contract’s client sample', async t => {
  t.same(DDQ_TIMINGS, { heartbeatMs: 1000, silenceMs: 15_000, reconnectMs: 5000, answerMs: 10_000 })
})

t.test('a table that cannot be used says line and row of each fault, and no recipient', async t => {
  const rows = '+8613800138000, ann@example.com\nalert p 0 - +861062345678; alert p 0 xx +4915112345678'
  const config = { ...load({ ...enough, EMAIL_TOKEN: '' }), ALERTS: `# all\nalert p 0 - ${rows}` }
  const refused = await Promise.try(() => readAlerts(config, ['en'])).catch((error: unknown) => error)
  t.same((refused as ConfigError).faults.map(describeFault), [
    'ALERTS line 2: recipient 2 is an address, but e-mail is off: set EMAIL_TOKEN',
    'ALERTS line 3, row 1: recipient 1 is not a mobile number',
    'ALERTS line 3, row 2: there are no words in that language; - means the usual one',
    'ALERTS line 3, row 2: recipient 1 is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)',
  ])
})
