import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { COMPILED } from '../rigs/process.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** As long as an end may take, ms: DRAIN_SECONDS is 0 here, and what hangs is killed after 10 s. */
const END_WITHIN_MS = 14_000

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** `serve` whose log goes to `stdout`, once it answers. */
async function startServe(t: Test, stdout: 'pipe' | number, level: string, drainSeconds = 0) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    stdio: ['ignore', stdout, stdout],
    env: {
      ...COMPILED,
      CORP_ID: 'c1',
      EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJgFdS',
      TLS: 'off',
      SMTP_URL: 'smtp://127.0.0.1:9',
      MAIL_FROM: 'Example <a@example.com>',
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      DATABASE_URL: `file:${join(t.testdir({}), 'outbox.db')}`,
      DRAIN_SECONDS: String(drainSeconds),
      LOG_LEVEL: level,
    },
  })
  const ended = new Promise<number>(resolve => {
    child.once('exit', () => resolve(performance.now()))
  })
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
    if (tries > 600 || child.exitCode !== null) throw new Error('the service did not start')
    await pause(100)
  }
  return {
    child,
    /** @returns how long it took to end, ms; Infinity when it did not. */
    async end(signal: NodeJS.Signals): Promise<number> {
      const began = performance.now()
      child.kill(signal)
      return (await Promise.race([ended, pause(END_WITHIN_MS, Number.POSITIVE_INFINITY)])) - began
    },
  }
}

t.test('it ends when the reader of its log ends together with it, at any level', async t => {
  for (const level of ['info', 'debug', 'silent']) {
    const { child, end } = await startServe(t, 'pipe', level)
    child.stdout?.destroy()
    child.stderr?.destroy()
    t.ok((await end('SIGTERM')) < END_WITHIN_MS, level)
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
  t.ok((await end('SIGTERM')) < END_WITHIN_MS)
})

t.test('a second signal ends it at once, though nobody reads its log', async t => {
  const { child, end } = await startServeBeforeFullPipe(t, 10)
  child.kill('SIGTERM')
  await pause(300)
  t.equal(child.signalCode, null, 'it serves on for DRAIN_SECONDS')
  t.ok((await end('SIGINT')) < END_WITHIN_MS / 2)
})
