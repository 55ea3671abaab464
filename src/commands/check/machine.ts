import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type CheckResult, fail, ok, warn } from '../../runtime/check-result.ts'

/** What the machine, or the container, lets a process have; null: it does not say. */
export interface Machine {
  /** Free octets of the file system that a directory is on. */
  freeBytes(directory: string): number | null
  openFiles(): number | null
  /** Octets of memory that this process may use. */
  memory(): number | null
  /** Permission bits of a file. */
  mode(path: string): number | null
}

export function createMachine(): Machine {
  return {
    freeBytes(directory) {
      const { bavail, bsize } = statfsSync(directory)
      return bavail * bsize
    },
    openFiles() {
      const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
      const most = /^Max open files +(\d+)/m.exec(limits)?.[1]
      return most === undefined ? null : Number(most)
    },
    memory() {
      const most = process.constrainedMemory()
      // Without a limit it is 0, or more than there is.
      return most === 0 || most > 2 ** 50 ? null : most
    },
    mode: path => (existsSync(path) ? statSync(path).mode & 0o777 : null),
  }
}

const MB = 1_000_000
/** What a waiting message takes on disk, octets. */
const PER_MESSAGE = 1000
/** Below this the next minutes fill it. */
const LEAST_FREE = 50 * MB
/** Each connection takes one, of callers and to providers. */
const ENOUGH_FILES = 4096
/** The process at work, with what a burst takes. */
const ENOUGH_MEMORY = 200 * MB

/** Disk, open files, memory, and who can read the settings. */
export function checkMachine(config: Config, dotenvPath: string, machine: Machine): readonly CheckResult[] {
  return [
    ...lookAtDisk(config, machine),
    ...lookAtOpenFiles(machine),
    ...lookAtMemory(machine),
    ...lookAtDotenv(dotenvPath, machine),
  ]
}

function lookAtDisk({ DATABASE_URL: store, MAX_BACKLOG }: Config, machine: Machine): readonly CheckResult[] {
  if (store.kind !== 'file') return []
  const directory = nearest(resolve(dirname(store.path)))
  const free = machine.freeBytes(directory)
  if (free === null) return []
  const what = `${size(free)} free at ${directory}`
  if (free < LEAST_FREE)
    return [
      fail('disk', `${what}: callbacks are answered 503 when it is full`, 'make room, or move DATABASE_URL'),
    ]
  if (free < MAX_BACKLOG * PER_MESSAGE)
    return [
      warn(
        'disk',
        `${what}: less than MAX_BACKLOG messages need (${size(MAX_BACKLOG * PER_MESSAGE)})`,
        'make room, or lower MAX_BACKLOG',
      ),
    ]
  return [ok('disk', what)]
}

function lookAtOpenFiles(machine: Machine): readonly CheckResult[] {
  const most = machine.openFiles()
  if (most === null) return []
  const what = `${most} may be open at once`
  if (most >= ENOUGH_FILES) return [ok('open files', what)]
  return [
    warn(
      'open files',
      `${what}: each connection takes one`,
      `raise it to ${ENOUGH_FILES} or more (ulimits in compose, LimitNOFILE in systemd)`,
    ),
  ]
}

function lookAtMemory(machine: Machine): readonly CheckResult[] {
  const most = machine.memory()
  if (most === null || most >= ENOUGH_MEMORY) return []
  return [warn('memory', `${size(most)} are allowed, and a burst of callbacks takes more`, 'allow it 256 MB')]
}

function lookAtDotenv(path: string, machine: Machine): readonly CheckResult[] {
  const mode = machine.mode(path)
  if (mode === null || (mode & 0o004) === 0) return []
  return [warn(path, 'holds secrets, and every user of this machine can read it', `chmod 600 ${path}`)]
}

function nearest(directory: string): string {
  let found = directory
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found)
  return found
}

function size(octets: number): string {
  return octets < 1000 * MB ? `${Math.round(octets / MB)} MB` : `${(octets / (1000 * MB)).toFixed(1)} GB`
}
