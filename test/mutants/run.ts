import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { mistakes } from './mistakes.ts'
import { type Mistake, placeMistake, readSources } from './place.ts'

const USAGE = `node test/mutants/run.ts [--only N,N] [--minutes N] [--list]

Plants one mistake after the other into a copy of the program, runs the tests that are expected to notice it, then those
of their folder, and says which mistakes nobody noticed. Its list is test/mutants/mistakes.ts.

  --only N,N     these mistakes, by their numbers
  --minutes N    begins no other mistake after this time; 90 unless told otherwise
  --list         only says what there is
`

/** A run of tests that takes longer is ended: a mistake that makes the program hang is noticed, too. */
const LIMIT_MS = 180_000
const ROOT = resolve(import.meta.dirname, '..', '..')
/** What tests read of the project. */
const COPIED = [
  'src',
  'test',
  'sandbox',
  'docs',
  'docker',
  'bench',
  'package.json',
  'README.md',
  'CHANGELOG.md',
  '.env.example',
  '.env.example.zh-CN',
  'README.zh-CN.md',
]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string', default: '90' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

interface Planted extends Mistake {
  readonly number: number
  readonly file: string
  readonly planted: string
}

const sources = readSources(ROOT)
const wanted = values.only?.split(',').map(Number)
const planted: Planted[] = []
let faults = 0
for (const [at, mistake] of mistakes.entries()) {
  if (wanted !== undefined && !wanted.includes(at + 1)) continue
  const place = placeMistake(mistake, sources)
  if ('fault' in place) {
    faults += 1
    say(`${at + 1}: ${place.fault}`)
  } else planted.push({ ...mistake, ...place, number: at + 1 })
}

if (values.help) say(USAGE)
else if (values.list) for (const mistake of planted) say(describe(mistake))
else process.exitCode = (await plantAll()) && faults === 0 ? 0 : 1

async function plantAll(): Promise<boolean> {
  const copy = mkdtempSync(join(tmpdir(), 'courier-mutants-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  process.once('SIGINT', () => process.exit(130))
  for (const each of COPIED) cpSync(join(ROOT, each), join(copy, each), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))

  // A test that fails anyway would be said to notice everything.
  for (const tests of new Map(planted.map(each => [each.tests.join(' '), each.tests])).values()) {
    if ((await runTests(copy, tests)) === 'pass') continue
    say(`${tests.join(' ')} fail without any mistake`)
    return false
  }

  const end = Date.now() + Number(values.minutes) * 60_000
  const survivors: Planted[] = []
  let tried = 0
  for (const mistake of planted) {
    if (Date.now() > end) break
    tried += 1
    const file = join(copy, mistake.file)
    writeFileSync(file, mistake.planted)
    const caught = await catchMistake(copy, mistake)
    writeFileSync(file, sources.get(mistake.file) ?? '')
    if (caught === null) survivors.push(mistake)
    say(`${caught === null ? 'SURVIVES' : `caught by ${caught}`}: ${describe(mistake)}`)
  }
  say(
    `${tried - survivors.length} of ${tried} were caught; ${planted.length - tried} were not tried, for lack of time`,
  )
  for (const mistake of survivors) say(`SURVIVES: ${describe(mistake)}`)
  return survivors.length === 0 && tried === planted.length
}

/** The tests that noticed the mistake; null: none. */
async function catchMistake(copy: string, { tests }: Mistake): Promise<string | null> {
  if ((await runTests(copy, tests)) === 'fail') return tests.join(' ')
  const folders = [...new Set(tests.map(path => (extname(path) === '' ? path : dirname(path))))]
  const isFolder = folders.join(' ') === tests.join(' ')
  return !isFolder && (await runTests(copy, folders)) === 'fail' ? `its folder, ${folders.join(' ')}` : null
}

async function runTests(copy: string, tests: readonly string[]): Promise<'pass' | 'fail'> {
  const args = ['test/run/main.ts', '--seed', '1', ...tests]
  // One failure is enough. A group of its own, so that nothing it started outlives it.
  const env = { ...process.env, TAP_BAIL: '1' }
  const run = spawn(process.execPath, args, { cwd: copy, env, stdio: 'ignore', detached: true })
  const timer = setTimeout(() => process.kill(-(run.pid ?? 0), 'SIGKILL'), LIMIT_MS)
  const [code] = (await once(run, 'exit')) as [number | null]
  clearTimeout(timer)
  return code === 0 ? 'pass' : 'fail'
}

function describe({ number, file, text, instead }: Planted): string {
  const short = (of: string) => of.replace(/\s+/g, ' ').trim()
  return `${number} ${basename(dirname(file))}/${basename(file)}: ${short(text)} → ${short(instead)}`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
