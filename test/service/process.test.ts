import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import { describeStartFailure } from '../../src/service/process.ts'
import { startService } from '../../src/service/service.ts'
import { spawnService, startProcess } from '../rigs/process.ts'
import { startSinks, until } from '../rigs/service.ts'

t.test('a first signal ends it in order, a second one at once', async t => {
  const { settings } = await startSinks(t)
  const env = { ...settings, DRAIN_SECONDS: '10' }
  const { child, exited, stdout } = await startProcess(t, env)
  child.kill('SIGTERM')
  await until(() => stdout().includes('told to end'), 'it drains')
  child.kill('SIGINT')
  t.equal(await exited, 'SIGKILL')
})

t.test('told to end while it waits for its database, it gives up, which is no fault', async t => {
  const { settings } = await startSinks(t)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const env = { ...settings, DATABASE_URL: 'postgres://courier:p@127.0.0.1:9/courier' }
    const { child, exited, stdout } = spawnService(t, ['serve'], env)
    await until(() => stdout().includes('wait for the database'), 'it waits')
    child.kill(signal)
    t.equal(await exited, 0, signal)
  }
})

t.test('a port that is taken is named, and what to do', async t => {
  const { settings } = await startSinks(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  for (const name of ['PORT', 'ADMIN_PORT']) {
    const env = { ...settings, [name]: `${port}`, LOG_LEVEL: 'silent' }
    const failed = await startService(env).catch((error: unknown) => error)
    t.equal(
      describeStartFailure(failed, 'en'),
      `EADDRINUSE: address already in use 127.0.0.1:${port}: something else listens there; set PORT or ADMIN_PORT to another one, or end it`,
    )
  }
})
