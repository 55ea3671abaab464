import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t from 'tap'
import type { Counts, Failure, Said } from './process.ts'

// What a process of tests does for test/run/main.ts beside running them.

// tap makes the directories of tests beside the code, and names them by all arguments, which no file system takes at any
// length. Here they are where everything is that is temporary.
t.testdirName = join(tmpdir(), `tests-${process.pid}`)
// Before tap removes one that is not beside the code it goes there, and stays; tests read files of the project.
process.chdir = () => {}

// No test is limited in wall time, whatever it asks of tap for itself: a machine may have other work to do.
for (let of = Object.getPrototypeOf(t); of !== null; of = Object.getPrototypeOf(of))
  if (Object.hasOwn(of, 'setTimeout')) Object.assign(of, { setTimeout: () => {} })

// By an exit, since what tests started that outlives their group ends then.
process.once('SIGTERM', () => process.exit(143))
// The parent is gone: nobody else removes what is temporary, or ends the group.
process.once('disconnect', () => {
  process.once('exit', () => {
    const folders = [tmpdir(), process.env['TESTS_IN_MEMORY'] ?? ''].filter(each =>
      basename(each).startsWith('courier-tests-'),
    )
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    process.kill(-process.pid, 'SIGKILL')
  })
  process.exit(143)
})
// Tests that are through shall not wait for their parent.
process.channel?.unref()

// No test begins while the files are still being read: one that replaces timers would give them to those that come after it.
t.before(() => new Promise(resolve => setImmediate(resolve)))

const say = (said: Said) => process.connected && process.send?.(said)

/** As tap's own events have it. */
interface Assertion {
  readonly ok: boolean
  readonly fullname: string
  readonly todo: boolean | string
  readonly skip: boolean | string
  readonly diag?: {
    readonly at?: { readonly fileName?: string; readonly lineNumber?: number }
    readonly diff?: string
    readonly stack?: string
  }
}

const counts: { -readonly [name in keyof Counts]: number } = { total: 0, pass: 0, fail: 0, todo: 0, skip: 0 }
let toldAt = 0

function count(assertion: Assertion): void {
  const { ok, todo, skip } = assertion
  counts.total += 1
  if (skip !== false) counts.skip += 1
  else if (todo !== false) counts.todo += 1
  else if (ok) counts.pass += 1
  else {
    counts.fail += 1
    say({ is: 'failed', failure: failureOf(assertion) })
  }
  if (performance.now() - toldAt < 1000) return
  toldAt = performance.now()
  say({ is: 'progress' })
}

function failureOf({ fullname, diag }: Assertion): Failure {
  const { fileName, lineNumber } = diag?.at ?? {}
  const lines = (diag?.diff ?? diag?.stack ?? '').trim().split('\n')
  return {
    name: fullname.replace(/^TAP > /, ''),
    ...(fileName !== undefined && { at: `${fileName}:${lineNumber}` }),
    detail: lines.filter(line => !line.includes('error-scopes.ts')).slice(0, 12),
  }
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const most = Number(process.env['MOST_CPU_SECONDS'] ?? Number.POSITIVE_INFINITY)
setInterval(() => {
  if (cpuSeconds() <= most) return
  say({ is: 'failed', failure: { name: `has used ${most} s of processor time`, detail: [] } })
  process.exit(1)
}, 1000).unref()

t.on('assert' as never, count as never)
t.on('complete' as never, () => say({ is: 'ending', counts, cpuSeconds: cpuSeconds() }))
