import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { placeMistake, placeSampled, readMistakes, readSources, type Sampled } from './place.ts'

const USAGE = `node test/mutants/run.ts [--only N,N] [--minutes N] [--list]
       node test/mutants/run.ts --sample FILE [--results FILE] [--only N,N] [--minutes N]

Plants one mistake after the other into a copy of the program, runs the tests that are expected to notice it, then those
of their folder, and says which mistakes nobody noticed. Its list is test/mutants/mistakes.txt.

  --only N,N     these mistakes, by their numbers
  --minutes N    begins no other mistake after this time; 90 unless told otherwise
  --list         only says what there is
  --sample FILE  plants the mistakes of this file instead, as [{ "at": "src/outbox/rules.ts:120", "text": "a < b",
                 "instead": "a <= b" }], in lines that draw.ts drew; asks the types, then the short tests of the file, of the
                 room and of the service, then the long tests of the room
  --results FILE a line for each that was caught or passed; what has one already is not tried again
`

/** A run of tests that takes longer is ended: a mistake that makes the program hang is noticed, too. */
const LIMIT_MS = 900_000
const ROOT = resolve(import.meta.dirname, '..', '..')
/** Whose tests ask a room that has none of its own. */
const TESTED_BY: Readonly<Record<string, string>> = {
  events: 'admin',
  settings: 'config',
  'main.ts': 'commands',
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string', default: '90' },
    list: { type: 'boolean', default: false },
    sample: { type: 'string' },
    results: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

interface Planted {
  readonly number: number
  readonly file: string
  readonly planted: string
  readonly text: string
  readonly instead: string
  /** One after the other, until one notices it. */
  readonly stages: readonly Stage[]
}

interface Stage {
  readonly name: string
  readonly args: readonly string[]
}

const sources = readSources(ROOT)
const wanted = values.only?.split(',').map(Number)
const { tried, hasPassed } = readResults()
const planted: Planted[] = []
let faults = 0
for (const [at, { mistake, place, stages }] of (values.sample === undefined
  ? kept()
  : sampled(values.sample)
).entries()) {
  if ((wanted !== undefined && !wanted.includes(at + 1)) || tried.has(at + 1)) continue
  if ('fault' in place) {
    faults += 1
    say(`${at + 1}: ${place.fault}`)
  } else planted.push({ ...mistake, ...place, stages: stages(place.file), number: at + 1 })
}

if (values.help) say(USAGE)
else if (values.list) for (const mistake of planted) say(describe(mistake))
else process.exitCode = (await plantAll()) && faults === 0 ? 0 : 1

function kept() {
  return readMistakes().map(mistake => ({
    mistake,
    place: placeMistake(mistake, sources),
    stages: () => {
      const { tests } = mistake
      const folders = [...new Set(tests.map(path => (extname(path) === '' ? path : dirname(path))))]
      return [testsOf(tests), ...(folders.join(' ') === tests.join(' ') ? [] : [testsOf(folders)])]
    },
  }))
}

function sampled(path: string) {
  const sample = JSON.parse(readFileSync(path, 'utf8')) as readonly Sampled[]
  return sample.map(mistake => ({ mistake, place: placeSampled(mistake, sources), stages: stagesOfSample }))
}

function stagesOfSample(file: string): readonly Stage[] {
  const folder = file.split('/')[1] ?? ''
  const room = `test/${TESTED_BY[folder] ?? folder}`
  // What is built from state of the last time takes a second or two.
  const types = ['node_modules/.bin/tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', 'types.json']
  const isService = room === 'test/service'
  const ofFile = join(room, `${basename(file, '.ts')}.test.ts`)
  return [
    { name: 'types', args: types },
    ...(existsSync(join(ROOT, ofFile)) ? [testsOf([ofFile])] : []),
    testsOf([room]),
    ...(isService ? [] : [testsOf(['test/service'])]),
    testsOf([room], 'long'),
  ]
}

function testsOf(paths: readonly string[], form = 'short'): Stage {
  const name = form === 'short' ? paths.join(' ') : `${form} ${paths.join(' ')}`
  return { name, args: ['test/run/main.ts', '--seed', '1', '--form', form, ...paths] }
}

async function plantAll(): Promise<boolean> {
  const copy = mkdtempSync(join(tmpdir(), 'courier-mutants-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  setPriority(5)
  // Tests read docs, files of the image and of CI as well.
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  for (const each of tracked)
    if (each !== '' && existsSync(join(ROOT, each))) cpSync(join(ROOT, each), join(copy, each))
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))

  // A test that fails anyway would be said to notice everything.
  const holds = new Map<string, Promise<boolean>>()
  const holdsWithout = (stage: Stage): Promise<boolean> => {
    const known = holds.get(stage.name) ?? runStage(copy, stage)
    holds.set(stage.name, known)
    return known
  }

  const end = Date.now() + Number(values.minutes) * 60_000
  let left = planted
  let caught = 0
  // What is cheap is asked about all of them first.
  for (let depth = 0; left.some(({ stages }) => stages[depth] !== undefined); depth += 1) {
    const next: Planted[] = []
    for (const mistake of left) {
      const stage = mistake.stages[depth]
      const isDone = stage === undefined || hasPassed.has(`${mistake.number} ${stage.name}`)
      if (!isDone && Date.now() > end) {
        say(`${left.length} were not tried to the end, for lack of time`)
        return false
      }
      if (!isDone && !(await holdsWithout(stage))) {
        say(`${stage.name} fail without any mistake`)
        return false
      }
      if (isDone || (await passesWith(copy, mistake, stage))) {
        next.push(mistake)
        if (!isDone) note(`passes ${stage.name}: ${describe(mistake)}`)
      } else {
        caught += 1
        note(`caught by ${stage.name}: ${describe(mistake)}`)
      }
    }
    left = next
  }
  say(`${caught} of ${planted.length} were caught`)
  for (const mistake of left) note(`SURVIVES: ${describe(mistake)}`)
  return left.length === 0
}

function note(line: string): void {
  say(line)
  if (values.results !== undefined) appendFileSync(values.results, `${line}\n`)
}

async function passesWith(copy: string, { file, planted }: Planted, stage: Stage): Promise<boolean> {
  const path = join(copy, file)
  writeFileSync(path, planted)
  const passes = await runStage(copy, stage)
  writeFileSync(path, sources.get(file) ?? '')
  return passes
}

/** Whether it passes. */
async function runStage(copy: string, { args }: Stage): Promise<boolean> {
  // One failure is enough. A group of its own, so that nothing it started outlives it.
  const env = { ...process.env, TAP_BAIL: '1' }
  const run = spawn(process.execPath, args, { cwd: copy, env, stdio: 'ignore', detached: true })
  const kill = () => process.kill(-(run.pid ?? 0), 'SIGKILL')
  const timer = setTimeout(kill, LIMIT_MS)
  process.once('exit', kill)
  const [code] = (await once(run, 'exit')) as [number | null]
  process.off('exit', kill)
  clearTimeout(timer)
  return code === 0
}

/** Which were caught, or survived, before; and what the others have passed. */
function readResults(): { readonly tried: ReadonlySet<number>; readonly hasPassed: ReadonlySet<string> } {
  const tried = new Set<number>()
  const hasPassed = new Set<string>()
  if (values.results === undefined || !existsSync(values.results)) return { tried, hasPassed }
  for (const line of readFileSync(values.results, 'utf8').split('\n')) {
    const [, passed, number] = /^(?:SURVIVES|caught by .*?|passes (.*?)): (\d+) /.exec(line) ?? []
    if (passed !== undefined) hasPassed.add(`${number} ${passed}`)
    else if (number !== undefined) tried.add(Number(number))
  }
  return { tried, hasPassed }
}

function describe({ number, file, text, instead }: Planted): string {
  const short = (of: string) => of.replace(/\s+/g, ' ').trim()
  return `${number} ${basename(dirname(file))}/${basename(file)}: ${short(text)} → ${short(instead)}`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
