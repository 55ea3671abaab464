import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'

export type MachineLimits = ReturnType<typeof createMachineLimits>

/** The limits that the machine, or the container, sets for a process; null where they cannot be read. */
export function createMachineLimits() {
  return {
    /** Free octets of the file system that a directory is on. */
    freeBytes(directory: string): number | null {
      const { bavail, bsize } = statfsSync(directory)
      return bavail * bsize
    },
    openFiles(): number | null {
      const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
      const most = /^Max open files +(\d+)/m.exec(limits)?.[1]
      return most === undefined ? null : Number(most)
    },
    /** Octets of memory that this process may use. */
    memory(): number | null {
      const most = process.constrainedMemory()
      // Without a limit this is 0, or more than the machine has.
      return most === 0 || most > 2 ** 50 ? null : most
    },
    /** Permission bits of a file. */
    mode: (path: string): number | null => (existsSync(path) ? statSync(path).mode & 0o777 : null),
  }
}

const MB = 1_000_000
/** Octets that a waiting message takes on disk. */
const PER_MESSAGE = 1000
/** A disk with less free space is full within minutes. */
const LEAST_FREE = 50 * MB
/** Each connection takes one file, of callers and to providers. */
const ENOUGH_FILES = 4096
/** Octets that the process takes during a burst. */
const ENOUGH_MEMORY = 200 * MB

/** Disk, open files, memory, and who can read the settings. */
export function checkMachine(
  config: Config,
  dotenvPath: string,
  machine: MachineLimits,
): readonly CheckResult[] {
  return [
    ...checkDisk(config, machine),
    ...checkOpenFiles(machine),
    ...checkMemory(machine),
    ...checkDotenv(dotenvPath, machine),
  ]
}

function checkDisk(
  { DATABASE_URL: store, MAX_BACKLOG }: Config,
  machine: MachineLimits,
): readonly CheckResult[] {
  if (store.kind !== 'file') return []
  const directory = nearestExisting(resolve(dirname(store.path)))
  const free = machine.freeBytes(directory)
  if (free === null) return []
  const what = `${formatSize(free)} free at ${directory}`
  if (free < LEAST_FREE)
    return [
      checkFailure(
        'disk',
        `${what}: callbacks are answered 503 when it is full`,
        'make room, or move DATABASE_URL',
      ),
    ]
  if (free < MAX_BACKLOG * PER_MESSAGE)
    return [
      checkWarning(
        'disk',
        `${what}: less than MAX_BACKLOG messages need (${formatSize(MAX_BACKLOG * PER_MESSAGE)})`,
        'make room, or lower MAX_BACKLOG',
      ),
    ]
  return [checkOk('disk', what)]
}

function checkOpenFiles(machine: MachineLimits): readonly CheckResult[] {
  const most = machine.openFiles()
  if (most === null) return []
  const what = `${most} may be open at once`
  if (most >= ENOUGH_FILES) return [checkOk('open files', what)]
  return [
    checkWarning(
      'open files',
      `${what}: each connection takes one`,
      `raise it to ${ENOUGH_FILES} or more (ulimits in compose, LimitNOFILE in systemd)`,
    ),
  ]
}

function checkMemory(machine: MachineLimits): readonly CheckResult[] {
  const most = machine.memory()
  if (most === null || most >= ENOUGH_MEMORY) return []
  return [
    checkWarning(
      'memory',
      `${formatSize(most)} are allowed, and a burst of callbacks takes more`,
      'allow it 256 MB',
    ),
  ]
}

function checkDotenv(path: string, machine: MachineLimits): readonly CheckResult[] {
  const mode = machine.mode(path)
  if (mode === null || (mode & 0o004) === 0) return []
  return [
    checkWarning(path, 'holds secrets, and every user of this machine can read it', `chmod 600 ${path}`),
  ]
}

function nearestExisting(directory: string): string {
  let found = directory
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found)
  return found
}

function formatSize(octets: number): string {
  return octets < 1000 * MB ? `${Math.round(octets / MB)} MB` : `${(octets / (1000 * MB)).toFixed(1)} GB`
}
