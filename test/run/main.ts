import { randomInt } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Failure, startUnit, type UnitEnd } from './process.ts'
import { type Unit, unitsOf } from './units.ts'

const USAGE = `node test/run/main.ts [--form short|long|soak] [--jobs N] [--seed N] [path ...]

Runs the short tests, or those of another form: all of them, or those of these files and folders. Short tests of
folders share processes, because starting one and loading the service costs more than most of them take. The files
of a process run in an order that is drawn from a seed; the seed is printed, and --seed repeats the order. To see
every assertion of a file: npx tap --disable-coverage test/callback/callback-key.test.ts, and one test of it with
TAP_GREP='/words of its name/'`

/** Most short tests wait for each other's sockets and timers most of the time, and leave the processor to others. */
const JOBS_A_CORE = 4
/** Of the other forms two run at a time, unless they measure. */
const LONG_JOBS = 2

const MOST_SEED = 100_000

/** What the end says of failures at most, the lines around them not counted. */
const MOST_LINES = 26

/** What the processes with failures have said; it is there until the next run. */
const FAILED = resolve('node_modules', '.cache', 'failed-tests.log')

/** Files in memory. A container's is 64 MB unless it was asked for more, which stores outgrow. */
const MEMORY = '/dev/shm'
const ROOM = 1024 * 1024 * 1024

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    form: { type: 'string', default: 'short' },
    jobs: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(MOST_SEED)) },
    help: { type: 'boolean', default: false },
  },
})
const form = (['short', 'long', 'soak'] as const).find(each => each === values.form)
if (values.help || form === undefined) {
  process.stdout.write(`${USAGE}\n`)
  process.exit(values.help ? 0 : 2)
}
const jobs = Number(values.jobs ?? (form === 'short' ? JOBS_A_CORE * availableParallelism() : LONG_JOBS))
const seed = Number(values.seed)

/**
 * All that tests leave behind is in here, and goes with it. Short tests have it in memory, where there is room: each
 * commit of a store waits for the disk, and what no short test does to one needs a disk.
 */
const inMemory = makeFolder(findMemory() ?? tmpdir())
const directory = form === 'short' ? inMemory : makeFolder(tmpdir())

function makeFolder(place: string): string {
  const folder = mkdtempSync(join(place, 'courier-tests-'))
  // Servers of tests run as other users.
  chmodSync(folder, 0o1777)
  return folder
}

function findMemory(): string | null {
  if (process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return null
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize > ROOM ? MEMORY : null
}

const units = unitsOf(positionals.length === 0 ? ['test'] : positionals, form, seed)
const running = new Set<ReturnType<typeof startUnit>>()
const failures: (Failure & { readonly unit: string })[] = []
const logs: string[] = []
const totals = { total: 0, pass: 0, fail: 0, todo: 0, skip: 0 }
let begun = 0
let ended = 0
let interrupted: NodeJS.Signals | null = null

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function run(unit: Unit): Promise<void> {
  const log = join(directory, `${(begun += 1)}.log`)
  const started = startUnit(unit, { directory, inMemory, log })
  running.add(started)
  const end = await started.ended
  running.delete(started)
  if (interrupted === null) note(unit, end, log)
}

function note(unit: Unit, end: UnitEnd, log: string): void {
  ended += 1
  for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += end.counts[name]
  // What failed in a way that no assertion counted counts as one.
  if (end.failures.length > end.counts.fail) {
    totals.total += end.failures.length - end.counts.fail
    totals.fail += end.failures.length - end.counts.fail
  }
  const is = end.failures.length === 0 ? 'ok    ' : 'FAILED'
  say(
    `${is} ${ended}/${units.length} ${unit.name} # ${end.seconds.toFixed(1)} s, of the processor ${end.cpuSeconds.toFixed(1)} s`,
  )
  if (end.failures.length === 0) return
  failures.push(...end.failures.map(each => ({ ...each, unit: unit.name })))
  logs.push(`# ${unit.name}\n${readFileSync(log, 'utf8')}`)
  if (process.env['TAP_BAIL'] === '1') interrupt('SIGTERM')
}

/** What failed, with what is known of it where that is short. */
function listFailures(): readonly string[] {
  const heads = failures.map(({ name, at, unit }) => `FAILED ${at ?? unit} ${name}`)
  const whole = failures.flatMap(({ detail }, n) => [heads[n] ?? '', ...detail.map(line => `  ${line}`)])
  if (whole.length <= MOST_LINES) return whole
  return heads.length <= MOST_LINES
    ? heads
    : [...heads.slice(0, MOST_LINES - 1), `and ${heads.length - MOST_LINES + 1} more`]
}

/** Ends what runs; nothing else is begun. */
function interrupt(signal: NodeJS.Signals): void {
  interrupted ??= signal
  for (const each of running) each.end()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt(signal))

async function runAll(waiting: Unit[], atOnce: number): Promise<void> {
  const work = async () => {
    for (let unit = waiting.shift(); unit !== undefined && interrupted === null; unit = waiting.shift())
      await run(unit)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, work))
}

say(`the files of a process are in the order of --seed ${seed}`)
try {
  await runAll(
    units.filter(({ alone }) => !alone),
    jobs,
  )
  await runAll(
    units.filter(({ alone }) => alone),
    1,
  )
} finally {
  for (const folder of [directory, inMemory])
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
if (failures.length === 0) rmSync(FAILED, { force: true })
else {
  mkdirSync(join(FAILED, '..'), { recursive: true })
  writeFileSync(FAILED, logs.join('\n'))
  say('')
  for (const line of listFailures()) say(line)
  say(`Again: --seed ${seed} and the names of these files. All that they said is in ${FAILED}`)
}
const counted = Object.entries(totals).filter(
  ([name, count]) => count > 0 || name === 'total' || name === 'pass',
)
say(`# { ${counted.map(([name, count]) => `${name}: ${count}`).join(', ')} }`)
if (interrupted !== null && failures.length === 0) process.exit(128 + constants.signals[interrupted])
process.exit(failures.length === 0 ? 0 : 1)
