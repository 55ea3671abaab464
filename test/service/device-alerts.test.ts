import t from 'tap'
import { ConfigError } from '../../src/config/config.ts'
import { DDQ_TIMINGS, readAlerts } from '../../src/service/device-alerts.ts'
import { describeFault, enough, load } from '../config/settings.ts'

t.test('device alerts keep the times of the contract’s client sample', async t => {
  t.same(DDQ_TIMINGS, { heartbeatMs: 1000, silenceMs: 15_000, reconnectMs: 5000, answerMs: 10_000 })
})

t.test('a table that cannot be used says line and row of each fault, and no recipient', async t => {
  const mail = 'alert * 30 - ops@example.com'
  const { EMAIL_TOKEN: _e, ...smsOnly } = enough
  const table: readonly [Readonly<Record<string, string>>, string, readonly string[]][] = [
    [enough, `${mail}\nstate * 0 zh-CN +8613800138000`, []],
    [
      enough,
      `# all\n${mail}\nalert * 30 xx ann.example@com; ${mail}; alert p`,
      [
        'ALERTS line 3, row 1: there are no words in that language; - means the usual one',
        'ALERTS line 3, row 1: recipient 1 is not an address',
        'ALERTS line 3, row 3: something is missing; a row is: TOPIC PRODUCT MINUTES LANGUAGE RECIPIENT, RECIPIENT …',
      ],
    ],
    [
      smsOnly,
      `${mail}, +8613800138000`,
      ['ALERTS line 1: recipient 1 is an address, but e-mail is off: set EMAIL_TOKEN'],
    ],
    [
      smsOnly,
      'alert p 0 - +4915112345678\nalert p 0 - +861062345678',
      [
        'ALERTS line 1: recipient 1 is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)',
        'ALERTS line 2: recipient 1 is not a mobile number',
      ],
    ],
  ]
  for (const [settings, ALERTS, expected] of table) {
    const read = () => readAlerts({ ...load(settings), ALERTS }, ['en', 'zh-CN'])
    try {
      t.equal(read().length, 2, ALERTS)
      t.same(expected, [])
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      t.same(error.faults.map(describeFault), expected, ALERTS)
    }
  }
})
