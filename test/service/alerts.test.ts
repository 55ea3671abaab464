import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEmulator } from '../../sandbox/emulator/emulator.ts'
import { ConfigError } from '../../src/config/config.ts'
import { type Service, startService } from '../../src/service/service.ts'
import { standInsFor } from '../commands/rig.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { until } from '../rigs/until.ts'

const FREEZER = '1144502133'

/** The service with device alerts on, between the emulated platform and recording ends. */
async function serving(t: Test, alerts: string) {
  const { standIns, env } = await standInsFor(t)
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const directory = t.testdirName
  await writeFile(join(directory, 'alerts'), alerts)
  const settings = {
    ...env,
    LOG_LEVEL: 'info',
    SMS_COUNTRIES: '*',
    BRAND_NAME: 'Example IoT',
    DRAIN_SECONDS: '0',
    ...emulator.settings,
    ALERTS_FILE: join(directory, 'alerts'),
  }
  const log: Record<string, unknown>[] = []
  const start = async (): Promise<Service> => {
    const service = await startService(settings, {
      startStoreThread: serveHere,
      log: { write: line => void log.push(JSON.parse(line) as Record<string, unknown>) },
    })
    t.teardown(() => service.close())
    return service
  }
  return { standIns, emulator, start, log, directory }
}

t.test(
  'a device goes offline, breaks a rule and recovers: a mail and an SMS for each, and no more',
  async t => {
    const table = `# everything, to one of each
alert * 0 - ann@example.com, +8613800138000
state * 0 zh-CN ann@example.com, +8613800138000
event * 0 - ann@example.com
`
    const { standIns, emulator, start, log } = await serving(t, table)
    await start()
    const { devices, ddq } = emulator
    await until(() => ddq.statistics().topics.length === 3, 'the subscription')
    const mails = () => standIns.mails().map(({ subject }) => subject)

    devices.perform(FREEZER, 'online')
    devices.perform(FREEZER, 'recover', 'rule-door')
    devices.perform(FREEZER, 'attributes')
    devices.perform(FREEZER, 'offline')
    await until(() => mails().length === 1 && standIns.sms().length === 1, 'offline')
    ddq.setFault('duplicate', true)
    ddq.setFault('chunks', true)
    ddq.publish({ topic: '/device/alert/product/p', id: 'unusable', payload: { alert: 'none' } })
    devices.perform(FREEZER, 'alarm', 'rule-temperature')
    await until(() => mails().length === 2 && standIns.sms().length === 2, 'the alarm')
    devices.perform(FREEZER, 'handle', 'rule-temperature')
    devices.perform(FREEZER, 'recover', 'rule-temperature')
    await until(() => mails().length === 3 && standIns.sms().length === 3, 'the recovery')
    devices.perform(FREEZER, 'event')
    devices.perform(FREEZER, 'online')
    await until(() => mails().length === 5 && standIns.sms().length === 4, 'event and online')
    await new Promise(resolve => setTimeout(resolve, 300))

    t.same(
      [...mails()].sort((a, b) => (a < b ? -1 : 1)),
      [
        `Alarm: device ${FREEZER}`,
        `Device ${FREEZER}: door_forced`,
        `Resolved: alarm on device ${FREEZER}`,
        `设备 ${FREEZER} 已恢复在线`,
        `设备 ${FREEZER} 已离线`,
      ],
    )
    const [, alarm] = standIns.sms()
    t.match(alarm?.body, /^Example IoT: alarm on device 1144502133: Temperature above -15/)
    const mail = standIns.mails().find(({ subject }) => subject.startsWith('Alarm'))
    t.match(mail?.text, /Freezer too warm: check the door and the compressor/)
    t.match(mail?.text, /Condition: Temperature above -15 °C for 5 minutes/)
    t.same(emulator.contract.violations(), [], 'nobody left the contract')
    t.notMatch(JSON.stringify(log), /ann@example\.com|13800138000/, 'no recipient in the log')
    t.ok(log.some(({ event }) => event === 'ddq-malformed'))
    ddq.proxy.cut()
    const ended = () => log.find(line => line['event'] === 'ddq' && 'wait_ms' in line)
    await until(() => ended() !== undefined, 'the end of the subscription')
    t.match(ended(), { is: 'closed' })
    t.ok(Math.abs(Number(ended()?.['wait_ms']) - 5000) <= 1000, 'five seconds, a fifth more or less')
  },
)

t.test('a wrong table refuses the start, with its lines, before anything is opened', async t => {
  const { start, directory } = await serving(t, 'alert * 0 - ann@example.com\nalarm * 0 - ann@example.com\n')
  const error = await start().catch((reason: unknown) => reason)
  t.type(error, ConfigError)
  t.match((error as Error).message, /ALERTS line 2: the topic must be one of state, event, alert/)
  await t.rejects(readFile(join(directory, 'data/outbox.db')), 'no store was made')
})
