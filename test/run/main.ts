import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import t from 'tap'
import { findMemory } from '../rigs/memory.ts'
import { unitsOf } from './units.ts'

const USAGE = `node test/run/main.ts [--form short|long|soak] [--jobs N] [--seed N] [path ...]

Runs the short tests, or those of another form: all of them, or those of these files and folders. Short tests of
folders share processes, because starting one and loading the service costs more than most of them take. The files
of a process run in an order that is drawn from a seed; the seed is printed, and --seed repeats the order. To run
one file as it is: npx tap --disable-coverage test/callback/callback-key.test.ts, and one test of it with
TAP_GREP='/words of its name/'`

/** For a whole process, s; a test that hangs ends it. The machine may have other work to do. */
const TIMEOUT_SECONDS = process.argv.includes('soak') ? 2700 : 600

/** Most tests wait for each other's sockets and timers most of the time, and leave the processor to others. */
const JOBS_A_CORE = 4

const MOST_SEED = 100_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    form: { type: 'string', default: 'short' },
    jobs: { type: 'string', default: String(JOBS_A_CORE * availableParallelism()) },
    seed: { type: 'string', default: String(randomInt(MOST_SEED)) },
    help: { type: 'boolean', default: false },
  },
})
const form = (['short', 'long', 'soak'] as const).find(each => each === values.form)
if (values.help || form === undefined) {
  process.stdout.write(`${USAGE}\n`)
  process.exit(values.help ? 0 : 2)
}

/**
 * Where the short tests put their stores and files: each commit of a store waits for the disk, and what no test does to
 * one needs a disk. The other forms have them where the system has temporary files.
 */
const directory =
  form === 'short' ? await mkdtemp(join(findMemory() ?? tmpdir(), 'courier-tests-')) : tmpdir()
// Servers of tests run as other users.
if (form === 'short') await chmod(directory, 0o1777)

const env = {
  ...process.env,
  TMPDIR: directory,
  TAP_TIMEOUT: String(TIMEOUT_SECONDS),
  // Types are stripped and code is compiled once for all of them.
  NODE_COMPILE_CACHE: resolve('node_modules', '.cache', 'tests'),
}
// tap puts hooks for coverage in front of whatever it starts, which costs each process half a second.
const nodeOptions = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`
const together = join(import.meta.dirname, 'together.ts')
/** Collecting garbage less often saves a tenth of the time. */
const ROOMY = '--max-semi-space-size=64'
const failures: string[] = []

t.setTimeout(0)
// Those of the other forms measure or load the machine: one at a time.
t.jobs = form === 'short' ? Number(values.jobs) : 1
t.on('subtestEnd', unit => {
  for (const { name } of unit.results?.failures ?? []) failures.push(`${unit.name}: ${name}`)
})
const seed = Number(values.seed)
t.comment(`the files of a process are in the order of --seed ${seed}`)
const units = unitsOf(positionals.length === 0 ? ['test'] : positionals, form, seed)
for (const { name, files } of units) {
  const script = form === 'short' ? [together, ...files] : files
  const options = { env, buffered: t.jobs > 1, timeout: TIMEOUT_SECONDS * 1000 }
  void t.spawn('env', [nodeOptions, process.execPath, ROOMY, ...script], options, name)
}
t.on('complete', () => {
  for (const failure of failures) t.comment(`FAILED ${failure} (--seed ${seed})`)
})
process.on('exit', () => {
  if (form === 'short') rmSync(directory, { recursive: true, force: true })
})
