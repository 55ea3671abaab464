import { globSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The long form: it loads the machine, drives a browser, or repeats in many ways what a short one tries in few. */
const LONG = '.long.test.ts'

/**
 * Each of these has a process of its own: they wait for real time to pass more than they compute, load the machine, or
 * hold what a process has one of (a sandbox's certificate authority). They begin first.
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

/** The short tests of a folder that share a process. @returns paths relative to the working directory. */
export function testsOf(folder: string): readonly string[] {
  return globSync(join(folder, '*.test.ts'))
    .filter(file => !file.endsWith(LONG) && !ALONE.includes(file))
    .sort()
}

/**
 * What runs as a process of its own: a folder, whose short tests share it, or a file.
 * @param paths files and folders; a file that is named runs, whatever its form.
 */
export function unitsOf(paths: readonly string[], form: 'short' | 'long'): readonly string[] {
  return paths.map(normalize).flatMap(path => {
    if (statSync(path).isFile()) return [path]
    const files = globSync(join(path, '**/*.test.ts')).sort()
    if (form === 'long') return files.filter(file => file.endsWith(LONG))
    const countOf = (folder: string): number => testsOf(folder).length
    const folders = [...new Set(files.map(file => dirname(file)))].filter(folder => countOf(folder) > 0)
    // A folder of many tests takes long: one that began last would run alone at the end.
    return [
      ...files.filter(file => ALONE.includes(file)),
      ...folders.toSorted((a, b) => countOf(b) - countOf(a)),
    ]
  })
}
