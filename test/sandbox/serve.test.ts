import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { COMPILED } from '../rigs/process.ts'
import { runHere } from './command-here.ts'

const PORTS = ['--port', '--admin-port', '--page-port', '--devices-port']
const main = resolve(import.meta.dirname, '../../sandbox/main.ts')

/** The command in a process of its own, with a temporary directory of its own. */
async function start(t: Test, ...argv: readonly string[]) {
  const directory = await mkdtemp(join(tmpdir(), 'callback-courier-test-'))
  const child = spawn(process.execPath, [main, ...argv], {
    cwd: directory,
    env: { ...COMPILED, PATH: process.env['PATH'], TMPDIR: directory },
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    await rm(directory, { recursive: true })
  })
  return { child, directory, ended }
}

t.test('it says where everything is, serves it, and leaves nothing behind when told to end', async t => {
  const { child, directory, ended } = await start(t, ...PORTS.flatMap(flag => [flag, '0']))
  const said = new Map<string, string>()
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /^ {2}(\S.*?) {2,}(\S+)/.exec(line) ?? []
    if (name && value) said.set(name, value)
    if (line.startsWith('Nothing leaves')) break
  }
  const page = await fetch(said.get('See and play') ?? '')
  t.match(await page.text(), '<title>callback-courier sandbox</title>')
  t.match(said.get('E-mail URL'), /^https:\/\/127\.0\.0\.1:\d+\/callback\/sandbox\/[0-9a-f]{32}\/email$/)
  t.match(said.get('SMS URL'), /^https:\/\/127\.0\.0\.1:\d+\/callback\/sandbox\/[0-9a-f]{32}\/sms$/)
  const health = await fetch(`${said.get('Health, metrics')}/healthz`)
  t.equal(health.status, 200)
  t.equal((await readdir(directory)).length, 1)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.same(await readdir(directory), [])
})

t.test('Ctrl-C ends the emulator of the platform', async t => {
  const { child, ended } = await start(t, 'emulate', '--page-port', '0', '--api-port', '0', '--ddq-port', '0')
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('Ctrl-C')) break
  child.kill('SIGINT')
  t.equal(await ended, 0)
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
