import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createEmulator } from '../../sandbox/emulator/emulator.ts'
import { runCommand } from '../../src/commands/run.ts'
import { until } from '../rigs/until.ts'
import { command } from './rig.ts'

async function tailing(t: Test, argv: readonly string[], env: Record<string, string> = {}) {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const ending = new AbortController()
  let out = ''
  let err = ''
  const code = runCommand(['ddq', 'tail', ...argv], {
    stdout: { write: text => (out += text) },
    stderr: { write: text => (err += text) },
    env: { ...emulator.settings, ...env },
    readFile: path => readFileSync(path, 'utf8'),
    dotenvPath: '/nowhere/.env',
    signal: ending.signal,
  })
  t.teardown(() => ending.abort())
  return { emulator, code, end: () => ending.abort(), out: () => out, err: () => err }
}

t.test('tail prints each message on a line, with every digit, and needs no other settings', async t => {
  const { emulator, code, out, err } = await tailing(t, ['--count', '3'])
  await until(() => err().includes('subscribed to 4 topics at http://127.0.0.1'), 'the subscription')
  emulator.ddq.publish({ topic: '/device/alert/product/p', id: '1', payload: { alert: 'none' } })
  emulator.devices.perform('9007199254740993', 'alarm', 'rule-door')
  emulator.devices.perform('1144502133', 'attributes')
  emulator.devices.perform('1144502133', 'event')
  t.equal(await code, 0)
  // Each topic comes on a stream of its own, so their order is nobody's.
  const lines = out().trimEnd().split('\n')
  t.equal(lines.length, 3)
  t.ok(lines.some(line => line.includes('"device":{"id":9007199254740993,')))
  t.same(
    lines.map(line => (JSON.parse(line) as { kind: string }).kind).sort((a, b) => (a < b ? -1 : 1)),
    ['alert', 'attributes', 'event'],
  )
  t.match(err(), /malformed \(alert\): \/payload must have required property 'product_id'/)
})

t.test('what a device says does not reach the terminal as a command', async t => {
  const { emulator, code, out, err } = await tailing(t, ['--topic', 'thing/any', '--count', '1'])
  await until(() => err().includes('subscribed to 1 topics'), 'the subscription')
  const said = '\u001b[2J \u009b31m \u009d0;title\u009c \u202egpj.exe \u2028 \u{e0041}'
  emulator.ddq.publish({ topic: 'thing/any', id: '1', payload: { said } })
  t.equal(await code, 0)
  t.notMatch(out().trimEnd(), /[\p{Cc}\p{Cf}\u2028\u2029]/u)
  t.match(JSON.parse(out()), { message_id: '1', payload: { said } }, 'and is whole all the same')
})

t.test('it follows the topics it is told, until it is ended', async t => {
  const { emulator, code, out, err, end } = await tailing(t, ['--topic', '/device-biz/state/product'])
  await until(() => err().includes('subscribed to 1 topics'), 'the subscription')
  emulator.devices.perform('1144502133', 'attributes')
  emulator.devices.perform('1144502133', 'offline')
  await until(() => out() !== '', 'a message')
  t.match(JSON.parse(out()), {
    topic: '/device-biz/state/product',
    kind: 'online-state',
    payload: { is_online: false },
  })
  end()
  t.equal(await code, 0)
})

t.test('a command that was ended before it began ends', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const write = () => {}
  const io = { stdout: { write }, stderr: { write }, readFile: () => '', dotenvPath: '/nowhere/.env' }
  t.equal(
    await runCommand(['ddq', 'tail'], { ...io, env: { ...emulator.settings }, signal: AbortSignal.abort() }),
    0,
  )
})

t.test('of one product it follows the four topics that are about devices', async t => {
  const { emulator, code, err, end } = await tailing(t, ['--product', 'p1'])
  await until(() => err().includes('subscribed to 4 topics'), 'the subscription')
  t.equal(
    emulator.ddq.statistics().topics.toSorted().join(' '),
    '/device-biz/state/product /device/alert/product/p1 thing/event/p1/device_attribute_sync_event thing/event/p1/event_report',
  )
  end()
  t.equal(await code, 0)
})

t.test('what is missing or wrong is said', async t => {
  const missing = await command(['ddq', 'tail'], { DDQ_URL: 'http://127.0.0.1' })
  t.equal(missing.code, 1)
  t.match(missing.err, /DDQ_AUTH_URL is missing[^]*DDQ_APP_ID is missing[^]*DDQ_APP_SECRET is missing/)
  t.notMatch(missing.err, /CORP_ID/)
  t.match(await command(['ddq', 'tail'], { DDQ_URL: 'x' }), { code: 1, err: /DDQ_URL must look/ })
  for (const argv of [['ddq'], ['ddq', 'head'], ['ddq', 'tail', '--count', '0'], ['ddq', 'tail', 'x']])
    t.match(await command(argv), { code: 2, err: /callback-courier ddq/ })
})

t.test('a platform that cannot be reached is said, and tried again', async t => {
  const { err, end, code } = await tailing(t, [], {
    DDQ_AUTH_URL: 'http://127.0.0.1:1',
  })
  await until(() => /ECONNREFUSED.*again in/.test(err()), 'it tries again')
  t.match(err(), /; again in [1-9]?\d\.\d s\n/)
  end()
  t.equal(await code, 0)
})

t.test('whatever it says of the subscription is said in the language of the terminal', async t => {
  const { emulator, err, end, code } = await tailing(
    t,
    ['--topic', '/device/alert/product/p', '--topic', ''],
    {
      LANG: 'zh_CN.UTF-8',
    },
  )
  await until(() => err().includes('http://127.0.0.1'), 'the subscription')
  emulator.ddq.publish({ topic: '/device/alert/product/p', id: '1', payload: { alert: 'none' } })
  await until(() => err().includes('product_id'), 'a malformed message')
  emulator.ddq.proxy.cut()
  await until(() => err().split('\n').length > 4, 'it tries again')
  end()
  t.equal(await code, 0)
  t.match(
    err(),
    /^：被拒绝：HTTP 400，错误码 4001001，invalid\n已在 http:\S+ 订阅 1 个主题\n格式错误（alert）：.*\n.*；[\d.]+ 秒后重试\n/,
  )
})
