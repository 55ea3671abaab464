import { globSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { seededRandom } from '../delivery/simulation.ts'

/**
 * The long form loads the machine, drives a browser, or repeats in many ways what a short one tries in few. The soak
 * takes minutes for each test and is for a release.
 */
const FORMS = { long: '.long.test.ts', soak: '.soak.test.ts' } as const
export type Form = 'short' | keyof typeof FORMS

/** @param file a test. */
function formOf(file: string): Form {
  if (file.endsWith(FORMS.long)) return 'long'
  return file.endsWith(FORMS.soak) ? 'soak' : 'short'
}

/** Long tests that compare what they measure, or load the machine so much that others would be late. */
const MEASURING: readonly string[] = [
  'test/attack/costly-bodies.long.test.ts',
  'test/attack/floods.long.test.ts',
  'test/attack/newcomers.long.test.ts',
  'test/chaos/chaos.long.test.ts',
  'test/faults/callers.long.test.ts',
  'test/service/idle.long.test.ts',
  'test/service/memory.long.test.ts',
  'test/service/silent-dns.long.test.ts',
]

/**
 * Short tests that share a process, one after the other in an order that a seed draws: to start one and load the service in it takes a second of
 * processor time, more than most of them. A folder stands for those of its tests that have no place of their own; what
 * has none at all shares the last process. What takes longest begins first, and files that mostly wait stand
 * apart from their folder: at the end no processor is idle for long.
 */
const SHARED: readonly (readonly string[])[] = [
  [
    'test/webhooks',
    'test/upgrade',
    'test/docker',
    'test/docs',
    'test/tls',
    'test/sandbox/emulator',
    'test/sandbox/carriers',
  ],
  ['test/admin', 'test/devices', 'test/devices/service.test.ts'],
  [
    'test/providers',
    'test/providers/aliyun',
    'test/providers/aliyun-pnvs',
    'test/providers/tencent',
    'test/providers/http-gateway',
  ],
  [
    'test/service/alerts.test.ts',
    'test/service/answers.test.ts',
    'test/service/bounces.test.ts',
    'test/service/everything-on.test.ts',
    'test/service/scopes.test.ts',
    'test/service/two-carriers.test.ts',
  ],
  ['test/delivery', 'test/reports'],
  ['test/commands', 'test/commands/check'],
  ['test/attack/secrets.test.ts', 'test/attack/connections.test.ts', 'test/faults'],
  ['test/outbox'],
  ['test/attack'],
  ['test/words', 'test/words/templates', 'test/language'],
  ['test/callback', 'test/config', 'test/messages', 'test/runtime', 'test'],
  ['test/sandbox'],
  // Its tests run beside each other, and so would those of its whole process.
  ['test/providers/smtp/faults.test.ts'],
  ['test/providers/twilio'],
  ['test/service'],
  ['test/providers/smtp'],
  // The certificate authority of its sandbox is that of the whole process.
  ['test/sandbox/page.test.ts'],
]

/** Tests that run in a process of their own, and what they are called together. */
export interface Unit {
  readonly name: string
  readonly files: readonly string[]
  readonly form: Form
  /** They measure: nothing runs beside them. */
  readonly alone: boolean
}

/**
 * @param paths files and folders; a file that is named runs, whatever its form.
 * @param seed draws the order of the files that share a process: no file may need another one to come first.
 */
export function unitsOf(paths: readonly string[], form: Form, seed: number): readonly Unit[] {
  const [files, folders] = partition(paths.map(normalize), path => statSync(path).isFile())
  // `postgres.long.test.ts` comes before `postgres-days.long.test.ts`: what is tested as a whole before what is in it.
  const nameOf = (file: string) => file.replace(/\..*/, '')
  const found = folders
    .flatMap(folder => globSync(join(folder, '**/*.test.ts')))
    .sort((a, b) => nameOf(a).localeCompare(nameOf(b)))
  const wanted = found.filter(file => formOf(file) === form)
  const shared = form === 'short' ? shareProcesses(wanted) : wanted.map(ofOneFile)
  return [...files.map(ofOneFile), ...shared.map(unit => ({ ...unit, files: shuffle(unit.files, seed) }))]
}

function ofOneFile(file: string): Unit {
  return {
    name: file,
    files: [file],
    form: formOf(file),
    alone: MEASURING.includes(file) || file.endsWith(FORMS.soak),
  }
}

function shareProcesses(files: readonly string[]): readonly Unit[] {
  const units = SHARED.map(row => row.map(place => ({ place, files: [] as string[] })))
  const others: { readonly place: string; readonly files: string[] }[] = []
  const places = new Map(units.flat().map(each => [each.place, each]))
  for (const file of files) {
    const folder = dirname(file)
    let home = places.get(file) ?? places.get(folder)
    if (home === undefined) {
      home = { place: folder, files: [] }
      places.set(folder, home)
      others.push(home)
    }
    home.files.push(file)
  }
  return [...units, others]
    .map(unit => unit.filter(each => each.files.length > 0))
    .filter(unit => unit.length > 0)
    .map(unit => ({
      name: unit.map(({ place }) => place).join(' '),
      files: unit.flatMap(each => each.files),
      form: 'short' as const,
      alone: false,
    }))
}

function partition<T>(all: readonly T[], is: (each: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(is), all.filter(each => !is(each))]
}

/** Puts files into the order that a seed determines; each unit begins the seed anew, so that it can be repeated alone. */
function shuffle(files: readonly string[], seed: number): readonly string[] {
  const random = seededRandom(seed)
  const drawn = files.map(file => ({ file, place: random() }))
  return drawn.sort((a, b) => a.place - b.place).map(({ file }) => file)
}
