import { createServer } from 'node:http'
import t from 'tap'
import { createEmulator } from '../../../sandbox/emulator/emulator.ts'
import { SAMPLE_KINDS } from '../../../sandbox/sample-callbacks.ts'
import { running } from '../../commands/rig.ts'
import { listen } from '../../rigs/listen.ts'

t.test(
  'the console’s validate and every kind, against the service: all is answered as the contract says',
  async t => {
    const { env, urls } = await running(t, { SMS_COUNTRIES: '*', QUOTAS: 'sms-prefix-10m=off' })
    const emulator = await createEmulator()
    t.teardown(() => emulator.close())

    for (const [channel, token] of [
      ['email', env['EMAIL_TOKEN'] ?? ''],
      ['sms', env['SMS_TOKEN'] ?? ''],
    ] as const) {
      const target = { url: urls[channel] ?? '', corpId: env['CORP_ID'] ?? '', token }
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
