import { EventEmitter } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { ToldError } from '../../src/language/sentence.ts'
import { closeOnSignal, describeStartFailure } from '../../src/service/process.ts'
import { startService } from '../../src/service/service.ts'
import { enough, load } from '../config/settings.ts'
import { spawnService, startProcess } from '../rigs/process.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { startSinks, until } from '../rigs/service.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const eventsOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)

t.test('SIGHUP has it look for a renewed certificate, and a signal ends it in order', async t => {
  const { settings } = await startSinks(t)
  const { child, exited, stdout } = await startProcess(t, { ...settings, DRAIN_SECONDS: '0' })
  await writeFile(settings['TLS_KEY_FILE'] ?? '', 'no key')
  child.kill('SIGHUP')
  await until(() => stdout().includes('cannot be used'), 'the certificate')
  child.kill('SIGHUP')
  child.kill('SIGINT')
  t.equal(await exited, 0)
  const events = eventsOf(stdout()).map(({ event, signal = '', message }) => [event, signal, message])
  t.same(events.slice(events.findIndex(([event]) => event === 'started')), [
    ['started', '', 'started'],
    ['certificate', '', 'the certificate changed but cannot be used: the last good one is served'],
    ['signal', 'SIGINT', 'told to end'],
    ['ending', '', 'ending: what is in flight is finished or given back'],
    ['ended', '', 'ended'],
  ])
})

t.test('why a start failed is said in the reader’s language', async t => {
  for (const [error, en, zh] of [
    [new ToldError('the database does not answer'), 'the database does not answer', '数据库无响应'],
    ['odd', 'an unknown fault', '未知故障'],
    [
      Object.assign(new Error('listen EACCES'), { code: 'EACCES' }),
      'listen EACCES',
      '没有权限（listen EACCES）',
    ],
  ] as const)
    t.same(
      ['en', 'zh-CN'].map(each => describeStartFailure(error, each as 'en')),
      [en, zh],
    )
})

t.test('each signal ends it in order, any second one at once, and so does an end that hangs', async t => {
  const time = enterVirtualTime(t)
  const said: unknown[] = []
  t.capture(process, 'kill', (_pid: number, signal: string) => said.push(`${time.now()} ${signal}`))
  const log = pino({ base: null, timestamp: false }, { write: line => said.push(line) })
  const config = load({ ...enough, DRAIN_SECONDS: '3' })
  for (const [n, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    const over = Promise.withResolvers<void>()
    const close = (drainMs?: number) => {
      said.push(drainMs)
      return over.promise
    }
    const signals = new EventEmitter()
    t.capture(process, 'on', (name: string, listener: () => void) => signals.on(name, listener))
    t.capture(process, 'once', (name: string, listener: () => void) => signals.once(name, listener))
    const code = closeOnSignal({ log, config, close })
    for (const each of [signal, signal, 'SIGTERM', 'SIGINT'] as const) signals.emit(each)
    t.same(said.splice(0), [
      `{"level":30,"event":"signal","signal":"${signal}","msg":"told to end"}\n`,
      3000,
      ...Array<string>(3).fill(`${n * 13_000} SIGKILL`),
    ])
    time.tick(12_999)
    t.same(said, [])
    time.tick(1)
    t.same(said.splice(0), [`${(n + 1) * 13_000} SIGKILL`])
    if (n === 0) over.resolve()
    else over.reject('canary')
    t.equal(await code, n)
  }
  const fault = '{"level":60,"event":"fault","err":{"type":"string"},"msg":"could not end in order"}\n'
  t.same(said, [fault])
})

t.test('a start that fails is 1, and a fault that nothing caught 70', async t => {
  const refused = spawnService(t, ['serve'], { ...enough, PORT: 'x' })
  const DATABASE_URL = 'postgres://a@127.0.0.1:9/a?sslmode=disable'
  const away = { ...enough, DATABASE_URL, STORE_SECRET: 'a-secret-of-the-tests-long-enough', ADMIN_PORT: '0' }
  const told = (['SIGTERM', 'SIGINT'] as const).map(signal => {
    const onEvent = ({ doing }: { readonly doing?: unknown }) => void (doing && program.child.kill(signal))
    const program = spawnService(t, ['serve'], away, { onEvent })
    return program.exited
  })
  const imports = [new URL('../rigs/crash.ts', import.meta.url).href]
  for (const CRASH_AS of ['exception', 'rejection']) {
    const settings = { ...(await startSinks(t)).settings, CRASH_CANARY: 'canary', CRASH_AS }
    const { child, exited, stdout } = await startProcess(t, settings, { imports })
    child.kill('SIGUSR2')
    t.equal(await exited, 70, CRASH_AS)
    const message = 'an unexpected fault: ending, to be started again'
    t.match(eventsOf(stdout()).at(-1), { level: 60, event: 'fault', err: { stack: /crash/ }, message })
  }
  t.equal(await refused.exited, 1)
  t.same(await Promise.all(told), [0, 0], 'told to end while it waits for its database')
  t.match(refused.stderr(), /PORT must be/)
})

t.test('a port that is taken is named, and what to do', async t => {
  const { settings } = await startSinks(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  for (const name of ['PORT', 'ADMIN_PORT']) {
    const env = { ...settings, [name]: `${port}`, LOG_LEVEL: 'silent' }
    const failed = await startService(env, { startStoreThread: serveHere }).catch((error: unknown) => error)
    t.equal(
      describeStartFailure(failed, 'en'),
      `EADDRINUSE: address already in use 127.0.0.1:${port}: something else listens there; set PORT or ADMIN_PORT to another one, or end it`,
    )
    t.match(describeStartFailure(failed, 'zh-CN'), '端口已被占用')
  }
})
