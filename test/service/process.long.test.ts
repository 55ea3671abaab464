import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { enough } from '../config/settings.ts'
import { freePort } from '../rigs/free-port.ts'
import { COMPILED } from '../rigs/process.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** `serve` whose log goes to `stdout`, once it answers. */
async function startServe(
  t: Test,
  stdout: 'pipe' | number,
  level: string,
  drainSeconds = 0,
  flags: readonly string[] = [],
) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, [...flags, MAIN, 'serve'], {
    stdio: ['ignore', stdout, stdout],
    env: {
      ...COMPILED,
      ...enough,
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      DATABASE_URL: `file:${join(t.testdir({}), 'outbox.db')}`,
      DRAIN_SECONDS: String(drainSeconds),
      LOG_LEVEL: level,
    },
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const answers = () =>
    fetch(`http://127.0.0.1:${adminPort}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  for (let tries = 0; !(await answers()); tries += 1) {
    if (tries > 600 || child.exitCode !== null) {
      const last = typeof stdout === 'number' ? '' : String(child.stdout?.read()).slice(-2000)
      throw new Error(`the service did not start: ${tries} tries, exit ${child.exitCode}, ${last}`)
    }
    await pause(100)
  }
  return {
    child,
    /** Waits until it has ended. */
    async end(signal: NodeJS.Signals): Promise<void> {
      child.kill(signal)
      await ended
    },
  }
}

t.test('it ends when the reader of its log ends together with it, at any level', async t => {
  for (const level of ['info', 'debug', 'silent']) {
    const { child, end } = await startServe(t, 'pipe', level)
    child.stdout?.destroy()
    child.stderr?.destroy()
    await end('SIGTERM')
    t.pass(`it has ended, at ${level}`)
  }
})

/** The same with its log in a pipe that is full, and that nobody reads. */
async function startServeBeforeFullPipe(t: Test, drainSeconds: number) {
  const path = join(t.testdir({}), 'log')
  execFileSync('mkfifo', [path])
  // Held open for reading, and never read.
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  t.teardown(() => {
    closeSync(reader)
    closeSync(writer)
  })
  const serve = await startServe(t, writer, 'info', drainSeconds)
  t.throws(
    () => {
      for (;;) writeSync(reader, Buffer.alloc(4096, 'x'))
    },
    { code: 'EAGAIN' },
  )
  return serve
}

t.test('it ends when nobody reads its log any more, and the pipe is full', async t => {
  const { end } = await startServeBeforeFullPipe(t, 0)
  await end('SIGTERM')
  t.pass('it has ended')
})

t.test('a second signal ends it at once, though nobody reads its log', async t => {
  const { child, end } = await startServeBeforeFullPipe(t, 10)
  const twin = await startServe(t, 'pipe', 'info', 10)
  for (const each of [child, twin.child]) each.kill('SIGTERM')
  await pause(300)
  t.equal(child.signalCode, null, 'it serves on for DRAIN_SECONDS')
  await end('SIGINT')
  t.equal(twin.child.exitCode, null, 'before one that was told once')
})

/** How many sockets of a process listen, over IPv4 and IPv6. */
function countListening(pid: number | undefined): number {
  const listening = ['tcp', 'tcp6'].flatMap(table =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === '0A')
      .map(fields => `socket:[${fields[9]}]`),
  )
  const own = readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return listening.filter(socket => own.includes(socket)).length
}

t.test('SIGUSR1 opens no debugger, however it is started', async t => {
  // The port of a debugger is any free one here: the usual one may be taken.
  const anyPort = '--inspect-port=0'
  const unguarded = spawn(process.execPath, [anyPort, '-e', 'console.log(1); setInterval(() => {}, 1000)'])
  t.teardown(() => unguarded.kill('SIGKILL'))
  await new Promise(resolve => unguarded.stdout.once('data', resolve))
  unguarded.kill('SIGUSR1')
  for (let tries = 0; countListening(unguarded.pid) === 0 && tries < 100; tries += 1) await pause(50)
  t.equal(countListening(unguarded.pid), 1, 'a program that does not see to it listens then')

  for (const flags of [[anyPort], [anyPort, '--disable-sigusr1']]) {
    const { child } = await startServe(t, 'pipe', 'info', 0, flags)
    const before = countListening(child.pid)
    child.kill('SIGUSR1')
    await pause(500)
    t.equal(child.signalCode, null, `${flags.join(' ')}: it serves on`)
    t.equal(before, 2, 'the two listeners')
    t.equal(countListening(child.pid), before, `${flags.join(' ')}: no other port`)
  }
})

t.test('image, unit and npm start it with the debugger off from the first moment', async t => {
  for (const path of ['Dockerfile', 'package.json', 'docker/callback-courier.service']) {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
    t.match(text, /node"?,? "?--disable-sigusr1"?,? "?\S*src\/main\.ts"?,? "?serve/, path)
  }
})
