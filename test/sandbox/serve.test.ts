import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { spawnService } from '../rigs/process.ts'
import { until } from '../rigs/until.ts'
import { runHere } from './command-here.ts'

const PORTS = ['--port', '--admin-port', '--page-port', '--devices-port']
const main = resolve(import.meta.dirname, '../../sandbox/main.ts')

/** The command in a process of its own, with a temporary directory of its own, once it says how to end it. */
async function start(t: Test, ...argv: readonly string[]) {
  const directory = t.testdir({})
  const env = { PATH: process.env['PATH'] ?? '', TMPDIR: directory }
  const program = spawnService(t, argv, env, { main, cwd: directory })
  await until(() => program.stdout().includes('Ctrl-C'), 'it has started')
  return { ...program, directory }
}

t.test('it says where everything is, serves it, and leaves nothing behind when told to end', async t => {
  const { child, directory, exited, stdout } = await start(t, ...PORTS.flatMap(flag => [flag, '0']))
  const said = new Map(
    [...stdout().matchAll(/^ {2}(\S.*?) {2,}(\S+)/gm)].map(([, name = '', value = '']) => [name, value]),
  )
  const page = await fetch(said.get('See and play') ?? '')
  t.match(await page.text(), '<title>callback-courier sandbox</title>')
  t.match(said.get('E-mail URL'), /^https:\/\/127\.0\.0\.1:\d+\/callback\/sandbox\/[0-9a-f]{32}\/email$/)
  t.match(said.get('SMS URL'), /^https:\/\/127\.0\.0\.1:\d+\/callback\/sandbox\/[0-9a-f]{32}\/sms$/)
  const health = await fetch(`${said.get('Health, metrics')}/healthz`)
  t.equal(health.status, 200)
  t.equal(readdirSync(directory).length, 1)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
  t.same(readdirSync(directory), [])
})

t.test('Ctrl-C ends the emulator of the platform', async t => {
  const { child, exited } = await start(
    t,
    'emulate',
    '--page-port',
    '0',
    '--api-port',
    '0',
    '--ddq-port',
    '0',
  )
  child.kill('SIGINT')
  t.equal(await exited, 0)
})

t.test('a port that is asked for and taken is said, and nothing stays behind', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const port = String((taken.address() as AddressInfo).port)
  for (const flag of PORTS) {
    const argv = PORTS.flatMap(each => [each, each === flag ? port : '0'])
    const { code, err, left } = await runHere(t, t.testdir({}), argv)
    t.equal(code, 1)
    t.match(err, new RegExp(`^The sandbox could not go on: .*EADDRINUSE.*${port}\n$`))
    t.same(left, [])
  }
})
