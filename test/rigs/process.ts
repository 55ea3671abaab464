import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Settings, until } from './service.ts'

/** The service as an operator runs it: a process of its own. */
export interface ServiceProcess {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Where it listens, once it has said so. */
  readonly publicUrl: string
  readonly adminUrl: string
  /** Resident memory, MB. */
  readonly memory: () => number
  readonly exited: Promise<number | null>
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface ProcessOptions {
  /** Modules that are loaded before the service, as file URLs. */
  readonly imports?: readonly string[]
  readonly cwd?: string
}

/** Starts the process without waiting for anything; it is killed at the end of the test. */
export function spawnService(
  t: Test,
  argv: readonly string[],
  env: Settings,
  { imports = [], cwd }: ProcessOptions = {},
): Omit<ServiceProcess, 'publicUrl' | 'adminUrl'> {
  const child = spawn(process.execPath, [...imports.flatMap(url => ['--import', url]), MAIN, ...argv], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const exited = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    memory() {
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
      return Number(kilobytes) / 1024
    },
  }
}

/** Starts `serve` and waits until it listens. */
export async function startProcess(
  t: Test,
  env: Settings,
  options: ProcessOptions = {},
): Promise<ServiceProcess> {
  const running = spawnService(t, ['serve'], env, options)
  const started = () =>
    running
      .stdout()
      .split('\n')
      .find(line => line.includes('"event":"started"'))
  await until(() => started() !== undefined || running.child.exitCode !== null, 'the service listens', 60_000)
  const line = started()
  if (line === undefined) throw new Error(`the service did not start: ${running.stderr()}`)
  const { public: publicUrl, admin: adminUrl } = JSON.parse(line) as Record<string, string>
  return { ...running, publicUrl: publicUrl ?? '', adminUrl: adminUrl ?? '' }
}
