import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { quote, say, tell, type Words } from '../../language/sentence.ts'
import { type Outbox, StoreUnusable } from '../../outbox/outbox.ts'
import { type CheckResult, checksOf } from '../../runtime/check-result.ts'
import { nearestExisting, openFileLimit, passingFileSystem } from '../../runtime/file-system.ts'

/** The limits that the machine, or the container, sets for a process; null where they cannot be read. */
export interface MachineLimits {
  /** Free octets of the file system that a directory is on. */
  freeBytes(directory: string): number
  /** The name of the file system that a directory is on, when it does not outlive the container. */
  passingFileSystem(directory: string): string | null
  openFiles(): number | null
  /** Permission bits of a file. */
  mode(path: string): number | null
}

export const thisMachine: MachineLimits = {
  freeBytes(directory) {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  },
  passingFileSystem,
  openFiles: openFileLimit,
  mode: path => (existsSync(path) ? statSync(path).mode & 0o777 : null),
}

const MB = 1_000_000
/** Octets that a waiting message takes on disk. */
const PER_MESSAGE = 1000
/** A disk with less free space is full within minutes. */
const LEAST_FREE = 50 * MB
/** Each connection takes one file, of callers and to providers. */
const ENOUGH_FILES = 4096

/** Disk, open files, and who can read the settings. */
export function checkMachine(
  config: Config,
  dotenvPath: string,
  machine: MachineLimits,
): readonly CheckResult[] {
  return [
    checkDisk(config, machine),
    checkFileSystem(config, machine),
    checkOpenFiles(machine),
    checkDotenv(dotenvPath, machine),
  ].filter(each => each !== null)
}

/** Finds what a start says at once, and `check` again: a store that does not last, and too few files. */
export function findShortcomings(config: Config): readonly CheckResult[] {
  const found = [checkFileSystem(config, thisMachine), checkOpenFiles(thisMachine)]
  return found.filter(each => each !== null).filter(({ is }) => is === 'warn')
}

function checkDisk({ DATABASE_URL: store, MAX_BACKLOG }: Config, machine: MachineLimits): CheckResult | null {
  if (store.kind !== 'file') return null
  const directory = nearestExisting(resolve(dirname(store.path)))
  const free = machine.freeBytes(directory)
  const place = { size: formatSize(free), directory }
  if (free < LEAST_FREE)
    return checksOf('disk').fail(
      say('{size} free at {directory}: callbacks are answered 503 when it is full', place),
      'make room, or move DATABASE_URL',
    )
  if (free < MAX_BACKLOG * PER_MESSAGE)
    return checksOf('disk').warn(
      say('{size} free at {directory}: less than MAX_BACKLOG messages need ({need})', {
        ...place,
        need: formatSize(MAX_BACKLOG * PER_MESSAGE),
      }),
      'make room, or lower MAX_BACKLOG',
    )
  return checksOf('disk').ok(say('{size} free at {directory}', place))
}

function checkFileSystem({ DATABASE_URL: store }: Config, machine: MachineLimits): CheckResult | null {
  const kind = store.kind === 'file' ? machine.passingFileSystem(resolve(dirname(store.path))) : null
  if (kind === null) return null
  return checksOf('DATABASE_URL').warn(
    say('the store is on {kind}: it is gone with the container, or the machine, and what waits with it', {
      kind,
    }),
    'put it on a volume',
  )
}

function checkOpenFiles(machine: MachineLimits): CheckResult | null {
  const most = machine.openFiles()
  if (most === null) return null
  if (most >= ENOUGH_FILES) return checksOf('open files').ok(say('{most} may be open at once', { most }))
  return checksOf('open files').warn(
    say('{most} may be open at once: each connection takes one', { most }),
    say('raise it to {enough} or more (ulimits in compose, LimitNOFILE in systemd)', {
      enough: ENOUGH_FILES,
    }),
  )
}

function checkDotenv(path: string, machine: MachineLimits): CheckResult | null {
  const mode = machine.mode(path)
  if (mode === null || (mode & 0o004) === 0) return null
  return checksOf(path).warn(
    'holds secrets, and every user of this machine can read it',
    quote(`chmod 600 ${path}`),
  )
}

function formatSize(octets: number): string {
  return octets < 1000 * MB ? `${Math.round(octets / MB)} MB` : `${(octets / (1000 * MB)).toFixed(1)} GB`
}

const store = checksOf('store')

/**
 * Checks whether the store can be used. A running service locks the embedded store, so it is asked; without one, or with a
 * shared store, the store is opened, made to commit and closed. An embedded store that does not exist yet is not created,
 * because the command may run as another user than the service.
 * @param unready why the running service accepts no callbacks; null: it does; undefined: none runs.
 */
export async function checkStore(
  config: Config,
  open: () => Promise<Outbox>,
  unready: Words | null | undefined,
): Promise<readonly CheckResult[]> {
  const { DATABASE_URL: database } = config
  // A shared store is tried all the same: the settings may name another one than the service uses.
  if (unready === null && database.kind === 'file')
    return [store.ok('the running service says that it commits')]
  if (unready !== null && unready !== undefined)
    return [
      store.fail(
        say('the running service does not accept callbacks: {reason}', { reason: tell(unready) }),
        'look at its log',
      ),
      ...(database.kind === 'postgres' ? [await tryStore(open)] : []),
    ]
  if (database.kind === 'file' && !existsSync(database.path)) return [checkCreatable(database.path)]
  return [await tryStore(open)]
}

async function tryStore(open: () => Promise<Outbox>): Promise<CheckResult> {
  try {
    const outbox = await open()
    try {
      const commits = await outbox.queries.probeCommit()
      const loss = outbox.loss?.() ?? null
      if (commits && loss !== null)
        return store.warn(
          say('opens and commits, but lacks {messages} messages that it had stored', {
            messages: loss.messages,
          }),
          'see docs/operations.md, CallbackCourierStoreLoss',
        )
      if (commits) return store.ok('opens and commits')
      return store.fail('opens, but cannot commit', 'look for a full disk or a read-only mount')
    } finally {
      await outbox.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error
    return store.fail(error.words, 'see docs/operations.md')
  }
}

/** Checks whether what exists nearest is a folder that is writable. */
function checkCreatable(path: string): CheckResult {
  const folder = nearestExisting(dirname(path))
  try {
    // A file has nothing below it, not even itself.
    accessSync(`${folder}/.`, constants.W_OK)
    return store.ok(say('{path} will be made at the first start', { path }))
  } catch {
    return store.fail(
      say('{path} cannot be made: {folder} is no folder, or is not writable', { path, folder }),
      'make it writable for the service’s user',
    )
  }
}
