import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Unit } from './units.ts'

/**
 * The only limits of a process, which end what hangs: a test never fails for being slow. A soak says nothing for as
 * long as it takes.
 */
const MOST_CPU_SECONDS = { short: 600, long: 1200, soak: 7200 }
const SILENCE_MINUTES = { short: 10, long: 10, soak: 60 }

/** From being told to end until it is killed, ms: what its tests have started outside of its group ends in it. */
const TO_END_MS = 5000

/** An assertion that failed, or why a process ended before its tests had. */
export interface Failure {
  readonly name: string
  /** File and line. */
  readonly at?: string
  /** Lines with what was expected. */
  readonly detail: readonly string[]
}

export interface Counts {
  readonly total: number
  readonly pass: number
  readonly fail: number
  readonly todo: number
  readonly skip: number
}

/** What a process says of itself. */
export type Said =
  | { readonly is: 'progress' }
  | { readonly is: 'failed'; readonly failure: Failure }
  | { readonly is: 'ending'; readonly counts: Counts; readonly cpuSeconds: number }

export interface UnitEnd {
  readonly counts: Counts
  readonly failures: readonly Failure[]
  readonly seconds: number
  /** Processor time of the process itself. */
  readonly cpuSeconds: number
}

/**
 * Starts the tests of a unit in a process, which is a group of its own, so that nothing that they start outlives it.
 * @param options.directory for what is temporary; `inMemory`: for what needs no disk.
 * @param options.log gets all that it says.
 */
export function startUnit(
  { form, files }: Unit,
  {
    directory,
    inMemory,
    log,
  }: { readonly directory: string; readonly inMemory: string; readonly log: string },
) {
  const began = performance.now()
  const output = openSync(log, 'w')
  const child = fork(join(import.meta.dirname, 'together.ts'), files, {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
    // Collecting garbage less often, and by one thread, saves a fifth of the time.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64', '--single-threaded-gc'],
    env: {
      ...process.env,
      TMPDIR: directory,
      TESTS_IN_MEMORY: inMemory,
      TAP_TIMEOUT: '0',
      MOST_CPU_SECONDS: String(MOST_CPU_SECONDS[form]),
      // A short test finds no program but this one, so that none comes to need another.
      ...(form === 'short' && { PATH: dirname(process.execPath) }),
      // Types are stripped and code is compiled once for all of them.
      NODE_COMPILE_CACHE: resolve('node_modules', '.cache', 'tests'),
    },
  })
  closeSync(output)
  const failures: Failure[] = []
  let ending: Extract<Said, { is: 'ending' }> | undefined

  let silence: NodeJS.Timeout
  const watchSilence = () => {
    clearTimeout(silence)
    silence = setTimeout(() => {
      failures.push({ name: `said nothing for ${SILENCE_MINUTES[form]} minutes`, detail: lastLines(log) })
      end()
    }, SILENCE_MINUTES[form] * 60_000)
  }
  watchSilence()
  child.on('message', (said: Said) => {
    watchSilence()
    if (said.is === 'failed') failures.push(said.failure)
    if (said.is === 'ending') ending = said
  })

  function end(): void {
    child.kill('SIGTERM')
    setTimeout(() => killGroup(child), TO_END_MS).unref()
  }

  const ended = new Promise<UnitEnd>(done => {
    child.once('exit', (code, signal) => {
      clearTimeout(silence)
      killGroup(child)
      if (failures.length === 0 && (code !== 0 || ending === undefined))
        failures.push({ name: `ended with ${code ?? signal}`, detail: lastLines(log) })
      const { counts, cpuSeconds } = ending ?? {
        counts: { total: 0, pass: 0, fail: 0, todo: 0, skip: 0 },
        cpuSeconds: Number.NaN,
      }
      done({ counts, failures, cpuSeconds, seconds: (performance.now() - began) / 1000 })
    })
  })
  return { ended, end }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

function lastLines(path: string): readonly string[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-8)
}
