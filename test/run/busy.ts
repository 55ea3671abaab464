import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const USAGE = `node test/run/busy.ts [--loops N]

Runs the short tests beside eight busy loops, or as many as are given, and the long ones beside two: whatever else a
machine does, none may fail.`

const { values } = parseArgs({
  options: { loops: { type: 'string', default: '8' }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  process.stdout.write(`${USAGE}\n`)
  process.exit(0)
}

const started = new Set<ChildProcess>()
let signalled: NodeJS.Signals | null = null

function start(argv: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, argv, { stdio: 'inherit' })
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    signalled = signal
    for (const child of started) child.kill(signal)
  })

/** Runs the tests of a form beside so many loops. @returns whether all passed */
async function runBeside(form: 'short' | 'long', count: number): Promise<boolean> {
  process.stdout.write(`the ${form} form, beside ${count} busy loops\n`)
  // A loop whose parent was killed ends by itself.
  const spin = `const parent = process.ppid; for (;;) if (process.ppid !== parent) process.exit()`
  const loops = Array.from({ length: count }, () => start(['-e', spin]))
  try {
    const [code] = await once(start([join(import.meta.dirname, 'main.ts'), '--form', form]), 'exit')
    return code === 0
  } finally {
    for (const loop of loops) loop.kill('SIGKILL')
  }
}

let passed = await runBeside('short', Number(values.loops))
if (signalled === null) passed = (await runBeside('long', Math.min(2, Number(values.loops)))) && passed
process.exit(signalled === null ? Number(!passed) : 128 + constants.signals[signalled])
