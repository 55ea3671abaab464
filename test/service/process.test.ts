import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import { ToldError } from '../../src/language/sentence.ts'
import { describeStartFailure } from '../../src/service/process.ts'
import { startService } from '../../src/service/service.ts'
import { startProcess } from '../rigs/process.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { startSinks, until } from '../rigs/service.ts'

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
  ] as const)
    t.same(
      ['en', 'zh-CN'].map(each => describeStartFailure(error, each as 'en')),
      [en, zh],
    )
})

t.test('a first signal ends it in order, a second one at once', async t => {
  const { settings } = await startSinks(t)
  const env = { ...settings, DRAIN_SECONDS: '10' }
  const { child, exited, stdout, adminUrl } = await startProcess(t, env)
  child.kill('SIGTERM')
  await until(() => stdout().includes('told to end'), 'it drains')
  // For ten seconds it is there, and says that it will not be.
  for (let n = 0; n < 20; n += 1) {
    t.equal((await fetch(`${adminUrl}/readyz`)).status, 503)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  child.kill('SIGINT')
  t.equal(await exited, 'SIGKILL')
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
