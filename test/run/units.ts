import { globSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

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

/**
 * Each of these has a process of its own: they wait for real time to pass more than they compute, load the machine, or
 * hold what a process has one of (a sandbox's certificate authority).
 */
const ALONE: readonly string[] = [
  'test/attack/secrets.test.ts',
  'test/attack/floods.test.ts',
  'test/attack/connections.test.ts',
  'test/attack/newcomers.test.ts',
  'test/faults/burst.test.ts',
  'test/faults/hiccups.test.ts',
  'test/faults/overload.test.ts',
  'test/faults/smtp.test.ts',
  'test/faults/swallowed-replies.test.ts',
  'test/sandbox/page.test.ts',
  'test/service/process.test.ts',
  'test/outbox/heartbeats.test.ts',
  'test/outbox/postgres.test.ts',
  'test/outbox/postgres-faults.test.ts',
  'test/alerts/service.test.ts',
]

/** What takes longest, longest first: it begins early, for alone at the end it would leave the other processors idle. */
const LONGEST: readonly string[] = [
  'test/attack',
  'test/outbox',
  'test/faults',
  'test/outbox/heartbeats.test.ts',
  'test/delivery',
  'test/commands',
  'test/sandbox',
  'test/service/process.test.ts',
  'test/providers/twilio',
  'test/outbox/postgres-faults.test.ts',
  'test/words',
  'test/admin',
  'test/outbox/postgres.test.ts',
  'test/alerts',
  'test/faults/swallowed-replies.test.ts',
]

/** Folders of so few short tests share a process with each other: to start one costs more than they take. */
const FEW = 4

/** The short tests of a folder that share a process. @returns paths relative to the working directory. */
export function testsOf(folder: string): readonly string[] {
  return globSync(join(folder, '*.test.ts'))
    .filter(file => formOf(file) === 'short' && !ALONE.includes(file))
    .sort()
}

/** What runs as a process of its own: a file, or folders whose short tests share it. */
export type Unit = { readonly file: string } | { readonly folders: readonly string[] }

/** @param paths files and folders; a file that is named runs, whatever its form. */
export function unitsOf(paths: readonly string[], form: Form): readonly Unit[] {
  return paths.map(normalize).flatMap(path => {
    if (statSync(path).isFile()) return [{ file: path }]
    const files = globSync(join(path, '**/*.test.ts')).sort()
    if (form !== 'short') return files.filter(file => formOf(file) === form).map(file => ({ file }))
    const alone = files.filter(file => ALONE.includes(file)).map(file => ({ file }))
    const units = alternate(shareProcesses(files), alone)
    return [
      ...units.filter(isLong).toSorted((a, b) => placeOf(a) - placeOf(b)),
      ...units.filter(unit => !isLong(unit)),
    ]
  })
}

/** A place among the longest; -1 for the others. */
function placeOf(unit: Unit): number {
  return LONGEST.indexOf('file' in unit ? unit.file : unit.folders.join(' '))
}

function isLong(unit: Unit): boolean {
  return placeOf(unit) >= 0
}

/** Those with the most tests come first. */
function shareProcesses(files: readonly string[]): readonly Unit[] {
  const counted = [...new Set(files.map(file => dirname(file)))]
    .map(folder => ({ folder, count: testsOf(folder).length }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count)
  const few = counted.filter(({ count }) => count <= FEW).map(({ folder }) => folder)
  const many = counted.filter(({ count }) => count > FEW)
  return [...(few.length > 0 ? [{ folders: few }] : []), ...many.map(({ folder }) => ({ folders: [folder] }))]
}

/** What computes beside what waits keeps the processors busy. */
function alternate<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  const longer = Math.max(some.length, others.length)
  return Array.from({ length: longer }, (_, index) => [some[index], others[index]])
    .flat()
    .filter(each => each !== undefined)
}
