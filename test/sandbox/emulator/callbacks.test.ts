import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { SAMPLE_KINDS } from '../../../sandbox/sample-callbacks.ts'
import { startStandIns } from '../../../sandbox/stand-ins.ts'
import { createClock } from '../../../src/runtime/clock.ts'
import { startService } from '../../../src/service/service.ts'
import { listen } from '../../rigs/listen.ts'

t.test(
  'the console’s validate and every kind, against the service: all is answered as the contract says',
  async t => {
    const cleanup = new AsyncDisposableStack()
    t.teardown(() => cleanup.disposeAsync())
    const directory = await mkdtemp(join(tmpdir(), 'emulator-'))
    cleanup.defer(() => rm(directory, { recursive: true, force: true }))
    const standIns = await startStandIns(createClock(), directory, cleanup, () => {})
    const secret = () => `t${randomBytes(16).toString('hex')}x`
    const settings = {
      CORP_ID: '100fa4b2c3d4e5f6',
      EMAIL_TOKEN: secret(),
      SMS_TOKEN: secret(),
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      DATABASE_URL: `file:${join(directory, 'outbox.db')}`,
      STORE_SECRET: secret(),
      SMS_COUNTRIES: '*',
      BRAND_NAME: 'Example IoT',
      QUOTAS: 'sms-prefix-10m=off',
      ...standIns.settings,
    }
    const service = await startService(settings, { log: { write: () => {} } })
    cleanup.defer(() => service.close())
    const emulator = await createEmulator()
    cleanup.defer(() => emulator.close())

    for (const [channel, token] of [
      ['email', settings.EMAIL_TOKEN],
      ['sms', settings.SMS_TOKEN],
    ] as const) {
      const target = { url: service.urls[channel] ?? '', corpId: settings.CORP_ID, token }
      t.match(await emulator.validateUrl(target), { answer: { status: 200, errCode: 0 }, fault: null })
      t.match(await emulator.validateUrl({ ...target, token: 'another' }), {
        answer: { status: 403, errCode: 4_031_003 },
      })
      for (const { kind } of SAMPLE_KINDS.filter(each => each.channel === channel))
        t.match(
          await emulator.sendCallback(target, channel, kind),
          { answer: { status: 200, errCode: 0 }, fault: null },
          kind,
        )
      t.equal(await emulator.sendCallback(target, channel, 'none'), null)
    }
    t.same(emulator.contract.violations(), [])
  },
)

t.test('a service that answers something else is found out', async t => {
  const odd = createServer((_request, response) => response.end('{"err_code":"0"}'))
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const target = { url: `http://127.0.0.1:${await listen(t, odd)}/`, corpId: 'c', token: 't' }
  t.match(await emulator.sendCallback(target, 'email', 'file'), { fault: /err_msg/ })
  t.match(emulator.contract.violations(), [{ by: 'client', body: 'callback answer' }])
  t.match(emulator.callbackCalls(), [{ title: 'File' }])
  emulator.clear()
  t.same([emulator.callbackCalls(), emulator.contract.violations()], [[], []])
})
