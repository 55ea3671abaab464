import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Settings } from './service.ts'

/** Where the service listens. */
export interface Listening {
  readonly publicUrl: string
  readonly adminUrl: string
}

export type ServiceProcess = Program & Listening

/** The program as an operator runs it: a process of its own. */
export type Program = ReturnType<typeof startProgram>

export interface ProgramOptions {
  /** Its `src/main.ts`, when it is another release than this one. */
  readonly main?: string | undefined
  /** Modules that are loaded before it, as file URLs. */
  readonly imports?: readonly string[]
  readonly cwd?: string
  /** Gets each line of its log as it comes. */
  readonly onEvent?: (event: Readonly<Record<string, unknown>>) => void
}

/** Of this release. */
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** An environment that keeps the compiled program, as the image's does: else a start strips the types of its first file. */
export const COMPILED: Settings = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/callback-courier', import.meta.url)),
}

/**
 * How the process's memory is bounded in the container that operators are told to give 512 MB, half of which is what
 * V8 then takes for the old part of its heap by itself.
 */
export const AS_IN_THE_IMAGE: Settings = {
  NODE_OPTIONS: '--max-old-space-size=256 --max-semi-space-size=32 --v8-pool-size=1',
  MALLOC_ARENA_MAX: '2',
}

/** Starts `node src/main.ts` with these arguments and nothing else in its environment but `env`; whoever starts it ends it. */
export function startProgram(
  argv: readonly string[],
  env: Settings,
  { main = MAIN, imports = [], cwd, onEvent }: ProgramOptions = {},
) {
  const child: ChildProcess = spawn(
    process.execPath,
    [...imports.flatMap(url => ['--import', url]), main, ...argv],
    {
      env: { ...COMPILED, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd,
    },
  )
  child.on('error', () => {})
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const exited = new Promise<number | NodeJS.Signals | null>(resolve =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  )
  const started = new Promise<Listening | null>(resolve => {
    void exited.then(() => resolve(null))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', line => {
      if (!line.startsWith('{')) return
      const event = JSON.parse(line) as Record<string, unknown>
      if (event['event'] === 'started')
        resolve({ publicUrl: String(event['public']), adminUrl: String(event['admin']) })
      onEvent?.(event)
    })
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    /** Resolves when its log says where it listens; null: it ended before. */
    started,
    /** Exit code, or the signal that ended it. */
    exited,
    /** Resident memory, MB. */
    memory() {
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
      return Number(kilobytes) / 1024
    },
  }
}

/** The same; it is killed at the end of the test. */
export function spawnService(
  t: Test,
  argv: readonly string[],
  env: Settings,
  options: ProgramOptions = {},
): Program {
  const program = startProgram(argv, env, options)
  t.teardown(async () => {
    program.child.kill('SIGKILL')
    await program.exited
  })
  return program
}

/** Starts `serve` and waits until it listens. */
export async function startProcess(
  t: Test,
  env: Settings,
  options: ProgramOptions = {},
): Promise<ServiceProcess> {
  const program = spawnService(t, ['serve'], env, options)
  const listening = await program.started
  if (listening === null) throw new Error(`the service did not start: ${program.stderr()}`)
  return { ...program, ...listening }
}
