import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'

/** Whether the runner has started this. */
const RUN = process.env['TESTS_IN_MEMORY'] !== undefined
const MAIN = join(import.meta.dirname, 'main.ts')

/** Runs files of tests, with a folder of the run's own for what is temporary. */
function run(t: Test, files: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const folder = t.testdir({})
  const child = spawn(process.execPath, [MAIN, ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env, TMPDIR: folder },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code, said }))
  return { child, ended, left: () => readdirSync(folder) }
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGKILL', null],
] as const)
  t.test(`ended by ${signal} it leaves no process, and no folder`, async t => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const { child, ended, left } = run(t, [join(import.meta.dirname, 'hangs.ts')], {
      HANGS_PORT: String(port),
    })
    const living: Promise<unknown>[] = []
    while (living.length < 2) {
      const [socket] = (await once(server, 'connection')) as [Socket]
      living.push(
        once(
          socket.resume().on('error', () => {}),
          'close',
        ),
      )
    }
    child.kill(signal)
    const end = await ended
    await Promise.all(living)
    t.equal(end.code, code)
    t.same(left(), [])
  })

t.test(
  'a short test finds no program beside node',
  { skip: RUN ? false : 'not started by the runner' },
  async t => {
    t.match(spawnSync('sh', ['-c', 'true']).error, { code: 'ENOENT' })
  },
)

t.test('what failed is said in 30 lines at most, and the count of assertions', async t => {
  const { ended, left } = run(t, [join(import.meta.dirname, 'fails.ts')])
  const { code, said } = await ended
  t.equal(code, 1)
  const lines = said.trimEnd().split('\n')
  t.match(lines[1], /^FAILED 1\/1 .*fails\.ts/)
  t.ok(lines.length <= 34, `${lines.length} lines`)
  t.match(said, /^FAILED \S*fails\.ts:\d+ a test > number 0$/m)
  t.match(said, /^and 15 more$/m)
  t.match(lines.at(-1), '# { total: 42, pass: 2, fail: 40 }')
  t.same(left(), [])
})

t.test('a process that is killed is a failure, with its last words', async t => {
  const { ended } = run(t, [join(import.meta.dirname, 'ends.ts')])
  const { code, said } = await ended
  t.equal(code, 1)
  t.match(said, /^FAILED \S*ends\.ts ended with SIGKILL\n(?: {2}.*\n)*? {2}its last words$/m)
  t.match(said, '# { total: 1, pass: 0, fail: 1 }')
})
